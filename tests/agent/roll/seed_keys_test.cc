// The key that a node expects at its seed: rows name no host there, or one that is not there.

#include <gtest/gtest.h>

#include <set>

#include "tests/agent/node/bare_node.h"

namespace muster::agent {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using testing::BareNode;
using testing::kPeer;
using testing::kPeerControl;

const HostId kSecond = HostId::from_bytes("second__________");
const HostId kThirdHost = HostId::from_bytes("third___________");

class SeedKeysTest : public ::testing::Test {
 protected:
  SeedKeysTest() {
    bare_.vouch({kSecond, kThirdHost});
    bare_.pass(1s);  // A first greeting takes what is expected there.
  }

  /// A dial to the seed ended so; whose key is expected from the next greeting on. Zero: as before.
  HostId after(gossip::LinkLoss loss) {
    bare_.transport.clear();
    bare_.feed(gossip::LinkDown{kPeerControl, loss});
    bare_.pass(3s);
    HostId expected;
    for (const gossip::TransportOutput& each : bare_.transport) {
      const auto* word = std::get_if<gossip::Expect>(&each);
      for (const HostId host : {kPeer, kSecond, kThirdHost}) {
        if (word != nullptr && word->at == kPeerControl &&
            word->key == bare_.node().roll().link_key(host)) {
          expected = host;
        }
      }
    }
    return expected;
  }
  /// The peer's row names the seed's address.
  void name_seed() {
    crdt::Identity identity;
    identity.name = "peer";
    identity.control = kPeerControl;
    identity.bulk = kPeerControl;
    identity.start_id = StartId(1);
    crdt::RowsBody rows;
    rows.rows.push_back({kPeer, {Generation(1), {}}});
    rows.rows[0].row.fields[static_cast<std::uint32_t>(crdt::FieldId::kIdentity)] = {
        {Generation(1), Sequence(1)}, crdt::encode(identity)};
    bare_.receive(gossip::encode(BareNode::envelope(gossip::MessageType::kRows),
                                 crdt::encode(testing::signed_rows(rows))));
  }

  BareNode bare_{0, testing::kCluster, {}, true};
};

TEST_F(SeedKeysTest, EachMemberHasATurnWhereSomebodyElseListens) {
  std::set<HostId> tried;
  for (int turn = 0; turn < 6; ++turn) {
    const HostId expected = after(gossip::LinkLoss::kUnproven);
    EXPECT_FALSE(expected.is_zero()) << "they begin again behind the last one";
    tried.insert(expected);
  }
  EXPECT_EQ(tried.size(), 3U);
}

TEST_F(SeedKeysTest, AnAddressThatRowsNameIsItsOwnersAtEverySecondTry) {
  name_seed();
  for (int turn = 0; turn < 4; ++turn) {
    const bool is_owners = after(gossip::LinkLoss::kUnproven) == kPeer;
    EXPECT_NE(is_owners, after(gossip::LinkLoss::kUnproven) == kPeer);
  }
}

TEST_F(SeedKeysTest, SilenceAndAClosedPortAndALostLinkChangeNothing) {
  after(gossip::LinkLoss::kUnproven);
  for (const auto loss :
       {gossip::LinkLoss::kTimeout, gossip::LinkLoss::kRefused, gossip::LinkLoss::kReset}) {
    EXPECT_TRUE(after(loss).is_zero());
  }
}

}  // namespace
}  // namespace muster::agent
