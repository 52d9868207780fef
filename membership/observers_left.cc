#include "membership/observers_left.h"

#include <algorithm>
#include <vector>

#include "membership/rings.h"

namespace muster::membership {

int steps_of_those_left(const Member& member, const Evidence& evidence,
                        const std::function<const Member*(HostId)>& find) {
  std::vector<HostId> left;
  int steps = 0;
  for (const HostId& observer : member.observers) {
    const Member* found = find(observer);
    if (found == nullptr || found->state != MemberState::kUnreachable) {
      left.push_back(observer);
    } else {
      steps = std::max(steps, found->reduced_steps + 1);
    }
  }
  if (steps > kReducedStepsMax || left.size() < kObserversLeftMin) {
    return 0;
  }
  const Tally tally = evidence.tally(member.host, member.start.generation, left);
  return tally.strong >= verdict_threshold(left.size()) ? steps : 0;
}

}  // namespace muster::membership
