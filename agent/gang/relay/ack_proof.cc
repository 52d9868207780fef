#include "agent/gang/relay/ack_proof.h"

#include "gossip/wire/wire.h"

namespace muster::agent {
namespace {

std::string digest_of(HostId host, Nonce nonce, const std::vector<Token>& tokens,
                      const gossip::Verifier& verifier) {
  gossip::Encoder out;
  out.array(3).id(host).num(nonce).array(2 * tokens.size());
  for (const Token& token : tokens) {
    out.token(token);
  }
  return verifier.digest(out.take());
}

std::string words_of(std::string_view digests) {
  return gossip::Encoder().array(2).text("muster acks 1").bytes(digests).take();
}

}  // namespace

scheduler::AckProof proof_of(const scheduler::RelayedAcks& message, HostId leader,
                             const gossip::Signer& leader_key, const gossip::Verifier& verifier) {
  scheduler::AckProof proof;
  proof.leader = leader;
  for (const scheduler::RelayedAck& each : message.acks) {
    proof.digests += digest_of(each.host, each.nonce, each.ack.tokens, verifier);
  }
  proof.signature = leader_key.sign(words_of(proof.digests));
  return proof;
}

bool is_proven(const scheduler::RenewAck& ack, HostId host, Nonce nonce,
               std::string_view leader_key, const gossip::Verifier& verifier) {
  const std::string own = digest_of(host, nonce, ack.tokens, verifier);
  for (std::size_t at = 0; at + own.size() <= ack.proof.digests.size(); at += own.size()) {
    if (std::string_view(ack.proof.digests).substr(at, own.size()) == own) {
      return verifier.verify(leader_key, words_of(ack.proof.digests), ack.proof.signature);
    }
  }
  return false;
}

}  // namespace muster::agent
