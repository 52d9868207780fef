#include "membership/member.h"

#include <algorithm>

#include "membership/mutants.h"

namespace muster::membership {

std::string_view name_of(MemberState state) {
  switch (state) {
    case MemberState::kAlive:
      return "alive";
    case MemberState::kSuspect:
      return "suspect";
    case MemberState::kUnreachable:
      return "unreachable";
    case MemberState::kLeft:
      return "left";
  }
  return "unknown";
}

std::string_view name_of(crdt::ClaimKind kind) {
  switch (kind) {
    case crdt::ClaimKind::kSilent:
      return "silent";
    case crdt::ClaimKind::kRefused:
      return "agent_down";
  }
  return "unknown";
}

Duration clear_hold(const Member& member, bool is_storm) {
  if (mutant(MembershipMutant::kNoClearHold)) {
    return Duration(0);
  }
  if (member.verdicts <= 1) {
    const bool was_refused = member.kind == crdt::ClaimKind::kRefused;
    return was_refused ? kClearHoldRefused : is_storm ? kClearHoldStorm : kClearHold;
  }
  Duration hold = kFlapHold;
  for (int verdict = 2; verdict < member.verdicts && hold < kFlapHoldMax; ++verdict) {
    hold *= 2;
  }
  return std::min(hold, kFlapHoldMax);
}

void note_verdict(Instant now, Member& member, bool is_storm) {
  if (now - member.verdict_at > kFlapWindow) {
    member.verdicts = 0;
  }
  member.verdicts += member.verdicts == 0 || !is_storm ? 1 : 0;
  member.verdict_at = now;
}

bool is_observed_by(const Member& subject, HostId host) {
  const auto& ring = subject.observers;
  return std::find(ring.begin(), ring.end(), host) != ring.end();
}

bool observes_any(HostId host, const std::vector<HostId>& subjects,
                  const std::map<HostId, Member>& members) {
  return std::any_of(subjects.begin(), subjects.end(),
                     [&](HostId subject) { return is_observed_by(members.at(subject), host); });
}

gossip::Ring ring_of(const Member& subject, const std::function<const Member*(HostId)>& find,
                     const std::function<bool(HostId)>& is_claimed) {
  gossip::Ring ring{subject.host, {}, {}};
  for (const HostId& observer : subject.observers) {
    const Member* found = find(observer);
    if (found == nullptr || is_out(found->state)) {
      continue;
    }
    ring.observers.push_back(observer);
    if (found->state == MemberState::kAlive && !is_claimed(observer)) {
      ring.trusted.push_back(observer);
    }
  }
  return ring;
}

gossip::OverlayView overlay_of(HostId self, const std::map<HostId, Member>& members,
                               const std::function<gossip::Ring(const Member&)>& ring_of) {
  gossip::OverlayView view;
  view.self = self;
  view.rings.push_back(ring_of(members.at(self)));
  for (const auto& [host, member] : members) {
    if (member.state != MemberState::kLeft) {
      view.hosts.push_back(host);
    }
    if (!is_out(member.state) && is_observed_by(member, self)) {
      view.rings.push_back(ring_of(member));
    }
  }
  return view;
}

}  // namespace muster::membership
