// Neighbours: whom a host exchanges rows with while many join, and afterwards.

#include "agent/node/neighbours.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "gossip/spread/overlay.h"
#include "tests/gossip/base/stand_in_keys.h"

namespace muster::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

HostId numbered(std::uint8_t number) {
  std::array<std::uint8_t, HostId::kSizeBytes> bytes{};
  bytes[0] = number;
  return HostId(bytes);
}

class NeighboursTest : public ::testing::Test {
 protected:
  NeighboursTest()
      : membership_(numbered(1), {Generation(1), StartId(1)}, "", Rng(1), now_),
        store_(numbered(1), Generation(1), {}, Rng(2), gossip::testing::signer_of(numbered(1))) {}

  /// Hosts 2 to `last` are members.
  void know(std::uint8_t last) {
    for (std::uint8_t number = 2; number <= last; ++number) {
      membership_.step(now_, membership::MemberChanged{
                                 numbered(number), {Generation(1), StartId(number)}, "", {}});
    }
  }
  /// Chooses if it is time.
  bool looks() {
    if (neighbours_.due(membership_) > now_) {
      return false;
    }
    neighbours_.choose(now_, membership_, store_);
    return true;
  }

  /// Whether the store passes on what host 2 says of host 9.
  bool relays(std::uint64_t sequence) {
    crdt::RowsReceived said{numbered(2), {}};
    said.body.rows.push_back({numbered(9), {Generation(1), {}}});
    said.body.rows[0].row.fields[4] = {{Generation(1), Sequence(sequence)}, "news", ""};
    store_.take_output();
    store_.step(now_, said);
    store_.tick(now_ + crdt::kSpreadDelay);
    return !store_.take_output().messages.empty();
  }

  Instant now_{seconds(1000)};
  membership::Membership membership_;
  crdt::HostStore store_;
  Neighbours neighbours_;
};

TEST_F(NeighboursTest, OfAMeshEverybodyIsOneAtOnce) {
  EXPECT_TRUE(looks());
  for (std::uint8_t last = 2; last <= gossip::kMeshHostsMax; ++last) {
    know(last);
    EXPECT_TRUE(looks());
    EXPECT_EQ(neighbours_.hosts().size(), last - 1U);
    EXPECT_EQ(neighbours_.due(membership_), kNever);
  }
}

TEST_F(NeighboursTest, AYoungHostOfAFleetKeepsThoseItJoinedByUntilItIsGrown) {
  looks();
  know(4);
  looks();
  ASSERT_EQ(neighbours_.hosts().size(), 3U);
  now_ += milliseconds(100);
  know(40);
  EXPECT_TRUE(relays(1));
  EXPECT_TRUE(looks());
  EXPECT_FALSE(relays(2)) << "its store was told";
  EXPECT_EQ(neighbours_.hosts().size(), 3U);
  now_ += milliseconds(100);
  know(80);
  EXPECT_FALSE(looks());
  now_ += kYouth - milliseconds(200);
  EXPECT_EQ(neighbours_.due(membership_), now_);
  EXPECT_TRUE(looks());
  EXPECT_NE(neighbours_.hosts().size(), 3U);
  EXPECT_EQ(neighbours_.due(membership_), kNever);
}

TEST_F(NeighboursTest, AYoungHostThatHearsOfAFleetAtOnceHasNoneForAWhile) {
  looks();
  know(40);
  EXPECT_TRUE(looks());
  EXPECT_TRUE(neighbours_.hosts().empty());
  now_ += kYouth;
  EXPECT_TRUE(looks());
  EXPECT_FALSE(neighbours_.hosts().empty());
}

TEST_F(NeighboursTest, AHostThatKnewAFleetWhenItStartedIsNotYoung) {
  know(40);
  EXPECT_TRUE(looks());
  EXPECT_FALSE(neighbours_.hosts().empty());
}

TEST_F(NeighboursTest, AYoungHostThatLeavesHasSomeoneToTell) {
  looks();
  know(40);
  looks();
  ASSERT_TRUE(neighbours_.hosts().empty());
  neighbours_.end_youth(now_, membership_, store_);
  EXPECT_FALSE(neighbours_.hosts().empty());
  EXPECT_EQ(neighbours_.due(membership_), kNever);
}

TEST_F(NeighboursTest, HostsThatLeftMakeNoFleet) {
  know(10);
  looks();
  for (std::uint8_t number = 11; number <= 20; ++number) {
    membership_.step(now_, membership::MemberChanged{
                               numbered(number), {Generation(1), StartId(number)}, "", {}, true});
  }
  looks();
  EXPECT_EQ(neighbours_.hosts().size(), 9U);
  EXPECT_TRUE(neighbours_.compares_rows_with(numbered(2), membership_));
}

TEST_F(NeighboursTest, NoneOfThemIsKeptForARestWhenItIsGone) {
  know(40);
  looks();
  const HostId gone = neighbours_.hosts().front();
  now_ += milliseconds(10);
  membership_.step(now_, membership::MemberChanged{
                             gone, {Generation(1), StartId(gone.bytes()[0])}, "", {}, true});
  EXPECT_TRUE(looks());
  EXPECT_FALSE(std::binary_search(neighbours_.hosts().begin(), neighbours_.hosts().end(), gone));
}

TEST_F(NeighboursTest, OfAFleetTheyAreChosenAgainAfterARest) {
  know(40);
  looks();
  now_ += milliseconds(10);
  know(41);
  EXPECT_EQ(neighbours_.due(membership_), now_ - milliseconds(10) + kNeighboursRest);
  EXPECT_FALSE(looks());
  now_ += kNeighboursRest;
  EXPECT_TRUE(looks());
}

}  // namespace
}  // namespace muster::agent
