#pragma once
// The entries about who is a member: tickets that let hosts join, and the hosts that were admitted.
// A record of the roll is opaque here: bytes that the cluster authority signed (crdt/rows/roll.h).

#include <cstddef>
#include <cstdint>
#include <string>

#include "gossip/base/ids.h"
#include "gossip/base/time.h"
#include "gossip/wire/wire.h"

namespace muster::scheduler {

inline constexpr std::size_t kRollRecordBytesMax = 1024;
inline constexpr std::size_t kTicketNameBytesMax = 256;
/// Uses of one ticket: a snapshot names its users in one list, which has a limit.
inline constexpr std::uint64_t kTicketUsesMax = 8'000;
/// A ticket ends after this at the latest; it is of cluster time.
inline constexpr Duration kTicketTtlMax = std::chrono::hours(24 * 365);

namespace entry {

/// Who holds the secret of this key may join. The secret itself is nobody's but the holder's.
struct MakeTicket {
  std::string key;  ///< Public, of the link that its secret makes.
  std::uint64_t uses = 1;
  Duration ttl{0};  ///< Of cluster time, from this entry on.
  bool may_vote = false;
  bool may_vouch = false;
  std::string host_name;  ///< Only for a host of that name; "" = any.
  std::string by;
  bool operator==(const MakeTicket&) const = default;
};
struct EndTicket {
  std::string key;
  std::string by;
  bool operator==(const EndTicket&) const = default;
};
/// A host is a member, or what the roll says of it changed.
struct Admit {
  HostId host;
  std::uint64_t authority = 0;  ///< Number of the authority that signed, from 1.
  std::uint64_t edition = 0;    ///< Of the record, from 1.
  std::string record;
  std::string signature;
  std::string ticket;     ///< Its key; "" = the leader met the record, signed already.
  std::string host_name;  ///< As the host says.
  bool is_revoked = false;  ///< As the record says: it is a member no more.
  std::string by;           ///< Who revoked it.
  bool operator==(const Admit&) const = default;
};

}  // namespace entry

/// The elements behind the header of an entry.
inline constexpr std::size_t kMakeTicketElements = 7;
inline constexpr std::size_t kEndTicketElements = 2;
inline constexpr std::size_t kAdmitElements = 9;
void write(gossip::Encoder& out, const entry::MakeTicket& fact);
void write(gossip::Encoder& out, const entry::EndTicket& fact);
void write(gossip::Encoder& out, const entry::Admit& fact);
entry::MakeTicket read_make_ticket(gossip::Reader& in);
entry::EndTicket read_end_ticket(gossip::Reader& in);
entry::Admit read_admit(gossip::Reader& in);

}  // namespace muster::scheduler
