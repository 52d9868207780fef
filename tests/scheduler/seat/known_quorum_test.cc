// The rows about the quorum that a host believes. Method: a host without a seat, and rows as voters
// publish them.

#include "scheduler/seat/known_quorum.h"

#include <gtest/gtest.h>

namespace muster::scheduler {
namespace {

HostId host(char letter) {
  return HostId::from_bytes(std::string(HostId::kSizeBytes, letter));
}

class RowsAboutTheQuorum : public testing::Test {
 protected:
  crdt::QuorumView row(std::uint64_t term, char leader, std::vector<HostId> voters) const {
    crdt::QuorumView view;
    view.term = Term(term);
    view.leader = host(leader);
    view.voters = std::move(voters);
    view.epoch = known_.epoch();
    return view;
  }

  KnownQuorum known_{host('s')};
};

TEST_F(RowsAboutTheQuorum, ALaterTermCountsAndAnEarlierDoesNot) {
  known_.hear(row(3, 'a', {host('a'), host('b')}));
  known_.hear(row(2, 'b', {host('b')}));
  EXPECT_EQ(known_.leader(nullptr), host('a'));
  EXPECT_EQ(known_.view(nullptr).voters.size(), 2U);
  known_.hear(row(4, 'b', {host('b')}));
  EXPECT_EQ(known_.leader(nullptr), host('b'));
  EXPECT_EQ(known_.term(nullptr), Term(4));
}

TEST_F(RowsAboutTheQuorum, WithinATermTheLeadersOwnRowAloneSpeaks) {
  known_.hear(row(3, 'a', {host('a'), host('b')}));
  known_.hear(row(3, 'b', {host('b')}));
  EXPECT_EQ(known_.leader(nullptr), host('a'));
  known_.hear(row(3, 'a', {host('a'), host('b'), host('c')}));
  EXPECT_EQ(known_.view(nullptr).voters.size(), 3U) << "it may name other voters";
}

TEST_F(RowsAboutTheQuorum, AnotherEpochBeginsWithNothingKnown) {
  const crdt::QuorumView old = row(9, 'a', {host('a')});
  known_.hear(old);
  known_.begin_epoch({2, 77});
  EXPECT_TRUE(known_.leader(nullptr).is_zero());
  EXPECT_EQ(known_.term(nullptr), Term());
  known_.hear(old);
  EXPECT_TRUE(known_.leader(nullptr).is_zero()) << "its row is of the epoch before";
  known_.hear(row(1, 'b', {host('b')}));
  EXPECT_EQ(known_.leader(nullptr), host('b'));
}

}  // namespace
}  // namespace muster::scheduler
