#pragma once
// How a host becomes a member, and the tickets that let it. Keys are public ones, in raw form; the
// secret of a ticket is nobody's but its holder's, and no request carries it but kEnter, meant
// for the agent's own socket.

#include <cstdint>
#include <string>
#include <vector>

#include "gossip/base/ids.h"
#include "gossip/wire/authority_link.h"
#include "gossip/wire/endpoint.h"

namespace muster::agent {

/// A member that a newcomer can speak to.
struct Contact {
  std::string address;  ///< Of its control port: "IP:PORT".
  std::string link_key;
  HostId host;  ///< Its record: what Roll says of it, signed.
  std::uint64_t authority = 0;
  std::uint64_t edition = 0;
  std::string record;
  std::string signature;
  bool operator==(const Contact&) const = default;
};

/// To an agent that has no cluster: found one.
struct FoundArgs {
  std::uint64_t founders = 1;  ///< Hosts that found it together: 1, 3 or 5.
  std::string ticket;          ///< The others' key; "" when there are none.
  bool operator==(const FoundArgs&) const = default;
};
/// To an agent that has no cluster: join the one of this ticket.
struct EnterArgs {
  std::string ticket;  ///< As people hold it: one line.
  bool operator==(const EnterArgs&) const = default;
};

/// A newcomer's word to a member, on a link that its ticket's secret made.
struct JoinArgs {
  std::string identity_key;
  std::string link_key;
  std::string name;
  std::string signature;  ///< Of the identity over join_words().
  std::string ticket{};   ///< Its key; written by the member that the newcomer speaks to.
  bool operator==(const JoinArgs&) const = default;
};
/// What a newcomer is given.
struct JoinInfo {
  ClusterId cluster;  ///< Zero: it is about to be founded.
  std::string authority;
  Contact own{};  ///< Its record; no address.
  std::vector<Contact> contacts{};
  /// The authority's, for hosts that may vote; it came over a link that the ticket's secret made.
  std::string authority_secret{};
  /// How that authority followed the one that the ticket names.
  std::vector<gossip::AuthorityLink> authority_links{};
  bool operator==(const JoinInfo&) const = default;
};

struct TicketArgs {
  std::string key;
  std::uint64_t uses = 1;
  std::uint64_t ttl_ms = 0;
  bool may_vote = false;
  bool may_vouch = false;
  std::string host_name;  ///< "" = any.
  bool operator==(const TicketArgs&) const = default;
};
/// What a ticket must say besides its secret.
struct TicketMade {
  std::string authority;
  std::vector<Contact> contacts{};
  bool operator==(const TicketMade&) const = default;
};
struct TicketRef {
  std::string key;  ///< Or the first bytes of it, when only one begins so.
  bool operator==(const TicketRef&) const = default;
};
struct TicketInfo {
  std::string key;
  std::uint64_t uses = 0;
  std::uint64_t used = 0;
  std::uint64_t ends_in_ms = 0;  ///< Of cluster time; 0 = it has ended.
  bool may_vote = false;
  bool may_vouch = false;
  std::string host_name;
  std::string by;
  std::uint64_t age_ms = 0;
  std::string why_not;  ///< Why it lets nobody in any more; "" = it does.
  bool operator==(const TicketInfo&) const = default;
};
struct TicketList {
  std::vector<TicketInfo> tickets;  ///< The newest first.
  bool operator==(const TicketList&) const = default;
};

/// Numbers are the wire's.
enum class Wish : std::uint8_t { kAsItIs = 0, kNo = 1, kYes = 2 };
/// The rights of a host, as an operator wishes them from now on.
struct SetHostArgs {
  HostId host;
  Wish may_vote = Wish::kAsItIs;
  Wish may_vouch = Wish::kAsItIs;
  bool operator==(const SetHostArgs&) const = default;
};

struct RotateArgs {
  HostId host;                ///< Whose link key is to be another; zero = those of all hosts.
  bool is_authority = false;  ///< Not these, but the authority's.
  bool operator==(const RotateArgs&) const = default;
};
/// How far a host is.
struct HostKeys {
  HostId host;
  std::string name;
  std::uint64_t authority = 0;     ///< That signed its record.
  std::uint64_t serial = 0;        ///< Changes of its link key so far.
  std::uint64_t round = 0;         ///< Wishes that it carried out ...
  std::uint64_t round_wanted = 0;  ///< ... and that there were.
  bool is_changing = false;        ///< The next key is announced.
  bool is_reachable = false;
  bool operator==(const HostKeys&) const = default;
};
struct KeysInfo {
  std::uint64_t authority = 0;       ///< The number of the one that signs.
  std::uint64_t authority_from = 0;  ///< Records of earlier ones than this count no more.
  std::uint64_t members = 0;
  std::uint64_t behind = 0;     ///< Of them: what was wished for is not done yet.
  std::vector<HostKeys> hosts;  ///< Those first, and at most kKeysHostsMax.
  bool operator==(const KeysInfo&) const = default;
};
inline constexpr std::size_t kKeysHostsMax = 4096;

/// The words that a newcomer's identity signs.
std::string join_words(const JoinArgs& join);

}  // namespace muster::agent
