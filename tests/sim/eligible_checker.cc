#include "tests/sim/eligible_checker.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

#include "scheduler/state/eligibility_rules.h"

namespace muster::sim {
namespace {

using scheduler::JobState;

/// "7", "7.12"
JobId job_in(std::string_view text) {
  const std::size_t dot = text.find('.');
  const JobId job(number(text.substr(0, dot)));
  return dot == std::string_view::npos
             ? job
             : task_id(job, static_cast<std::uint32_t>(number(text.substr(dot + 1))));
}

/// Of a task that is no job; as end_of().
std::optional<JobState> end_of_folded(const scheduler::TaskArray& array, std::uint32_t index) {
  if (array.is_skipped(index)) {
    return JobState::kCancelled;
  }
  return array.may_adopt(index) ? std::optional(JobState::kQueued) : std::nullopt;
}

/// Its end; nullopt if it is forgotten: then it did end. kQueued: it has not ended.
std::optional<JobState> end_of(const scheduler::State& state, JobId id) {
  if (const scheduler::Job* job = state.job(id)) {
    return job->has_ended() ? job->life.state : JobState::kQueued;
  }
  const scheduler::TaskArray* array = state.array(array_of(id));
  if (array == nullptr) {
    return std::nullopt;
  }
  if (is_task(id)) {
    return end_of_folded(*array, index_of_task(id));
  }
  return array->has_ended() ? array->state() : JobState::kQueued;
}

bool is_met(scheduler::Ending wanted, JobState end) {
  const bool is_bad = end == JobState::kFailed || end == JobState::kCancelled;
  return (end == JobState::kCompleted && wanted != scheduler::Ending::kFail) ||
         (is_bad && wanted != scheduler::Ending::kOk);
}

/// The log waits for what the client named.
bool is_as_asked(const std::vector<scheduler::JobWait::Item>& kept,
                 const std::vector<scheduler::Dependency>& asked) {
  return std::equal(kept.begin(), kept.end(), asked.begin(), asked.end(),
                    [](const auto& item, const auto& wanted) { return item.asked == wanted; });
}

/// The earliest true time at which a span from `sent_at` can be over, were all clocks as fast as
/// may be.
Instant over_at(const World& world, Instant sent_at, Duration span) {
  constexpr std::int64_t kOne = 1'000'000;
  constexpr Duration kRounding = std::chrono::microseconds(1);
  const Duration drift = span / kOne * world.options().drift_ppm_max;
  return sent_at + span - drift - kRounding;
}

}  // namespace

void EligibleOnly::on_event(World& world, std::uint32_t host, const Event& event) {
  const bool is_decided = event.name == "job_scheduled";
  const bool is_new = event.name == "job_queued" || event.name == "array_submitted";
  const bool is_edited = event.name == "job_edited" && (!event.field("begin_in_ms").empty() ||
                                                        !event.field("deadline_in_ms").empty());
  if (event.name == "job_ended") {
    judge_end(world, host, event);
  }
  if (!(is_decided || is_new || is_edited) || !world.is_running(host)) {
    return;
  }
  const scheduler::State& state = world.node(host).seat().state();
  const JobId id = job_in(event.field("job"));
  const JobId whole = array_of(id);
  if (is_edited) {
    edited_.insert(whole);
    begins_.erase(whole);
  } else if (!edited_.contains(whole)) {
    note_begin(state, whole);
  }
  // An attempt that was adopted has the token of another entry.
  const std::string_view token = event.field("token");
  if (!is_decided || token.substr(token.find('.') + 1) != event.field("index")) {
    return;
  }
  const std::string who = where(host) + "'s log decides job " + text_of(id);
  if (const scheduler::TaskArray* array = state.array(whole)) {
    judge(world, state, {who, whole, array->wait, submits_.find(array->key)});
  } else if (const scheduler::Job* job = state.job(id)) {
    judge(world, state, {who, whole, job->life.wait, submits_.find(job->key)});
  }
}

/// `id`: a job or an array.
void EligibleOnly::note_begin(const scheduler::State& state, JobId id) {
  const scheduler::Job* job = state.job(id);
  const scheduler::TaskArray* array = state.array(id);
  const Duration begin = job != nullptr     ? job->life.wait.begin_at
                         : array != nullptr ? array->wait.begin_at
                                            : Duration::zero();
  if (begin != Duration::zero()) {
    begins_.emplace(id, begin);
  }
}

void EligibleOnly::judge(World& world, const scheduler::State& state, const Decided& decided) {
  judge_conditions(world, state, decided);
  const auto begin = begins_.find(decided.whole);
  if (begin != begins_.end() && state.cluster_time() < begin->second) {
    world.violation(name(), decided.who + " before its begin");
  }
  if (decided.submit == nullptr || edited_.contains(decided.whole)) {
    return;
  }
  const Duration asked = decided.submit->spec.eligibility.begin;
  if (asked != Duration::zero() && world.now() < over_at(world, decided.submit->sent_at, asked)) {
    world.violation(
        name(), decided.who + ", " + std::to_string(to_ms(world.now() - decided.submit->sent_at)) +
                    " ms after a submit that begins after " + std::to_string(to_ms(asked)) + " ms");
  }
}

void EligibleOnly::judge_conditions(World& world, const scheduler::State& state,
                                    const Decided& decided) {
  for (const scheduler::JobWait::Item& each : decided.wait.after) {
    const std::optional<JobState> end = end_of(state, each.asked.job);
    if (end.has_value() && !is_met(each.asked.ending, *end)) {
      world.violation(name(), decided.who + ", and " + text_of(each.asked) + " is not met");
    }
  }
  if (decided.submit != nullptr &&
      !is_as_asked(decided.wait.after, decided.submit->spec.eligibility.after)) {
    world.violation(name(), decided.who + ", which has other conditions than were asked for");
  }
}

/// A deadline ends a job that has no attempt.
void EligibleOnly::judge_end(World& world, std::uint32_t host, const Event& event) {
  if (event.field("state") != "failed" || !event.field("token").empty() ||
      number(event.field("code")) != scheduler::kExitTooLate || !world.is_running(host)) {
    return;
  }
  const scheduler::State& state = world.node(host).seat().state();
  const JobId id = job_in(event.field("job"));
  const scheduler::Job* job = state.job(id);
  const scheduler::TaskArray* array = state.array(array_of(id));
  const SubmitsKept::Submit* submit = array != nullptr ? submits_.find(array->key)
                                      : job != nullptr ? submits_.find(job->key)
                                                       : nullptr;
  if (submit == nullptr || edited_.contains(array_of(id))) {
    return;
  }
  const Duration asked = submit->spec.eligibility.deadline;
  if (asked == Duration::zero() || world.now() < over_at(world, submit->sent_at, asked)) {
    world.violation(name(), where(host) + "'s log fails job " + text_of(id) +
                                " before its deadline has passed");
  }
}

}  // namespace muster::sim
