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

}  // namespace muster::membership
