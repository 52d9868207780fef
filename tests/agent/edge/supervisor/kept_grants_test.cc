// The files that ended grants leave, and when they go.

#include "agent/edge/supervisor/kept_grants.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <filesystem>
#include <fstream>

namespace muster::agent {
namespace {

constexpr std::uint64_t kDayMs = 24ULL * 3600 * 1000;
constexpr std::uint64_t kNowMs = 1'700'000'000'000;
/// Of a grant with one log: that, its directory and the name of its job.
constexpr std::uint64_t kFilesOfFive = 5 * 3;

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
  /// Of this job, just ended.
  std::string make_of(std::uint64_t index, const std::string& job) const {
    const std::string directory = make(index, 1, 0);
    std::filesystem::create_symlink(job, directory + "/job");
    return directory;
  }
  /// "1 age, 2 bytes": what went since the last call, by index.
  static std::string told(KeptGrants& kept) {
    std::string text;
    for (const PrunedGrant& pruned : kept.take_pruned()) {
      text += (text.empty() ? "" : ", ") + std::to_string(pruned.token.index) + " " +
              text_of(pruned.rule);
    }
    return text;
  }
  std::size_t left() const {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(root_)) {
      count += entry.is_directory() ? 1 : 0;
    }
    return count;
  }
  bool is_there(std::uint64_t index) const { return std::filesystem::exists(directory_of(index)); }

  std::string root_;
};

TEST_F(KeptGrantsTest, WhatNobodyWroteToForLongerThanTheRuleSaysGoes) {
  KeptGrants kept(root_, {{7 * kDayMs, 1000, 100}});
  kept.add({1, 1}, make(1, 1, 6));
  kept.add({1, 2}, make(2, 1, 8));
  kept.add({1, 3}, make(3, 1, 0));
  kept.expire(kNowMs);
  EXPECT_EQ(told(kept), "2 age");
  EXPECT_TRUE(is_there(1) && !is_there(2) && is_there(3));
  kept.expire(kNowMs + 2 * kDayMs);
  EXPECT_TRUE(!is_there(1) && is_there(3));
  kept.expire(kNowMs - 30 * kDayMs);
  EXPECT_EQ(told(kept), "1 age") << "a clock set back keeps all";
}

TEST_F(KeptGrantsTest, AgeCountsFromTheEndNotFromTheLastWord) {
  const std::string quiet = make(1, 1, 21);
  std::filesystem::remove(quiet + "/evidence");
  std::ofstream(quiet + "/evidence") << "0";
  std::filesystem::remove(quiet + "/evidence");  // The end of a grant does that: now.
  KeptGrants kept(root_, {{kDayMs, 1000, 100}});
  kept.add({1, 1}, quiet);
  struct stat info {};
  ASSERT_EQ(stat(quiet.c_str(), &info), 0);
  const std::uint64_t ended = static_cast<std::uint64_t>(info.st_mtim.tv_sec) * 1000;
  kept.expire(ended + kDayMs);
  EXPECT_TRUE(is_there(1));
  kept.expire(ended + kDayMs + 1);
  EXPECT_FALSE(is_there(1));
}

TEST_F(KeptGrantsTest, TheFileSystemsFilesAreCountedBeforeTheFolderIsThere) {
  struct statvfs info {};
  if (statvfs(root_.c_str(), &info) != 0 || info.f_files == 0) {
    GTEST_SKIP() << "this file system counts no inodes";
  }
  constexpr std::uint32_t kNoPart = 0;  // Of its inodes: so what is kept is the newest alone.
  KeptGrants kept(root_ + "/grants", {{7 * kDayMs, 1 << 20, 1'000'000}, kNoPart});
  for (std::uint64_t index = 1; index <= 3; ++index) {
    kept.add({1, index}, make(index, 1, 0));
  }
  EXPECT_EQ(told(kept), "1 files, 2 files");
  EXPECT_TRUE(is_there(3));
}

TEST_F(KeptGrantsTest, AtOnceOnlySoMuchIsRemoved) {
  KeptGrants kept(root_, {{kDayMs, 1000, 100}});
  for (std::uint64_t index = 1; index <= KeptGrants::kRemovedMax + 2; ++index) {
    kept.add({1, index}, make(index, 1, 9));
  }
  for (const std::size_t removed : {KeptGrants::kRemovedMax, std::size_t{2}, std::size_t{0}}) {
    kept.expire(kNowMs);
    EXPECT_EQ(kept.take_pruned().size(), removed);
  }
}

TEST_F(KeptGrantsTest, BytesCountForWhatIsThereAndNeverTheLast) {
  KeptGrants kept(root_, {{7 * kDayMs, 1000, 100}});
  kept.add({1, 1}, make(1, 600, 8));
  kept.add({1, 2}, make(2, 600, 0));
  EXPECT_EQ(told(kept), "1 bytes");
  EXPECT_FALSE(is_there(1));
  kept.add({1, 3}, make(3, 5000, 8));
  EXPECT_EQ(told(kept), "2 bytes");
  EXPECT_TRUE(is_there(3)) << "the last stays";
  kept.expire(kNowMs);
  EXPECT_EQ(told(kept), "3 age");
  kept.add({1, 4}, make(4, 999, 0));
  EXPECT_EQ(told(kept), "") << "what expired counts no more";
}

TEST_F(KeptGrantsTest, ALongArrayOrARetryLoopPushesOutItsOwnOutputAlone) {
  KeptGrants kept(root_, {{7 * kDayMs, 1 << 20, kFilesOfFive}});
  kept.add({1, 1}, make_of(1, "3"));
  std::uint64_t index = 1;
  for (std::uint32_t task = 0; task < 20; ++task) {
    ++index;
    kept.add({1, index}, make_of(index, "7." + std::to_string(task)));
  }
  for (int attempt = 0; attempt < 20; ++attempt) {
    ++index;
    kept.add({1, index}, make_of(index, "8"));
  }
  EXPECT_TRUE(is_there(1)) << "another job's, older than all";
  EXPECT_TRUE(is_there(index)) << "the newest of each";
  EXPECT_TRUE(is_there(21));
  EXPECT_EQ(left(), 5U);
}

TEST_F(KeptGrantsTest, OfJobsThatHaveAsMuchTheOldestGoes) {
  KeptGrants kept(root_, {{7 * kDayMs, 1 << 20, kFilesOfFive}});
  for (std::uint64_t index = 1; index <= 7; ++index) {
    kept.add({1, index}, make_of(index, std::to_string(100 - index)));
  }
  EXPECT_EQ(told(kept), "1 files, 2 files");
  EXPECT_EQ(left(), 5U);
}

TEST_F(KeptGrantsTest, WhatHasJustEndedStaysThoughItIsTheMost) {
  KeptGrants kept(root_, {{7 * kDayMs, 1 << 20, 4}});
  kept.add({1, 1}, make_of(1, "1"));
  kept.add({1, 2}, make_of(2, "2"));
  EXPECT_EQ(told(kept), "1 files");
}

TEST_F(KeptGrantsTest, WhatWentIsRememberedOverARestart) {
  {
    KeptGrants kept(root_, {{7 * kDayMs, 1000, 100}});
    kept.add({1, 1}, make(1, 600, 8));
    kept.add({1, 2}, make(2, 600, 0));
  }
  const KeptGrants kept(root_, {{7 * kDayMs, 1000, 100}});
  EXPECT_EQ(kept.pruned({1, 1}), PruneRule::kBytes);
  EXPECT_EQ(kept.pruned({1, 2}), std::nullopt);
}

TEST_F(KeptGrantsTest, TheOwnerOfTheOutputIsKnownAfterARestart) {
  std::filesystem::create_directories(directory_of(1));
  KeptGrants::name_job(directory_of(1), task_id(JobId(7), 12), {"dr who", "nlp"});
  EXPECT_EQ(KeptGrants::owner_of(directory_of(1)), (OutputOwner{"dr who", "nlp"}));
  EXPECT_EQ(KeptGrants::owner_of(directory_of(2)), OutputOwner());
}

TEST_F(KeptGrantsTest, WhatHoldsNoOutputGoesAtOnceAndIsNotPruned) {
  KeptGrants kept(root_, {{7 * kDayMs, 1000, 100}});
  std::filesystem::create_directories(directory_of(1));
  KeptGrants::name_job(directory_of(1), JobId(3), {"ann", "nlp"});
  kept.add({1, 1}, directory_of(1));
  EXPECT_FALSE(is_there(1));
  EXPECT_EQ(told(kept), "");
}

TEST_F(KeptGrantsTest, TheNewestThatWentAreRememberedInAFileThatStaysSmall) {
  const std::string path = root_ + "/pruned";
  {
    PrunedGrants pruned(path);
    for (std::uint64_t index = 1; index <= 3 * PrunedGrants::kRememberedMax; ++index) {
      pruned.add({1, index}, PruneRule::kFiles);
    }
  }
  const PrunedGrants pruned(path);
  EXPECT_EQ(pruned.find({1, 3 * PrunedGrants::kRememberedMax}), PruneRule::kFiles);
  EXPECT_EQ(pruned.find({1, 1}), std::nullopt);
  EXPECT_LT(std::filesystem::file_size(path), 2 * PrunedGrants::kRememberedMax * 16);
}

}  // namespace
}  // namespace muster::agent
