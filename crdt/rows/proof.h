#pragma once
// The proof of a field: its owner's signature over the digests of all fields of one publish. A
// publish is signed once and verified once, however many fields it has. A field that travels
// without the others, or outlives them, brings their digests. Binary: the signature, and for
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

/// Signs the fields that `host` publishes together, and returns the number of signatures made.
/// Precondition: there is at least one field, each is in `row`, and none is named twice.
std::size_t sign_together(HostId host, const std::vector<std::uint32_t>& fields, Row& row,
                          const gossip::Signer& owner);

struct SignedDigests {
  std::string words;  ///< The words that the owner signed.
  std::string signature;
  bool operator==(const SignedDigests&) const = default;
};

/// The words that the owner must have signed for its field to be true, and its signature. nullopt
/// if the proof is malformed or lacks the digest of this field.
std::optional<SignedDigests> signed_digests(HostId host, std::uint32_t id, const Field& field,
                                            const gossip::Verifier& verifier);

/// Whether the key `owner` of `host` signed that field.
bool is_proven(HostId host, std::uint32_t id, const Field& field, std::string_view owner,
               const gossip::Verifier& verifier);

}  // namespace muster::crdt
