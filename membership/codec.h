#pragma once
// The bodies of membership's messages, as values and as bytes. All are small: a probe is the most
// frequent message of a cluster.

#include <optional>
#include <string>
#include <variant>

#include "crdt/rows/host_state.h"
#include "gossip/base/ids.h"
#include "gossip/base/time.h"
#include "gossip/wire/message.h"

namespace muster::membership {

/// "Are you there?" Its nonce must come back.
struct Probe {
  bool operator==(const Probe&) const = default;
};
/// The answer. The envelope's generation and `row_sequence` name the newest version of the
/// sender's row; `probe_me_next` spreads the sender's observers over the period.
struct Ack {
  Duration probe_me_next{0};  ///< Milliseconds on the wire.
  Sequence row_sequence;
  bool operator==(const Ack&) const = default;
};
/// "Probe it now", to the other observers of `subject`. With a nonce: the subject missed two
/// attempts of the caller; an observer that hears it sends a Veto. Without: it answered the caller
/// again. From the subject itself: it is accused and alive.
struct Call {
  HostId subject;
  Generation generation;
  bool operator==(const Call&) const = default;
};
/// "It answered me just now", under the call's nonce: do not claim from silence this round.
struct Veto {
  HostId subject;
  Generation generation;
  bool operator==(const Veto&) const = default;
};
/// To the subject itself: "I claim this about you" (Lifeguard's buddy system).
struct Accuse {
  Generation generation;
  crdt::ClaimKind kind = crdt::ClaimKind::kSilent;
  bool operator==(const Accuse&) const = default;
};

using Body = std::variant<Probe, Ack, Call, Veto, Accuse>;

gossip::MessageType type_of(const Body& body);
std::string encode(const Body& body);
/// nullopt if `type` is not a membership message or the body is invalid. Ignores trailing elements.
std::optional<Body> decode_body(gossip::MessageType type, gossip::Reader in);

}  // namespace muster::membership
