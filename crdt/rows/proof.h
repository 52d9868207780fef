#pragma once
// The proof of a field: its owner's signature over the digests of all fields of one publish. A
// publish is signed once and looked at once, however many fields it has; a field that travels
// without the others, or outlives them, brings their digests. Binary: the signature, and with
// several fields their digests behind it, in the order in which they were signed.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crdt/rows/row.h"
#include "gossip/base/ids.h"
#include "gossip/base/signing.h"

namespace muster::crdt {

/// Proves fields that `host` publishes together: at least one, none twice, each in `row`. How many
/// signatures that took.
std::size_t sign_together(HostId host, const std::vector<std::uint32_t>& fields, Row& row,
                          const gossip::Signer& owner);

struct SignedDigests {
  std::string words;  ///< The owner signed these.
  std::string signature;
  bool operator==(const SignedDigests&) const = default;
};

/// The words that the owner must have signed for its field to be true, and its signature. nullopt
/// if the proof is of no such form, or lacks the digest of this field.
std::optional<SignedDigests> signed_digests(HostId host, std::uint32_t id, const Field& field,
                                            const gossip::Verifier& verifier);

/// Whether that field is the word of `owner`, the key of `host`.
bool is_proven(HostId host, std::uint32_t id, const Field& field, std::string_view owner,
               const gossip::Verifier& verifier);

}  // namespace muster::crdt
