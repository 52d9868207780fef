#include "agent/node/vouching.h"

#include <algorithm>
#include <vector>

#include "agent/api/verbs.h"
#include "agent/front/access.h"
#include "agent/node/order_words.h"
#include "gossip/base/mutant.h"

namespace muster::agent {
namespace {

constexpr std::size_t kNamedMax = 3;

/// True if the host left, or an operator removed it.
bool is_gone(const Known& known, HostId host) {
  const membership::Member* member = known.membership.member(host);
  const scheduler::HostRecord* record = known.seat.state().host(host);
  return (member != nullptr && member->state == membership::MemberState::kLeft) ||
         (record != nullptr && record->is_removed);
}

/// The members without `host` that the roll allows it; reachable ones come first.
std::vector<HostId> others_that(const Known& known, HostId host, bool (Roll::*may)(HostId) const) {
  const Roll& roll = known.roll;
  std::vector<HostId> found;
  if (host != known.options.self && (roll.*may)(known.options.self)) {
    found.push_back(known.options.self);
  }
  for (const auto& [other, member] : known.membership.members()) {
    if (other != host && other != known.options.self && (roll.*may)(other) &&
        !is_gone(known, other)) {
      found.push_back(other);
    }
  }
  std::stable_partition(found.begin(), found.end(), [&](HostId each) {
    return each == known.options.self || is_reachable(known.membership, each);
  });
  return found;
}

std::string names_of(const Known& known, const std::vector<HostId>& hosts) {
  std::string names;
  for (std::size_t i = 0; i < hosts.size() && i < kNamedMax; ++i) {
    const bool is_last = i + 1 == std::min(hosts.size(), kNamedMax);
    names += (i == 0    ? ""
              : is_last ? " or "
                        : ", ") +
             (hosts[i] == known.options.self ? known.options.name
                                             : known.hosts.addresses().name(hosts[i]));
  }
  return names;
}

}  // namespace

std::string why_not_through(const Known& known, const Request& request, HostId speaker) {
  const Roll& roll = known.roll;
  const bool is_own = speaker == known.options.self;
  Request said = request;
  if (said.node == known.options.name) {
    said.node.clear();
  }
  if (!is_own && is_for_voters(said) && !roll.may_vote(speaker)) {
    return "that is passed on by hosts that may vote alone: ask on one of them";
  }
  if (!is_own && is(request.verb, Carrier::kTicketMakers) && !request.node.empty()) {
    return "a ticket is made where its maker logs in: leave --node out";
  }
  if (roll.may_vouch(speaker) || is_open_to_all(said, speaker, known.options.self) ||
      mutant(Mutant::kAnyHostVouches)) {
    return "";
  }
  const std::string name = is_own ? known.options.name : known.hosts.addresses().name(speaker);
  const std::vector<HostId> others = others_that(known, speaker, &Roll::may_vouch);
  return "host " + name +
         " may not vouch for its logins: it answers them about itself, and what `hosts` and "
         "`quorum` tell" +
         (others.empty() ? ""
                         : "; ask on " + names_of(known, others) +
                               ", or have an operator say there: muster hosts set " + name +
                               " --may-vouch yes");
}

bool is_another_to_vouch(const Known& known, HostId host) {
  return !others_that(known, host, &Roll::may_vouch).empty();
}

bool is_last_to_vouch(const Known& known) {
  const Roll& roll = known.roll;
  const auto& members = known.membership.members();
  const bool is_alone = std::none_of(members.begin(), members.end(), [&](const auto& each) {
    return each.first != known.options.self && !roll.is_revoked(each.first) &&
           !is_gone(known, each.first);
  });
  return !is_alone && roll.may_vouch(known.options.self) &&
         !is_another_to_vouch(known, known.options.self);
}

bool is_another_to_vote(const Known& known, HostId host) {
  return !others_that(known, host, &Roll::may_vote).empty();
}

}  // namespace muster::agent
