#pragma once
// The roll is the list of members. The cluster authority signs a RollRecord for each host that is
// enrolled. The record is FieldId::kRoll of that host's row, the only field that the owner of the
// row does not write: it spreads, is digested and is kept as rows are. A host does not take in a
// row without a record. Records have no dates: a higher version replaces a lower one, and none
// expires.
//
// The version of that field is (number of the authority, edition of the record): a later authority
// signs all records again.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "crdt/rows/row.h"
#include "gossip/base/ids.h"
#include "gossip/base/signing.h"

namespace muster::crdt {

/// Limit of the members of a first quorum.
inline constexpr std::uint64_t kFoundersMax = 5;

struct RollRecord {
  std::string identity_key;  ///< Signs the row; the host id is its hash.
  /// The key that proved its links when it joined; link_cert.h has the present one.
  std::string link_key;
  /// Number of hosts that found the cluster together, this one included; 0 = it came later.
  std::uint64_t founders = 0;
  bool may_vote = false;  ///< It may get a seat, and is believed as voters are.
  /// Its logins may change jobs and the cluster: agent/front/access.h.
  bool may_vouch = false;
  bool revoked = false;  ///< For good: its messages and rows do not count any more.
  /// Counts the requests to change its link key: the host changes it when this rises.
  std::uint64_t key_round = 0;
  /// Number of the authority under which an operator last gave or took its right to vote; 0 =
  /// never. That authority is replaced: a host that lost the right knows its secret, and a host
  /// that got the right does not.
  std::uint64_t vote_set_under = 0;
  bool operator==(const RollRecord&) const = default;
};

/// [identity key, link key, founders, may vote, may vouch, revoked, key round, vote set under]. The
/// holder of the bytes keeps unknown trailing elements.
std::string encode(const RollRecord& record);
std::optional<RollRecord> decode_roll(std::string_view bytes);

/// The words that the authority signs.
std::string roll_words(HostId host, const RowVersion& version, std::string_view bytes);
/// The field that holds the record of `host`, signed by `authority`.
Field signed_roll(HostId host, const RowVersion& version, const RollRecord& record,
                  const gossip::Signer& authority);
/// The record; nullopt if the authority did not sign it for that host.
std::optional<RollRecord> proven_roll(HostId host, const Field& field, std::string_view authority,
                                      const gossip::Verifier& verifier);

/// Whether the authority signs that field, and not the owner of the row.
constexpr bool is_of_authority(std::uint32_t field) {
  return field == static_cast<std::uint32_t>(FieldId::kRoll);
}

}  // namespace muster::crdt
