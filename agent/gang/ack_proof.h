#pragma once
// Proofs of renewals that were acknowledged by way of a relay. The leader signs once for a whole
// rack: over a digest of each ack, which every host of the rack is handed along with its own. So a
// relay can lose or delay an ack, and make none.

#include <string>
#include <string_view>

#include "gossip/base/ids.h"
#include "gossip/base/signing.h"
#include "scheduler/protocol/agent_messages.h"

namespace muster::agent {

/// Of all acks in one message of `leader`, which signs.
scheduler::AckProof proof_of(const scheduler::RelayedAcks& message, HostId leader,
                             const gossip::Signer& leader_key, const gossip::Verifier& verifier);
/// Whether the ack that `host` was brought under `nonce` is the word of who signs by `leader_key`.
bool is_proven(const scheduler::RenewAck& ack, HostId host, Nonce nonce,
               std::string_view leader_key, const gossip::Verifier& verifier);

}  // namespace muster::agent
