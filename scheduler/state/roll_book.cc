#include "scheduler/state/roll_book.h"

#include <algorithm>

#include "gossip/base/check.h"
#include "gossip/base/mutant.h"

namespace muster::scheduler {

std::string Ticket::why_not(Duration cluster_time) const {
  if (!ended_by.empty()) {
    return "the ticket was revoked by " + ended_by;
  }
  if (cluster_time >= ends_at) {
    return "the ticket has expired";
  }
  if (used_by.size() >= uses && !mutant(Mutant::kTicketWithoutEnd)) {
    return uses == 1 ? "the ticket was used"
                     : "the ticket was used " + std::to_string(uses) + " times, its limit";
  }
  return "";
}

const EnrolledHost* RollBook::find(HostId host) const {
  const auto found = hosts_.find(host);
  return found == hosts_.end() ? nullptr : &found->second;
}

const Ticket* RollBook::ticket(const std::string& key) const {
  const auto found = tickets_.find(key);
  return found == tickets_.end() ? nullptr : &found->second;
}

bool RollBook::is_denied_tickets(HostId host) const {
  const EnrolledHost* known = find(host);
  return known != nullptr && !known->may_vouch && !mutant(Mutant::kAnyHostVouches);
}

bool RollBook::has_open_ticket(Duration cluster_time) const {
  return std::any_of(tickets_.begin(), tickets_.end(),
                     [&](const auto& entry) { return entry.second.is_open(cluster_time); });
}

bool RollBook::is_news(HostId host, std::uint64_t authority, std::uint64_t edition) const {
  const EnrolledHost* known = find(host);
  return known == nullptr ||
         std::pair(known->authority, known->edition) < std::pair(authority, edition);
}

void RollBook::enrol(const entry::Enrol& fact) {
  CHECK(is_news(fact));
  hosts_[fact.host] = {fact.authority, fact.edition, fact.record, fact.signature, fact.may_vouch};
  if (const auto ticket = tickets_.find(fact.ticket);
      ticket != tickets_.end() && ticket->second.used_by.size() < ticket->second.uses) {
    ticket->second.used_by.insert(fact.host);
  }
}

bool RollBook::make(const entry::MakeTicket& fact, Duration cluster_time, std::int64_t unix_ms) {
  CHECK(!tickets_.contains(fact.key));
  if (tickets_.size() >= kTicketsMax) {
    auto oldest = tickets_.end();
    for (auto each = tickets_.begin(); each != tickets_.end(); ++each) {
      if (!each->second.why_not(cluster_time).empty() &&
          (oldest == tickets_.end() || each->second.ends_at < oldest->second.ends_at)) {
        oldest = each;
      }
    }
    if (oldest == tickets_.end()) {
      return false;
    }
    tickets_.erase(oldest);
  }
  tickets_[fact.key] = {fact.uses,
                        cluster_time + fact.ttl,
                        fact.may_vote,
                        fact.may_vouch,
                        fact.host_name,
                        fact.by.name,
                        unix_ms,
                        "",
                        {},
                        fact.made_at};
  return true;
}

void RollBook::end(const entry::EndTicket& fact) {
  tickets_.at(fact.key).ended_by = fact.by.name.empty() ? "an operator" : fact.by.name;
}

std::size_t RollBook::end_all_of(HostId host, const std::string& by, Duration cluster_time) {
  std::size_t ended = 0;
  for (auto& [key, ticket] : tickets_) {
    if (ticket.made_at == host && ticket.is_open(cluster_time) &&
        !mutant(Mutant::kTicketOutlivesMaker)) {
      ticket.ended_by = by;
      ++ended;
    }
  }
  return ended;
}

bool RollBook::rotate(const entry::RotateKeys& fact, Duration cluster_time) {
  if (fact.round <= keys_.round) {
    return false;
  }
  keys_.round = fact.round;
  keys_.round_at = cluster_time;
  return true;
}

void RollBook::replace_authority(const entry::ReplaceAuthority& fact) {
  CHECK(fact.number == keys_.authority() + 1);
  keys_.links.push_back({fact.number, fact.key, fact.signature});
  if (keys_.links.size() > gossip::kAuthorityLinksMax) {
    keys_.links.erase(keys_.links.begin());
  }
  keys_.sealed = fact.sealed;
}

void RollBook::check_invariants() const {
  CHECK(keys_.links.size() <= gossip::kAuthorityLinksMax);
  CHECK(keys_.sealed.size() <= kSealedMax);
  CHECK(tickets_.size() <= kTicketsMax);
  CHECK(hosts_.size() <= kEnrolledMax);
  for (const auto& [key, ticket] : tickets_) {
    CHECK(ticket.used_by.size() <= ticket.uses);
  }
}

}  // namespace muster::scheduler
