#pragma once
// The hosts that were enrolled, and the tickets that let hosts join. Owned by Books; pure. The
// signature of a record was checked before it was proposed. This book decides only what the log
// must order: which record of a host is the newest, and how often a ticket was used.
//
// Invariants: the version of a host's record never falls; a ticket is used by at most as many hosts
// as it was made for, each counted once.

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gossip/base/ids.h"
#include "gossip/base/time.h"
#include "gossip/wire/authority_link.h"
#include "scheduler/protocol/roll_entries.h"

namespace muster::scheduler {

/// Maximum of hosts that were ever enrolled.
inline constexpr std::size_t kEnrolledMax = 65'536;
/// Maximum of tickets that are kept; the oldest that ended gives way.
inline constexpr std::size_t kTicketsMax = 1024;

struct EnrolledHost {
  std::uint64_t authority = 0;
  std::uint64_t edition = 0;
  std::string record;
  std::string signature;
  bool may_vouch = false;  ///< entry::Enrol::may_vouch
  bool operator==(const EnrolledHost&) const = default;
};

struct Ticket {
  std::uint64_t uses = 1;  ///< As made.
  Duration ends_at{0};     ///< Cluster time.
  bool may_vote = false;
  bool may_vouch = false;
  std::string host_name;
  std::string by;
  std::int64_t unix_ms = 0;  ///< When it was made, for people.
  std::string ended_by;      ///< "" = it is open, or ran out by itself.
  std::set<HostId> used_by;
  HostId made_at;  ///< The host on which a login made it.
  bool operator==(const Ticket&) const = default;

  bool is_open(Duration cluster_time) const {
    return ended_by.empty() && cluster_time < ends_at && used_by.size() < uses;
  }
  /// Why it lets in no further host at this cluster time; "" = it is open.
  std::string why_not(Duration cluster_time) const;
};

/// The authorities of the cluster, and the round of keys that links must have.
struct RollKeys {
  /// Links to all authorities but the first, the newest gossip::kAuthorityLinksMax; numbers rise by
  /// one.
  std::vector<gossip::AuthorityLink> links;
  std::vector<std::pair<HostId, std::string>> sealed;  ///< Secret of the newest one, by host.
  std::uint64_t round = 0;  ///< The link keys of all hosts must be of this round at least.
  Duration round_at{0};     ///< Cluster time of the RotateKeys.
  bool operator==(const RollKeys&) const = default;

  /// The number of the authority that signs now.
  std::uint64_t authority() const { return links.empty() ? 1 : links.back().number; }
};

class RollBook {
 public:
  RollBook() = default;
  /// From a snapshot.
  RollBook(std::map<HostId, EnrolledHost> hosts, std::map<std::string, Ticket> tickets,
           RollKeys keys)
      : hosts_(std::move(hosts)), tickets_(std::move(tickets)), keys_(std::move(keys)) {}

  const std::map<HostId, EnrolledHost>& hosts() const { return hosts_; }
  /// By key.
  const std::map<std::string, Ticket>& tickets() const { return tickets_; }
  const RollKeys& keys() const { return keys_; }
  const EnrolledHost* find(HostId host) const;
  /// Whether the newest record of the host denies it the right to vouch. False if it is unknown.
  bool is_denied_tickets(HostId host) const;
  const Ticket* ticket(const std::string& key) const;
  /// Whether some ticket lets hosts in: it will run out by cluster time.
  bool has_open_ticket(Duration cluster_time) const;
  /// Whether the log would take that record as news.
  bool is_news(const entry::Enrol& fact) const {
    return is_news(fact.host, fact.authority, fact.edition);
  }
  bool is_news(HostId host, std::uint64_t authority, std::uint64_t edition) const;

  /// Precondition: is_news(fact), and its ticket, if it names one, lets the host in.
  void enrol(const entry::Enrol& fact);
  /// Precondition: there is no such ticket. False if too many are open.
  bool make(const entry::MakeTicket& fact, Duration cluster_time, std::int64_t unix_ms);
  /// Precondition: the ticket exists.
  void end(const entry::EndTicket& fact);
  /// Ends the open tickets that a login on that host made, and returns their number.
  std::size_t end_all_of(HostId host, const std::string& by, Duration cluster_time);
  /// False if that round was requested already.
  bool rotate(const entry::RotateKeys& fact, Duration cluster_time);
  /// Precondition: its number follows keys().authority().
  void replace_authority(const entry::ReplaceAuthority& fact);
  void check_invariants() const;

 private:
  std::map<HostId, EnrolledHost> hosts_;
  std::map<std::string, Ticket> tickets_;
  RollKeys keys_;
};

}  // namespace muster::scheduler
