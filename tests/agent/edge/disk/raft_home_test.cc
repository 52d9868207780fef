// Which raft/ an agent starts on, which it sets aside for a new seat, and which it refuses. Each
// start commits what it was told to, in the order given, as far as the crash lets it.

#include "agent/edge/disk/raft_home.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "scheduler/raft/codec.h"

namespace muster::agent {
namespace {

namespace fs = std::filesystem;

const HostId kSelf = HostId::from_bytes("self____________");
const HostId kOther = HostId::from_bytes("other___________");

class RaftHomeTest : public ::testing::Test {
 protected:
  /// How far a start gets before it crashes.
  enum class Until { kMarker, kRaft, kId };

  void SetUp() override {
    base_ = fs::temp_directory_path() / ("raft_home_" + std::to_string(getpid()));
    fs::remove_all(base_);
    fs::create_directories(raft_directory());
  }
  void TearDown() override { fs::remove_all(base_); }

  std::string raft_directory() const { return base_ / "raft"; }
  std::string marker() const { return base_ / "raft" / kRaftMarkerFile; }

  static void apply(crdt::Records& records, const crdt::WriteBatch& writes) {
    for (const crdt::Write& write : writes) {
      records[write.key] = write.value.value_or("");
    }
  }
  Status start(HostId self = kSelf, Until until = Until::kId) {
    const auto writes = check_raft_home(raft_directory(), self, id_, raft_);
    if (!writes) {
      return writes.error();
    }
    if (until != Until::kMarker) {
      apply(raft_, writes->raft);
    }
    if (until == Until::kId) {
      apply(id_, writes->id);
    }
    return ok();
  }
  void expect_lost(const std::string& why) {
    const Status started = start();
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().code, ErrorCode::kCorrupt);
    EXPECT_NE(started.error().text.find(why), std::string::npos) << started.error().text;
  }
  bool is_copy() const {
    const auto writes = check_raft_home(raft_directory(), kSelf, id_, raft_);
    return writes.has_value() && writes->is_copy;
  }
  /// Starts in a new seat, as a start does after a loss.
  void start_with_new_raft(Until until = Until::kId) {
    ASSERT_TRUE(set_raft_aside(raft_directory()));
    fs::create_directories(raft_directory());
    raft_.clear();
    const auto writes = settle_new_raft(raft_directory(), kSelf, SeatId(kSeat));
    ASSERT_TRUE(writes.has_value());
    if (until != Until::kMarker) {
      apply(raft_, writes->raft);
    }
    if (until == Until::kId) {
      apply(id_, writes->id);
    }
  }

  static constexpr std::uint64_t kSeat = 77;

  fs::path base_;
  crdt::Records id_;
  crdt::Records raft_;
};

TEST_F(RaftHomeTest, TheFirstStartSettlesInAndLaterOnesWriteTheSameAgain) {
  ASSERT_TRUE(start());
  EXPECT_TRUE(fs::exists(marker()));
  EXPECT_EQ(id_.size(), 1U);
  EXPECT_EQ(raft_.size(), 1U);
  const auto again = check_raft_home(raft_directory(), kSelf, id_, raft_);
  ASSERT_TRUE(again.has_value());
  ASSERT_EQ(again->raft.size(), 1U);
  EXPECT_EQ(again->raft[0].value, raft_[std::string(kRaftHomeInRaft)]);
  EXPECT_TRUE(again->id.empty());
}

TEST_F(RaftHomeTest, ADirectoryOfAnEarlierReleaseIsTaken) {
  id_["host_key"] = "seed";
  raft_["hard"] = "term and vote";
  EXPECT_TRUE(start());
  EXPECT_TRUE(start());
}

TEST_F(RaftHomeTest, ACrashBetweenTheWritesIsFinishedByTheNextStart) {
  for (const Until until : {Until::kMarker, Until::kRaft, Until::kId}) {
    SetUp();
    id_.clear();
    raft_.clear();
    ASSERT_TRUE(start(kSelf, until));
    EXPECT_TRUE(start());
    EXPECT_EQ(id_.size(), 1U);
    EXPECT_EQ(id_.begin()->second, raft_.begin()->second);
    EXPECT_TRUE(start());
  }
}

TEST_F(RaftHomeTest, ALostRaftIsToldAtEveryStart) {
  ASSERT_TRUE(start());
  fs::remove_all(raft_directory());
  fs::create_directories(raft_directory());
  raft_.clear();
  expect_lost("missing");
  expect_lost("missing");
}

TEST_F(RaftHomeTest, ACopyIsToldEvenUnderTheSameInodeNumberUntilItMayVote) {
  ASSERT_TRUE(start());
  const auto copy = [this] {
    fs::copy(raft_directory(), base_ / "backup");
    fs::remove_all(raft_directory());
    fs::copy(base_ / "backup", raft_directory());
    fs::remove_all(base_ / "backup");
  };
  copy();
  for (const Until until : {Until::kMarker, Until::kRaft, Until::kId, Until::kId}) {
    EXPECT_TRUE(is_copy());
    ASSERT_TRUE(start(kSelf, until)) << "a crash leaves no raft/ that is older than id/";
  }
  fs::remove(marker());
  EXPECT_TRUE(is_copy());
  ASSERT_TRUE(start());
  raft_.erase(std::string(scheduler::kCopiedKey));
  EXPECT_FALSE(is_copy());
  copy();
  EXPECT_TRUE(is_copy());
}

TEST_F(RaftHomeTest, ARaftOfBeforeItWasLostIsNoCopyThatMayGoOn) {
  ASSERT_TRUE(start());
  const crdt::Records before = raft_;
  fs::copy(raft_directory(), base_ / "backup");
  start_with_new_raft();
  fs::remove_all(raft_directory());
  fs::copy(base_ / "backup", raft_directory());
  raft_ = before;
  expect_lost("older than id/");
}

TEST_F(RaftHomeTest, AMovedDirectoryIsTheSame) {
  ASSERT_TRUE(start());
  fs::rename(raft_directory(), base_ / "elsewhere");
  EXPECT_TRUE(check_raft_home(base_ / "elsewhere", kSelf, id_, raft_).has_value());
}

TEST_F(RaftHomeTest, TheRaftOfAnotherHostAndALostIdAreRefused) {
  ASSERT_TRUE(start());
  id_.clear();
  const Status started = start(kOther);
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, ErrorCode::kConflict);
  EXPECT_NE(started.error().text.find("id/ belongs to"), std::string::npos);
  EXPECT_NE(started.error().text.find("move the data directory away"), std::string::npos);
}

TEST_F(RaftHomeTest, AHomeThatDoesNotDecodeIsTold) {
  ASSERT_TRUE(start());
  raft_[std::string(kRaftHomeInRaft)] = "nonsense";
  expect_lost("decode");
}

TEST_F(RaftHomeTest, ASeatOfItsOwnIsThereFromTheFirstWriteOn) {
  for (const Until until : {Until::kMarker, Until::kRaft, Until::kId}) {
    TearDown();
    SetUp();
    id_.clear();
    raft_.clear();
    ASSERT_TRUE(start());
    raft_.clear();
    start_with_new_raft(until);
    while (!start()) {  // A start that finds the work half done does all of it again.
      start_with_new_raft();
    }
    EXPECT_EQ(scheduler::recover_log(raft_).value().seat, SeatId(kSeat));
    EXPECT_EQ(id_[std::string(kRaftHomeInId)], raft_[std::string(kRaftHomeInRaft)]);
    EXPECT_TRUE(fs::exists(base_ / "raft.lost"));
  }
}

}  // namespace
}  // namespace muster::agent
