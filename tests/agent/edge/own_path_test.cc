// Goal: no other user can put something in the place of what an agent keeps. Method: real
// directories, of this user and, for root, of another one.

#include "agent/edge/own_path.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace muster::agent {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kNobody = 65'534;

class OwnPath : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(base_ / "a/b");
    std::ofstream(base_ / "a/b/file") << "x";
  }
  void TearDown() override { fs::remove_all(base_); }
  bool is_ours(const fs::path& path) const { return check_own_path(base_ / path).has_value(); }
  void give_away(const fs::path& path) const {
    ASSERT_EQ(lchown((base_ / path).c_str(), kNobody, kNobody), 0);
  }

  const fs::path base_ = fs::temp_directory_path() / ("own_path_" + std::to_string(getpid()));
};

TEST_F(OwnPath, OfThisUserIsAndWhatIsNotThereYet) {
  EXPECT_TRUE(is_ours("a/b/file"));
  EXPECT_TRUE(is_ours("a/b/later/on"));
  EXPECT_TRUE(check_own_path("/").has_value());
  EXPECT_TRUE(check_own_path(fs::temp_directory_path()).has_value()) << "it is sticky";
}

TEST_F(OwnPath, BelowADirectoryForEverybodyIsNot) {
  ASSERT_EQ(chmod((base_ / "a").c_str(), 0777), 0);
  EXPECT_FALSE(is_ours("a/b"));
  EXPECT_NE(check_own_path(base_ / "a/b").error().text.find("chmod o-w"), std::string::npos);
  ASSERT_EQ(chmod((base_ / "a").c_str(), 01777), 0);
  EXPECT_TRUE(is_ours("a/b"));
}

TEST_F(OwnPath, OfAnotherUserIsNotNorBelowHis) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "only root gives files away";
  }
  give_away("a");
  EXPECT_FALSE(is_ours("a/b"));
  EXPECT_FALSE(is_ours("a"));
  EXPECT_EQ(check_own_path(base_ / "a").error().code, ErrorCode::kDenied);
  fs::create_directory_symlink(base_ / "a", base_ / "link");
  EXPECT_FALSE(is_ours("link/b")) << "a link of ours that leads to his";
}

TEST_F(OwnPath, ALinkOfAnotherUserIsNoFileToWrite) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "only root gives files away";
  }
  fs::create_symlink(base_ / "a/b/file", base_ / "log");
  EXPECT_TRUE(check_own_file(base_ / "log").has_value());
  give_away("log");
  EXPECT_FALSE(check_own_file(base_ / "log").has_value());
  EXPECT_TRUE(check_own_file(base_ / "a/b/file").has_value());
  give_away("a/b/file");
  EXPECT_FALSE(check_own_file(base_ / "a/b/file").has_value());
}

}  // namespace
}  // namespace muster::agent
