// What ended grants leave, and when it goes.

#include "agent/edge/supervisor/kept_grants.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace muster::agent {
namespace {

constexpr std::uint64_t kDayMs = 24ULL * 3600 * 1000;
constexpr std::uint64_t kNowMs = 1'700'000'000'000;

class KeptGrantsTest : public ::testing::Test {
 protected:
  KeptGrantsTest() {
    char path[] = "/tmp/muster-kept-XXXXXX";
    root_ = mkdtemp(path);
  }
  ~KeptGrantsTest() override { std::filesystem::remove_all(root_); }

  std::string directory_of(std::uint64_t index) const {
    return root_ + "/" + Token{1, index}.text();
  }
  /// A grant with one log of so many bytes, last written so many days ago.
  std::string make(std::uint64_t index, std::size_t bytes, std::uint64_t days_ago) const {
    const std::string directory = directory_of(index);
    std::filesystem::create_directories(directory);
    const std::string log = directory + "/rank-0.log";
    std::ofstream(log) << std::string(bytes, 'x');
    timespec times[2] = {};
    times[0].tv_sec = times[1].tv_sec = static_cast<time_t>((kNowMs - days_ago * kDayMs) / 1000);
    utimensat(AT_FDCWD, log.c_str(), times, 0);
    utimensat(AT_FDCWD, directory.c_str(), times, 0);
    return directory;
  }
  bool is_there(std::uint64_t index) const { return std::filesystem::exists(directory_of(index)); }

  std::string root_;
};

TEST_F(KeptGrantsTest, WhatNobodyWroteToForLongerThanTheRuleSaysGoes) {
  KeptGrants kept({{7 * kDayMs, 1000}, 100});
  kept.add({1, 1}, make(1, 1, 6));
  kept.add({1, 2}, make(2, 1, 8));
  kept.add({1, 3}, make(3, 1, 0));
  EXPECT_EQ(kept.expire(kNowMs), 1U);
  EXPECT_TRUE(is_there(1) && !is_there(2) && is_there(3));
  EXPECT_EQ(kept.expire(kNowMs + 2 * kDayMs), 1U);
  EXPECT_TRUE(!is_there(1) && is_there(3));
  EXPECT_EQ(kept.expire(kNowMs - 30 * kDayMs), 0U) << "a clock set back keeps all";
}

TEST_F(KeptGrantsTest, AgeCountsFromTheEndNotFromTheLastWord) {
  const std::string quiet = make(1, 1, 21);
  std::filesystem::remove(quiet + "/evidence");
  std::ofstream(quiet + "/evidence") << "0";
  std::filesystem::remove(quiet + "/evidence");  // What the end of a grant does: now.
  KeptGrants kept({{kDayMs, 1000}, 100});
  kept.add({1, 1}, quiet);
  struct stat info {};
  ASSERT_EQ(stat(quiet.c_str(), &info), 0);
  const std::uint64_t ended = static_cast<std::uint64_t>(info.st_mtim.tv_sec) * 1000;
  EXPECT_EQ(kept.expire(ended + kDayMs), 0U);
  EXPECT_EQ(kept.expire(ended + kDayMs + 1), 1U);
}

TEST_F(KeptGrantsTest, AtOnceOnlySoMuchIsRemoved) {
  KeptGrants kept({{kDayMs, 1000}, 100});
  for (std::uint64_t index = 1; index <= KeptGrants::kRemovedMax + 2; ++index) {
    kept.add({1, index}, make(index, 1, 9));
  }
  EXPECT_EQ(kept.expire(kNowMs), KeptGrants::kRemovedMax);
  EXPECT_EQ(kept.expire(kNowMs), 2U);
  EXPECT_EQ(kept.expire(kNowMs), 0U);
}

TEST_F(KeptGrantsTest, BytesCountForWhatIsThereAndNeverTheLast) {
  KeptGrants kept({{7 * kDayMs, 1000}, 100});
  kept.add({1, 1}, make(1, 600, 8));
  EXPECT_EQ(kept.add({1, 2}, make(2, 600, 0)), 1U);
  EXPECT_FALSE(is_there(1));
  EXPECT_EQ(kept.add({1, 3}, make(3, 5000, 8)), 1U);
  EXPECT_TRUE(is_there(3)) << "the last stays";
  EXPECT_EQ(kept.expire(kNowMs), 1U);
  EXPECT_EQ(kept.add({1, 4}, make(4, 999, 0)), 0U) << "what expired counts no more";
}

}  // namespace
}  // namespace muster::agent
