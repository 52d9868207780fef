#pragma once
// The entries about members of the cluster: tickets that let hosts join, and enrolled hosts. A
// record of the roll is opaque here: bytes that the cluster authority signed (crdt/rows/roll.h).

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gossip/base/ids.h"
#include "gossip/base/time.h"
#include "gossip/wire/wire.h"
#include "scheduler/protocol/users.h"

namespace muster::scheduler {

inline constexpr std::size_t kRollRecordBytesMax = 1024;
inline constexpr std::size_t kTicketNameBytesMax = 256;
/// Uses of one ticket: a snapshot names its users in one list, which has a limit.
inline constexpr std::uint64_t kTicketUsesMax = 8'000;
/// Maximum life of a ticket, in cluster time.
inline constexpr Duration kTicketTtlMax = std::chrono::hours(24 * 365);

namespace entry {

/// A host that holds the secret of this key may join. The log never contains the secret.
struct MakeTicket {
  std::string key;  ///< Public key of the link that the secret makes.
  std::uint64_t uses = 1;
  Duration ttl{0};  ///< Of cluster time, from this entry on.
  bool may_vote = false;
  bool may_vouch = false;
  std::string host_name;  ///< Only for a host of that name; "" = any.
  Subject by;
  HostId made_at;  ///< A login on this host made it: it ends when the host is revoked.
  bool operator==(const MakeTicket&) const = default;
};
struct EndTicket {
  std::string key;
  Subject by;
  bool operator==(const EndTicket&) const = default;
};
/// A host becomes a member, or its record of the roll changed.
struct Enrol {
  HostId host;
  std::uint64_t authority = 0;  ///< Number of the authority that signed, from 1.
  std::uint64_t edition = 0;    ///< Of the record, from 1.
  std::string record;
  std::string signature;
  std::string ticket;       ///< Key of its ticket; "" = the leader met a record already signed.
  std::string host_name;    ///< As the host says.
  bool is_revoked = false;  ///< As the record says: the host is no longer a member.
  Subject by;               ///< The person that revoked it, or changed its rights or keys.
  /// As the record of a member says. False: its logins make no tickets, and their tickets end.
  bool may_vouch = false;
  bool operator==(const Enrol&) const = default;
};
/// All hosts replace the keys of their links: records of this round follow, host by host.
struct RotateKeys {
  std::uint64_t round = 0;  ///< RollRecord::key_round.
  Subject by;
  bool operator==(const RotateKeys&) const = default;
};
/// From here on another authority signs; records by it follow, host by host. Its secret is sealed
/// to each host that may vote, so a reader of the log does not learn it.
struct ReplaceAuthority {
  std::uint64_t number = 0;  ///< One more than that of the last authority.
  std::string key;           ///< Public.
  std::string signature;     ///< Of the last authority over authority_words().
  std::vector<std::pair<HostId, std::string>> sealed;  ///< At most kSealedMax.
  Subject by;
  bool operator==(const ReplaceAuthority&) const = default;
};

}  // namespace entry

/// Hosts that one secret is sealed to: far more than ever vote.
inline constexpr std::size_t kSealedMax = 256;
inline constexpr std::size_t kSealedBytesMax = 256;

/// Number of elements behind the header of each entry.
inline constexpr std::size_t kMakeTicketElements = 8;
inline constexpr std::size_t kEndTicketElements = 2;
inline constexpr std::size_t kEnrolElements = 10;
inline constexpr std::size_t kRotateKeysElements = 2;
inline constexpr std::size_t kReplaceAuthorityElements = 5;
void write(gossip::Encoder& out, const entry::MakeTicket& fact);
void write(gossip::Encoder& out, const entry::EndTicket& fact);
void write(gossip::Encoder& out, const entry::Enrol& fact);
void write(gossip::Encoder& out, const entry::RotateKeys& fact);
void write(gossip::Encoder& out, const entry::ReplaceAuthority& fact);
entry::MakeTicket read_make_ticket(gossip::Reader& in);
entry::EndTicket read_end_ticket(gossip::Reader& in);
entry::Enrol read_enrol(gossip::Reader& in);
entry::RotateKeys read_rotate_keys(gossip::Reader& in);
entry::ReplaceAuthority read_replace_authority(gossip::Reader& in);
/// [[host, sealed], ...]; fails the reader beyond kSealedMax.
void write_sealed(gossip::Encoder& out, const std::vector<std::pair<HostId, std::string>>& sealed);
std::vector<std::pair<HostId, std::string>> read_sealed(gossip::Reader& in);

}  // namespace muster::scheduler
