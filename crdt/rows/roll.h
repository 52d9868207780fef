#pragma once
// The roll: who is a member. The cluster authority signs a record for each host that was enrolled;
// it lies in FieldId::kRoll of that host's row, the only field that its owner does not write, and
// so spreads, is digested and is kept as rows are. A row without its record is nobody's and is not
// taken in. Records bear no date: a higher version replaces, and nothing runs out.
//
// The version of that field is (number of the authority, edition of the record): a later authority
// signs all anew.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "crdt/rows/row.h"
#include "gossip/base/ids.h"
#include "gossip/base/signing.h"

namespace muster::crdt {

/// First quorums have at most so many members.
inline constexpr std::uint64_t kFoundersMax = 5;

struct RollRecord {
  std::string identity_key;  ///< Signs the row; the host id is its hash.
  /// What its links were proven with when it joined; link_cert.h says what it is now.
  std::string link_key;
  /// How many hosts found the cluster together, this one among them; 0 = it came later.
  std::uint64_t founders = 0;
  bool may_vote = false;  ///< It may be given a seat, and is believed as voters are.
  /// Its logins may say what they like of jobs and of the cluster: agent/front/access.h.
  bool may_vouch = false;
  bool revoked = false;  ///< For good: nothing of it counts any more.
  /// Counts the wishes that its link key be another one: the host changes it when this rises.
  std::uint64_t key_round = 0;
  /// Number of the authority under which an operator last gave or took its right to vote; 0 =
  /// never. That one is replaced: who lost the right has its secret, and who got it has none.
  std::uint64_t vote_set_under = 0;
  bool operator==(const RollRecord&) const = default;
};

/// [identity key, link key, founders, may vote, may vouch, revoked, key round, vote set under];
/// unknown trailing
/// elements are kept by whoever holds the bytes.
std::string encode(const RollRecord& record);
std::optional<RollRecord> decode_roll(std::string_view bytes);

/// The words that the authority signs.
std::string roll_words(HostId host, const RowVersion& version, std::string_view bytes);
/// The field that says `record` of `host`, signed by `authority`.
Field signed_roll(HostId host, const RowVersion& version, const RollRecord& record,
                  const gossip::Signer& authority);
/// The record, when it is the authority's and of that host.
std::optional<RollRecord> proven_roll(HostId host, const Field& field, std::string_view authority,
                                      const gossip::Verifier& verifier);

/// Whether that field is the authority's word, not the owner's.
constexpr bool is_of_authority(std::uint32_t field) {
  return field == static_cast<std::uint32_t>(FieldId::kRoll);
}

}  // namespace muster::crdt
