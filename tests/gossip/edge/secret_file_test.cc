// Goal: only its owner can read a secret file. Method: files of every mode in a new directory.

#include "gossip/edge/secret_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace muster::gossip {
namespace {

class SecretFile : public ::testing::Test {
 protected:
  SecretFile() : directory_(::testing::TempDir() + "secret.XXXXXX") {
    EXPECT_NE(mkdtemp(directory_.data()), nullptr);
    EXPECT_EQ(chmod(directory_.c_str(), 0755), 0);
  }
  ~SecretFile() override { std::filesystem::remove_all(directory_); }
  std::string path(const std::string& name) const { return directory_ + "/" + name; }
  static mode_t mode_of(const std::string& path) {
    struct stat facts {};
    EXPECT_EQ(stat(path.c_str(), &facts), 0);
    return facts.st_mode & 07777;
  }

  std::string directory_;
};

TEST_F(SecretFile, IsMadeForItsOwnerAloneWhateverStoodThere) {
  const mode_t before = umask(0);
  ASSERT_TRUE(write_secret(path("new"), "line\n").has_value());
  close(open(path("old").c_str(), O_CREAT | O_WRONLY, 0666));
  ASSERT_TRUE(write_secret(path("old"), "line\n").has_value());
  umask(before);
  for (const char* name : {"new", "old"}) {
    EXPECT_EQ(mode_of(path(name)), 0600U) << name;
    EXPECT_EQ(read_secret(path(name), 100).value(), "line\n") << name;
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_), {}), 2);
}

TEST_F(SecretFile, ThatOthersCanReadOrWriteIsNotRead) {
  ASSERT_TRUE(write_secret(path("s"), "line").has_value());
  for (const mode_t mode : {0640U, 0604U, 0620U, 0666U}) {
    ASSERT_EQ(chmod(path("s").c_str(), mode), 0);
    const auto text = read_secret(path("s"), 100);
    ASSERT_FALSE(text.has_value()) << mode;
    EXPECT_EQ(text.error().code, ErrorCode::kDenied) << mode;
    EXPECT_NE(text.error().text.find("chmod 600"), std::string::npos) << text.error().text;
    const int file = open(path("s").c_str(), O_RDONLY | O_CLOEXEC);
    EXPECT_NE(why_not_secret(file), "") << mode;
    close(file);
  }
  ASSERT_EQ(chmod(path("s").c_str(), 0400), 0);
  EXPECT_TRUE(read_secret(path("s"), 100).has_value());
  ASSERT_EQ(chmod(path("s").c_str(), 0644), 0);
  ASSERT_EQ(chmod(directory_.c_str(), 0700), 0);
  EXPECT_TRUE(read_secret(path("s"), 100).has_value()) << "nobody else comes to it";
}

TEST_F(SecretFile, OfAnotherUserIsNotRead) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "only root gives files away";
  }
  ASSERT_TRUE(write_secret(path("s"), "line").has_value());
  ASSERT_EQ(chown(path("s").c_str(), 65'534, 65'534), 0);
  EXPECT_EQ(read_secret(path("s"), 100).error().code, ErrorCode::kDenied)
      << "a line of his may lead into his cluster";
  ASSERT_EQ(chown(path("s").c_str(), 0, 0), 0);
  ASSERT_EQ(chmod(path("s").c_str(), 0644), 0);
  ASSERT_EQ(chmod(directory_.c_str(), 0700), 0);
  ASSERT_EQ(chown(directory_.c_str(), 65'534, 65'534), 0);
  EXPECT_FALSE(read_secret(path("s"), 100).has_value()) << "he who closed the directory reads it";
}

TEST_F(SecretFile, WithASecondNameIsNotHiddenByADirectory) {
  ASSERT_TRUE(write_secret(path("s"), "line").has_value());
  ASSERT_EQ(chmod(path("s").c_str(), 0644), 0);
  ASSERT_EQ(chmod(directory_.c_str(), 0700), 0);
  ASSERT_EQ(link(path("s").c_str(), path("too").c_str()), 0);
  EXPECT_FALSE(read_secret(path("s"), 100).has_value());
}

TEST_F(SecretFile, APipeIsNoFileOfAnybody) {
  int ends[2] = {};
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  EXPECT_EQ(why_not_secret(ends[1]), "");
  ASSERT_EQ(write(ends[1], "line", 4), 4);
  close(ends[1]);
  EXPECT_EQ(read_secret("/dev/fd/" + std::to_string(ends[0]), 100).value(), "line");
  close(ends[0]);
}

TEST_F(SecretFile, WhatCannotBeReadOrMadeSaysSo) {
  EXPECT_EQ(read_secret(path("none"), 10).error().code, ErrorCode::kInvalid);
  EXPECT_FALSE(write_secret(path("none/at/all"), "x").has_value());
  EXPECT_FALSE(write_secret(directory_, "x").has_value()) << "a directory stays one";
  EXPECT_FALSE(write_secret("/dev/null", "x").has_value()) << "a device stays one";
}

}  // namespace
}  // namespace muster::gossip
