#include "scheduler/leader/expire_timers.h"

#include <algorithm>
#include <iterator>

#include "scheduler/protocol/mutants.h"

namespace muster::scheduler {

Instant ExpireTimers::on_touched(Instant now, const State& state, const Token& token) {
  const Attempt* attempt = state.attempt(token);
  auto timer = timers_.lower_bound({token, HostId()});
  while (timer != timers_.end() && timer->first.first == token) {
    const MemberRecord* record = attempt == nullptr ? nullptr : attempt->find(timer->first.second);
    const bool in_force = record != nullptr && record->end == MemberEnd::kNone &&
                          (record->condemned == timer->second.condemn ||
                           mutant(SchedulerMutant::kExpireWithoutItsCondemn));
    timer = in_force ? std::next(timer) : timers_.erase(timer);
  }
  Instant earliest = kNever;
  if (attempt == nullptr) {
    return earliest;
  }
  for (const MemberRecord& record : attempt->members) {
    if (record.end != MemberEnd::kNone || record.condemned == LogIndex()) {
      continue;
    }
    // Both clocks may drift by 1 %: the own fast, that of the host slow.
    const Duration wait = (attempt->hold + attempt->grace + margin_) / 99 * 101;
    const bool is_new =
        timers_.try_emplace({token, record.member.host}, Timer{record.condemned, now + wait})
            .second;
    earliest = is_new ? std::min(earliest, now + wait) : earliest;
  }
  return earliest;
}

void ExpireTimers::rebuild(Instant now, const State& state) {
  timers_.clear();
  for (const Token& token : state.live()) {
    on_touched(now, state, token);
  }
}

}  // namespace muster::scheduler
