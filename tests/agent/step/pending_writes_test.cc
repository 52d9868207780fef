// The owner of a write when it is durable, and the moment when a leader finds its own disk late.

#include "agent/step/pending_writes.h"

#include <gtest/gtest.h>

#include "agent/step/outbox.h"

namespace muster::agent {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.

const Instant kStart{1000s};

class PendingWritesTest : public ::testing::Test {
 protected:
  /// The number that the write went out under.
  std::uint64_t write(WriteOwner owner, std::uint64_t id) {
    outbox.write({owner, id}, crdt::Environment::kId, {});
    return outbox.take().persists.back().id;
  }
  Outbox outbox{kStart};
  PendingWrites& writes = outbox.pending();
};

TEST_F(PendingWritesTest, EachOwnerHearsOfItsOwnUnderItsOwnNumber) {
  const std::uint64_t first = write(WriteOwner::kSeat, 7);
  const std::uint64_t second = write(WriteOwner::kGangAgent, 7);
  EXPECT_NE(first, second);
  const OwnedWrite later = writes.on_persisted(second);
  EXPECT_EQ(later.owner, WriteOwner::kGangAgent);
  EXPECT_EQ(later.id, 7U);
  EXPECT_EQ(writes.on_persisted(first).owner, WriteOwner::kSeat);
}

TEST_F(PendingWritesTest, TheFirstThatWaitsSaysWhenTheDiskIsLate) {
  EXPECT_EQ(writes.next_look(), kNever);
  const std::uint64_t first = write(WriteOwner::kSeat, 1);
  outbox.begin_step(kStart + 500ms);
  write(WriteOwner::kSeat, 2);
  EXPECT_EQ(writes.next_look(), kStart + kDiskLate);
  writes.on_persisted(first);
  EXPECT_EQ(writes.next_look(), kStart + 500ms + kDiskLate);
}

TEST_F(PendingWritesTest, ADiskThatHangsIsLookedAtAgainAndAgain) {
  write(WriteOwner::kEpoch, 1);
  writes.looked(kStart + kDiskLate);
  EXPECT_EQ(writes.next_look(), kStart + kDiskLate + kDiskLookPeriod);
}

}  // namespace
}  // namespace muster::agent
