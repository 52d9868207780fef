#pragma once
// Requests and answers by which a host becomes a member, and the tickets that permit it. Keys are
// public keys in raw form. Only the holder of a ticket knows its secret. The one request that
// carries it is kEnter, which is meant for the agent's own socket.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gossip/base/ids.h"
#include "gossip/wire/authority_link.h"
#include "gossip/wire/endpoint.h"

namespace muster::agent {

/// The most contacts of one newcomer, and the most bytes of a link row: a LinkCert, its version and
/// two signatures take some 400.
inline constexpr std::size_t kContactsMax = 8;
inline constexpr std::size_t kLinkRowBytesMax = 2048;

/// A member that a newcomer can speak to.
struct Contact {
  std::string address;  ///< The address of its control port: "IP:PORT".
  std::string link_key;
  HostId host;  ///< From here on: its signed record of the Roll.
  std::uint64_t authority = 0;
  std::uint64_t edition = 0;
  std::string record;
  std::string signature;
  /// The field of its row that says how its link key changed, by encode_row(): signed by the
  /// contact itself. "" = the key is still that of the record, or the reader is the contact.
  std::string link_row{};
  bool operator==(const Contact&) const = default;
};

/// Tells an agent without a cluster to found one.
struct FoundArgs {
  std::uint64_t founders = 1;  ///< Hosts that found it together: 1, 3 or 5.
  std::string ticket;          ///< Key of the other founders' ticket; "" if it founds alone.
  std::string admin_key{};     ///< SSH key line of the first administrator; "" = none.
  bool operator==(const FoundArgs&) const = default;
};
/// Tells an agent without a cluster to join the cluster of this ticket.
struct EnterArgs {
  std::string ticket;  ///< The line that `muster ticket` prints.
  bool operator==(const EnterArgs&) const = default;
};

/// A newcomer asks a member to enrol it, on a link that the secret of its ticket made.
struct JoinArgs {
  std::string identity_key;
  std::string link_key;
  std::string name;
  std::string signature;  ///< Made by the identity key over join_words().
  std::string ticket{};   ///< The ticket's key; the member that the newcomer asks writes it.
  bool operator==(const JoinArgs&) const = default;
};
/// The answer to a newcomer.
struct JoinInfo {
  ClusterId cluster;  ///< Zero: the cluster is about to be founded.
  std::string authority;
  Contact own{};  ///< The newcomer's record; without an address.
  std::vector<Contact> contacts{};
  /// The secret key of the authority, for hosts that may vote; "" for others. It travels on a link
  /// that the secret of the ticket made.
  std::string authority_secret{};
  /// The links from the authority that the ticket names to this one.
  std::vector<gossip::AuthorityLink> authority_links{};
  std::string first_admin{};      ///< For founders: the login that founds the cluster.
  std::string first_admin_key{};  ///< FoundArgs::admin_key
  bool operator==(const JoinInfo&) const = default;
};

struct TicketArgs {
  std::string key;
  std::uint64_t uses = 1;
  std::uint64_t ttl_ms = 0;
  bool may_vote = false;
  bool may_vouch = false;
  std::string host_name;  ///< The one host that it admits; "" = any host.
  bool operator==(const TicketArgs&) const = default;
};
/// The parts of a ticket besides its secret.
struct TicketMade {
  std::string authority;
  std::vector<Contact> contacts{};
  bool operator==(const TicketMade&) const = default;
};
struct TicketRef {
  std::string key;  ///< The whole key, or first bytes with which one key alone begins.
  bool operator==(const TicketRef&) const = default;
};
struct TicketInfo {
  std::string key;
  std::uint64_t uses = 0;
  std::uint64_t used = 0;
  std::uint64_t ends_in_ms = 0;  ///< In cluster time; 0 = it has ended.
  bool may_vote = false;
  bool may_vouch = false;
  std::string host_name;
  std::string by;
  std::uint64_t age_ms = 0;
  std::string why_not;  ///< The reason that no host can join with it any more; "" = one can.
  bool operator==(const TicketInfo&) const = default;
};
struct TicketList {
  std::vector<TicketInfo> tickets;  ///< The newest ticket first.
  bool operator==(const TicketList&) const = default;
};

/// The numbers are those of the wire.
enum class Wish : std::uint8_t { kAsItIs = 0, kNo = 1, kYes = 2 };
/// An operator changes the rights of a host.
struct SetHostArgs {
  HostId host;
  Wish may_vote = Wish::kAsItIs;
  Wish may_vouch = Wish::kAsItIs;
  bool operator==(const SetHostArgs&) const = default;
};

struct RotateArgs {
  HostId host;                ///< The host that changes its link key; zero = all hosts do.
  bool is_authority = false;  ///< The key of the authority changes instead.
  bool operator==(const RotateArgs&) const = default;
};
/// The progress of one host in a rotation of keys.
struct HostKeys {
  HostId host;
  std::string name;
  std::uint64_t authority = 0;     ///< The number of the authority that signed its record.
  std::uint64_t serial = 0;        ///< Changes of its link key so far.
  std::uint64_t round = 0;         ///< Rotations that it carried out ...
  std::uint64_t round_wanted = 0;  ///< ... of so many that were asked of it.
  bool is_changing = false;        ///< The next key is announced.
  bool is_reachable = false;
  bool operator==(const HostKeys&) const = default;
};
struct KeysInfo {
  std::uint64_t authority = 0;       ///< The number of the authority that signs.
  std::uint64_t authority_from = 0;  ///< A record of an earlier authority counts no more.
  std::uint64_t members = 0;
  std::uint64_t behind = 0;     ///< Members that have a rotation before them.
  std::vector<HostKeys> hosts;  ///< Hosts that are behind come first; at most kKeysHostsMax.
  bool operator==(const KeysInfo&) const = default;
};
inline constexpr std::size_t kKeysHostsMax = 4096;

/// The words that a newcomer's identity signs.
std::string join_words(const JoinArgs& join);

}  // namespace muster::agent
