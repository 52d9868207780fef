// A relay passes acks on and makes none: each host looks for its own among what the leader signed.

#include "agent/gang/relay/ack_proof.h"

#include <gtest/gtest.h>

#include "tests/gossip/base/stand_in_keys.h"

namespace muster::agent {
namespace {

const HostId kProvingLeader = HostId::from_bytes("leader__________");
const HostId kLyingRelay = HostId::from_bytes("relay___________");
const HostId kFirst = HostId::from_bytes("first___________");
const HostId kSecond = HostId::from_bytes("second__________");
constexpr Token kProvenToken{1, 7};

class AckProof : public ::testing::Test {
 protected:
  scheduler::RenewAck brought(std::size_t which) const {
    scheduler::RenewAck ack = message_.acks[which].ack;
    ack.proof =
        proof_of(message_, kProvingLeader, *gossip::testing::signer_of(kProvingLeader), keys_);
    return ack;
  }
  bool holds(const scheduler::RenewAck& ack, HostId host, Nonce nonce) const {
    return is_proven(ack, host, nonce, kProvingLeader.bytes(), keys_);
  }

  const gossip::testing::StandInVerifier keys_;
  const scheduler::RelayedAcks message_{
      {{kFirst, Nonce(1), {{kProvenToken}}}, {kSecond, Nonce(2), {{}}}}};
};

TEST_F(AckProof, EachHostOfTheRackFindsItsOwn) {
  EXPECT_TRUE(holds(brought(0), kFirst, Nonce(1)));
  EXPECT_TRUE(holds(brought(1), kSecond, Nonce(2)));
}

TEST_F(AckProof, NothingElseIsProvenByIt) {
  EXPECT_FALSE(holds(brought(0), kSecond, Nonce(1))) << "another host";
  EXPECT_FALSE(holds(brought(0), kFirst, Nonce(3))) << "another renewal";
  scheduler::RenewAck more = brought(1);
  more.tokens = {kProvenToken};
  EXPECT_FALSE(holds(more, kSecond, Nonce(2))) << "a token that was condemned";
  scheduler::RenewAck made_up = brought(0);
  made_up.proof =
      proof_of(message_, kProvingLeader, *gossip::testing::signer_of(kLyingRelay), keys_);
  EXPECT_FALSE(holds(made_up, kFirst, Nonce(1))) << "signed by the relay";
  scheduler::RenewAck bare = brought(0);
  bare.proof = {};
  EXPECT_FALSE(holds(bare, kFirst, Nonce(1)));
  scheduler::RenewAck cut = brought(0);
  cut.proof.digests.resize(gossip::kDigestBytes / 2);
  EXPECT_FALSE(holds(cut, kFirst, Nonce(1)));
}

}  // namespace
}  // namespace muster::agent
