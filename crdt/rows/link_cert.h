#pragma once
// What a host says of its own link key: FieldId::kLink of its row, signed by its identity as every
// field of it. So a host changes the key of its links and stays who it is. No dates: a higher
// serial replaces. While nobody wished for another key a host says nothing; its record has it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "crdt/rows/roll.h"
#include "gossip/base/ids.h"

namespace muster::crdt {

/// That a host has the secret of a link key: by the seed of the pair it signs as well.
struct LinkProof {
  std::string signing_key;
  std::string signature;  ///< Over link_words().
  bool operator==(const LinkProof&) const = default;
};

struct LinkCert {
  /// The key of the record that this one follows. A host that joined anew has another, and what it
  /// said before is over.
  std::string base;
  std::uint64_t serial = 0;  ///< Of `key`; rises by one with each change.
  std::string key;           ///< What its links are proven with.
  std::string next;          ///< What they will be proven with next; "" = no change is under way.
  std::uint64_t round = 0;   ///< RollRecord::key_round, as far as it was carried out.
  LinkProof key_proof{};     ///< Empty where `key` is `base`, which the authority signed.
  LinkProof next_proof{};
  bool operator==(const LinkCert&) const = default;
};

/// [base, serial, key, next, round, [signing key, signature], [signing key, signature]]
std::string encode(const LinkCert& cert);
std::optional<LinkCert> decode_link_cert(std::string_view bytes);

std::string link_words(HostId host, std::string_view key);
LinkProof proof_of(HostId host, std::string_view key, const gossip::Signer& link_signer);
/// Whether the keys in it are the host's: else it could have others' connections end, or come in as
/// its own.
bool is_proven(HostId host, const LinkCert& cert, const gossip::Verifier& verifier);

/// What the links of a host are proven with, of its record and what it says itself: `cert` counts
/// when it follows the record.
LinkCert link_of(const RollRecord& record, const std::optional<LinkCert>& cert);

}  // namespace muster::crdt
