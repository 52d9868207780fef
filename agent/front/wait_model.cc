#include "agent/front/wait_model.h"

#include <algorithm>

namespace muster::agent {
namespace {

/// `waits`: its conditions are the reason for which it is not tried.
WaitInfo wait_info_of(const scheduler::State& state, const scheduler::JobWait& wait, bool has_ended,
                      bool waits) {
  const auto unsigned_ms = [](std::int64_t ms) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, ms));
  };
  WaitInfo info;
  bool waits_for_jobs = false;
  for (const scheduler::JobWait::Item& each : wait.after) {
    const bool is_open = !has_ended && wait.is_open(each);
    waits_for_jobs = waits_for_jobs || is_open;
    info.after.push_back({text_of(each.asked), is_open ? state.standing(each.asked.job) : ""});
  }
  info.begin_unix_ms = unsigned_ms(wait.begin_unix_ms);
  info.deadline_unix_ms = unsigned_ms(wait.deadline_unix_ms);
  info.is_before_begin = waits && !waits_for_jobs && wait.begin_at != Duration::zero();
  return info;
}

}  // namespace

WaitInfo wait_info(const scheduler::State& state, const scheduler::Job& job) {
  return wait_info_of(state, job.life.wait, job.has_ended(), job.is_waiting());
}

WaitInfo wait_info(const scheduler::State& state, const scheduler::TaskArray& array) {
  return wait_info_of(state, array.wait, array.has_ended(), is_waiting(array));
}

bool is_waiting(const scheduler::TaskArray& array) {
  return !array.has_ended() && array.wait.is_open();
}

}  // namespace muster::agent
