#pragma once
// LinkCert is a host's statement about its own link key: FieldId::kLink of its row, signed by its
// identity key like each field. With it a host changes its link key but not its id. It has no
// dates: a higher serial replaces a lower one. A host whose link key never changed publishes no
// LinkCert: its record has the key.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "crdt/rows/roll.h"
#include "gossip/base/ids.h"

namespace muster::crdt {

/// Proof that a host has the secret of a link key: the seed of that pair also makes a signer.
struct LinkProof {
  std::string signing_key;
  std::string signature;  ///< Over link_words().
  bool operator==(const LinkProof&) const = default;
};

struct LinkCert {
  /// The link key of the record that this cert follows. If the host joins again, its record has
  /// another key and this cert is over.
  std::string base;
  std::uint64_t serial = 0;  ///< Number of `key`; rises by one with each change.
  std::string key;           ///< The key that proves its links.
  std::string next;          ///< The key that proves them next; "" = no change is under way.
  std::uint64_t round = 0;   ///< The last RollRecord::key_round that the host carried out.
  LinkProof key_proof{};     ///< Empty if `key` is `base`, which the authority signed.
  LinkProof next_proof{};
  bool operator==(const LinkCert&) const = default;
};

/// [base, serial, key, next, round, [signing key, signature], [signing key, signature]]
std::string encode(const LinkCert& cert);
std::optional<LinkCert> decode_link_cert(std::string_view bytes);

std::string link_words(HostId host, std::string_view key);
LinkProof proof_of(HostId host, std::string_view key, const gossip::Signer& link_signer);
/// Whether the host proves the keys of `cert`. Without this check a host could end the connections
/// of another host, or pass them off as its own.
bool is_proven(HostId host, const LinkCert& cert, const gossip::Verifier& verifier);

/// The keys that prove the links of a host: `cert` if it follows the record, else the key of the
/// record.
LinkCert link_of(const RollRecord& record, const std::optional<LinkCert>& cert);

}  // namespace muster::crdt
