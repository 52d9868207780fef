#pragma once
// Proofs of acknowledgements that come by way of a relay. The leader signs once for a whole rack,
// over the digests of all its acks. Every host of the rack gets the digests with its own ack.
// Therefore a relay can lose or delay an ack, but cannot forge one.

#include <string>
#include <string_view>

#include "gossip/base/ids.h"
#include "gossip/base/signing.h"
#include "scheduler/protocol/agent_messages.h"

namespace muster::agent {

/// The proof of all acks in one message of `leader`, signed with its key.
scheduler::AckProof proof_of(const scheduler::RelayedAcks& message, HostId leader,
                             const gossip::Signer& leader_key, const gossip::Verifier& verifier);
/// True if the owner of `leader_key` signed this ack for `host` under `nonce`.
bool is_proven(const scheduler::RenewAck& ack, HostId host, Nonce nonce,
               std::string_view leader_key, const gossip::Verifier& verifier);

}  // namespace muster::agent
