// A start on a data directory whose raft/ is damaged, also if it crashes half way; and on keys that
// others may read.

#include "agent/edge/disk/data_directory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "gossip/wire/wire.h"
#include "scheduler/raft/codec.h"
#include "scheduler/raft/first_quorum_messages.h"

namespace muster::agent {
namespace {

namespace fs = std::filesystem;

const HostId kSelf = HostId::from_bytes("self____________");

class DataDirectoryTest : public ::testing::Test {
 protected:
  DataDirectoryTest() { fs::remove_all(base_); }
  ~DataDirectoryTest() override { fs::remove_all(base_); }

  /// A start; the seat it has then.
  SeatId start(SeatId new_seat) {
    Result<DataDirectory> data = DataDirectory::open(base_);
    EXPECT_TRUE(data.has_value());
    EXPECT_TRUE(data->settle(kSelf, new_seat).has_value());
    return scheduler::recover_log(data->recovered().raft).value().seat;
  }
  /// The same by an operator's --moved; whether a voter there may speak.
  bool speaks_after_start(bool is_moved) {
    Result<DataDirectory> data = DataDirectory::open(base_);
    EXPECT_TRUE(data->settle(kSelf, SeatId(99), is_moved).has_value());
    const auto log = scheduler::recover_log(data->recovered().raft).value();
    EXPECT_EQ(log.hard_state.term, Term(3)) << "its log is gone";
    return !log.is_copy;
  }
  /// As a voter of a quorum that was founded here.
  void vote() const {
    auto raft = crdt::LmdbStore::open(base_ + "/raft", crdt::Environment::kRaft);
    ASSERT_TRUE(raft.has_value());
    const scheduler::HardState voted{Term(3), kSelf};
    const std::string cluster =
        gossip::Encoder().array(1).id(ClusterId::from_bytes("cluster_________")).take();
    ASSERT_TRUE((*raft)->commit({scheduler::write_of(voted),
                                 scheduler::write_of_voters({kSelf}),
                                 {std::string(scheduler::kClusterKey), cluster}}));
  }
  /// To another disk.
  void copy() const {
    fs::copy(base_, base_ + ".copy", fs::copy_options::recursive);
    fs::remove_all(base_);
    fs::rename(base_ + ".copy", base_);
    fs::permissions(base_, fs::perms::owner_all);
    for (const char* name : {"id", "raft"}) {
      fs::permissions(base_ + "/" + name + "/data.mdb",
                      fs::perms::owner_read | fs::perms::owner_write);
    }
  }
  void damage_raft() const { fs::resize_file(fs::path(base_) / "raft/data.mdb", 100); }

  const std::string base_ =
      fs::temp_directory_path() / ("data_directory_" + std::to_string(getpid()));
};

TEST_F(DataDirectoryTest, ADamagedRaftGivesWayToANewSeatAndStays) {
  EXPECT_EQ(start(SeatId(7)), SeatId()) << "a first start has a founder's seat";
  damage_raft();
  EXPECT_EQ(start(SeatId(8)), SeatId(8));
  EXPECT_EQ(start(SeatId(9)), SeatId(8));
  EXPECT_TRUE(fs::exists(base_ + "/raft.lost"));
}

TEST_F(DataDirectoryTest, ACopyKeepsItsLogAndIsSilentUntilItsMoveIsTold) {
  start(SeatId(7));
  vote();
  EXPECT_TRUE(speaks_after_start(false));
  copy();
  EXPECT_FALSE(speaks_after_start(false));
  EXPECT_FALSE(speaks_after_start(false));
  EXPECT_TRUE(speaks_after_start(true));
  EXPECT_TRUE(speaks_after_start(false));
  copy();
  EXPECT_TRUE(speaks_after_start(true));
  EXPECT_FALSE(fs::exists(base_ + "/raft.lost"));
}

TEST_F(DataDirectoryTest, ACopyInWhichNobodyVotesGivesWayUnlessItsMoveIsTold) {
  EXPECT_EQ(start(SeatId(7)), SeatId());
  copy();
  EXPECT_EQ(start(SeatId(8)), SeatId(8));
  copy();
  Result<DataDirectory> data = DataDirectory::open(base_);
  ASSERT_TRUE(data->settle(kSelf, SeatId(9), true).has_value());
  EXPECT_EQ(scheduler::recover_log(data->recovered().raft).value().seat, SeatId(8));
}

TEST_F(DataDirectoryTest, KeysThatOthersMayReadAreRefused) {
  start(SeatId(7));
  const fs::path file = fs::path(base_) / "id/data.mdb";
  for (const fs::perms open : {fs::perms::others_read, fs::perms::group_read}) {
    fs::permissions(file, open, fs::perm_options::add);
    const Result<DataDirectory> refused = DataDirectory::open(base_);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::kDenied);
    EXPECT_NE(refused.error().text.find("chmod 600 " + file.string()), std::string::npos);
    fs::permissions(file, open, fs::perm_options::remove);
  }
  EXPECT_EQ(start(SeatId(7)), SeatId());
}

TEST_F(DataDirectoryTest, ADirectoryThatOthersMayWriteIntoIsRefused) {
  start(SeatId(7));
  fs::permissions(base_, fs::perms::others_write, fs::perm_options::add);
  const Result<DataDirectory> refused = DataDirectory::open(base_);
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().text.find("chmod go-w " + base_), std::string::npos);
  fs::permissions(base_, fs::perms::others_write, fs::perm_options::remove);
  EXPECT_EQ(start(SeatId(7)), SeatId());
}

TEST_F(DataDirectoryTest, ACrashAfterItWasSetAsideMakesNobodyAFounder) {
  // Of an earlier release: id/ does not know that there is a raft/.
  for (const auto& [name, environment] :
       {std::pair("id", crdt::Environment::kId), std::pair("raft", crdt::Environment::kRaft)}) {
    auto store = crdt::LmdbStore::open(base_ + "/" + name, environment);
    ASSERT_TRUE(store.has_value());
    ASSERT_TRUE((*store)->commit({{"some", "record"}}).has_value());
  }
  damage_raft();
  ASSERT_TRUE(DataDirectory::open(base_).has_value());  // And ends before it settles.
  EXPECT_EQ(start(SeatId(8)), SeatId(8));
}

TEST_F(DataDirectoryTest, ACrashAfterItWasSetAsideLosesNothingOfIt) {
  EXPECT_EQ(start(SeatId(7)), SeatId());
  damage_raft();
  for (int crashes = 0; crashes < 3; ++crashes) {
    ASSERT_TRUE(DataDirectory::open(base_).has_value());  // And ends before it settles.
  }
  EXPECT_EQ(start(SeatId(8)), SeatId(8));
  EXPECT_EQ(fs::file_size(base_ + "/raft.lost/data.mdb"), 100U);
  EXPECT_FALSE(fs::exists(base_ + "/raft.lost.2"));
}

TEST_F(DataDirectoryTest, SeveralLogsThatWereGivenUpAreKept) {
  start(SeatId(7));
  for (int number = 1; number <= kRaftsAsideMax + 2; ++number) {
    {
      auto raft = crdt::LmdbStore::open(base_ + "/raft", crdt::Environment::kRaft);
      ASSERT_TRUE(raft.has_value());
      const scheduler::HardState voted{Term(static_cast<std::uint64_t>(number)), kSelf};
      ASSERT_TRUE((*raft)
                      ->commit({scheduler::write_of(voted), scheduler::write_of_given_up("why")})
                      .has_value());
    }
    start(SeatId(static_cast<std::uint64_t>(100 + number)));
  }
  const std::pair<std::string, std::uint64_t> kept[] = {{"", 1}, {".2", 2}, {".3", 3}, {".4", 6}};
  for (const auto& [suffix, term] : kept) {
    auto raft = crdt::LmdbStore::open(base_ + "/raft.lost" + suffix, crdt::Environment::kRaft);
    ASSERT_TRUE(raft.has_value());
    EXPECT_EQ(scheduler::recover_log((*raft)->recovered())->hard_state.term, Term(term));
  }
  EXPECT_FALSE(fs::exists(base_ + "/raft.lost.5"));
}

TEST_F(DataDirectoryTest, ARaftWhoseSeatWasGivenUpGivesWayToo) {
  EXPECT_EQ(start(SeatId(7)), SeatId());
  {
    auto raft = crdt::LmdbStore::open(base_ + "/raft", crdt::Environment::kRaft);
    ASSERT_TRUE(raft.has_value());
    const scheduler::HardState voted{Term(3), kSelf};
    ASSERT_TRUE(
        (*raft)
            ->commit({scheduler::write_of(voted), scheduler::write_of_given_up("another epoch")})
            .has_value());
  }
  EXPECT_EQ(start(SeatId(8)), SeatId(8));
  EXPECT_EQ(start(SeatId(9)), SeatId(8));
  EXPECT_TRUE(fs::exists(base_ + "/raft.lost"));
}

}  // namespace
}  // namespace muster::agent
