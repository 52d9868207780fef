#include "tests/sim/scenario/sets.h"

#include <algorithm>
#include <set>

namespace muster::sim::scenario {
namespace {

void add(std::set<std::uint32_t>& hosts, std::uint32_t from, std::uint32_t to) {
  for (std::uint32_t host = from; host < to; ++host) {
    hosts.insert(host);
  }
}

std::set<std::uint32_t> hosts_of(const SetTerm& term, const Scenario& scenario, const Roles& roles,
                                 const std::vector<std::uint32_t>& others) {
  std::set<std::uint32_t> hosts;
  const std::uint32_t count =
      term.is_percent ? (scenario.hosts * term.number + 50) / 100 : term.number;
  switch (term.kind) {
    case SetTerm::Kind::kAll:
      add(hosts, 0, scenario.hosts);
      break;
    case SetTerm::Kind::kRest:
      add(hosts, 0, scenario.hosts);
      for (const std::uint32_t host : others) {
        hosts.erase(host);
      }
      break;
    case SetTerm::Kind::kHost:
      hosts.insert(term.number);
      break;
    case SetTerm::Kind::kRack:
      for (std::uint32_t host = term.number; host < scenario.hosts; host += scenario.racks) {
        hosts.insert(host);
      }
      break;
    case SetTerm::Kind::kFirst:
      add(hosts, 0, count);
      break;
    case SetTerm::Kind::kLast:
      add(hosts, scenario.hosts - count, scenario.hosts);
      break;
    case SetTerm::Kind::kLeader:
      hosts.insert(roles.leader);
      hosts.erase(scenario.hosts);
      break;
    case SetTerm::Kind::kVoters:
      hosts.insert(roles.voters.begin(), roles.voters.end());
      break;
    case SetTerm::Kind::kGang:
    case SetTerm::Kind::kGangOne:
      if (const auto gang = roles.gangs.find(term.job); gang != roles.gangs.end()) {
        hosts.insert(gang->second.begin(), gang->second.end());
      }
      if (term.kind == SetTerm::Kind::kGangOne && !hosts.empty()) {
        const auto one = std::find_if(hosts.begin(), hosts.end(), [&](std::uint32_t host) {
          return std::find(roles.voters.begin(), roles.voters.end(), host) == roles.voters.end();
        });
        hosts = {one == hosts.end() ? *hosts.begin() : *one};
      }
      break;
  }
  return hosts;
}

}  // namespace

bool HostSet::has_role() const {
  return std::any_of(terms.begin(), terms.end(),
                     [](const SetTerm& term) { return term.kind >= SetTerm::Kind::kLeader; });
}

std::vector<std::uint32_t> resolve(const HostSet& set, const Scenario& scenario, const Roles& roles,
                                   const std::vector<std::uint32_t>& others) {
  std::set<std::uint32_t> hosts;
  for (const SetTerm& term : set.terms) {
    for (const std::uint32_t host : hosts_of(term, scenario, roles, others)) {
      if (term.is_taken_away) {
        hosts.erase(host);
      } else {
        hosts.insert(host);
      }
    }
  }
  return {hosts.begin(), hosts.end()};
}

}  // namespace muster::sim::scenario
