#include "agent/front/array_model.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "agent/front/use_model.h"
#include "agent/front/wait_model.h"
#include "scheduler/state/eligibility_rules.h"
#include "scheduler/state/job_moves.h"
#include "scheduler/why/conditions.h"

namespace muster::agent {
namespace {

std::uint64_t unsigned_ms(std::int64_t ms) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, ms));
}

/// "12 of 1000 ended, 50 running, 1 failed"
std::string counts_text(const JobSummary& summary) {
  const std::uint64_t ended =
      summary.tasks_completed + summary.tasks_failed + summary.tasks_cancelled;
  std::string text =
      std::to_string(ended) + " of " + std::to_string(summary.tasks) + " tasks ended";
  const auto add = [&](std::uint64_t count, const char* what) {
    text += count == 0 ? "" : ", " + std::to_string(count) + " " + what;
  };
  add(summary.tasks_running, "running");
  add(summary.tasks_failed, "failed");
  add(summary.tasks_cancelled, "cancelled");
  return text;
}

std::int32_t exit_code_of(const scheduler::TaskArray& array) {
  const scheduler::JobState state = array.state();
  if (state == scheduler::JobState::kFailed) {
    return array.wait.ended_by == scheduler::kTooLate ? scheduler::kExitTooLate : 1;
  }
  return state == scheduler::JobState::kCancelled ? scheduler::kExitCancelled : 0;
}

/// The hosts of the task's last attempt.
std::vector<std::string> hosts_of(const scheduler::State& state, const scheduler::Job& task,
                                  const HostViews& hosts) {
  std::vector<std::string> names;
  const scheduler::Attempt* last =
      task.life.attempt_tokens.empty() ? nullptr : state.attempt(task.life.attempt_tokens.back());
  if (last != nullptr) {
    for (const scheduler::MemberRecord& record : last->members) {
      names.push_back(hosts.addresses.name(record.member.host));
    }
  }
  return names;
}

void add_tasks(const scheduler::State& state, const scheduler::TaskArray& array,
               const HostViews& hosts, JobSummary& summary) {
  std::set<std::string> names;
  std::int64_t first_start = 0;
  for (auto job = state.jobs().lower_bound(task_id(array.id, 0));
       job != state.jobs().end() && array_of(job->first) == array.id; ++job) {
    const scheduler::Job& task = job->second;
    summary.gpu_ms += gpu_ms_of(state, task);
    const bool is_earlier = first_start == 0 || task.history.started_unix_ms < first_start;
    first_start = task.history.started_unix_ms != 0 && is_earlier ? task.history.started_unix_ms
                                                                  : first_start;
    const bool is_at_work = !task.has_ended() && task.life.state != scheduler::JobState::kQueued &&
                            task.life.state != scheduler::JobState::kSuspended;
    for (std::string& name :
         is_at_work ? hosts_of(state, task, hosts) : std::vector<std::string>()) {
      names.insert(std::move(name));
    }
  }
  summary.start_unix_ms = unsigned_ms(first_start);
  summary.hosts.assign(names.begin(), names.end());
}

}  // namespace

JobSummary array_summary(const scheduler::State& state, const scheduler::TaskArray& array,
                         const HostViews& hosts) {
  JobSummary summary;
  const scheduler::JobSpec& spec = array.spec;
  summary.id = array.id;
  summary.name = spec.name;
  summary.user = spec.user;
  summary.state = scheduler::text_of(array.state());
  summary.gpus = spec.request.gpus;
  summary.ranks = spec.request.ranks;
  for (const std::string& type : spec.request.gpu_types) {
    summary.gpu_type += (summary.gpu_type.empty() ? "" : "|") + type;
  }
  summary.priority = array.priority;
  summary.queue = spec.queue;
  summary.tier = scheduler::text_of(spec.tier);
  summary.exit_code = exit_code_of(array);
  summary.submit_unix_ms = unsigned_ms(array.submitted_unix_ms);
  summary.end_unix_ms = unsigned_ms(array.ended_unix_ms);
  summary.age_ms = wall_age_ms(hosts.now_unix_ms, array.submitted_unix_ms);
  summary.tasks = array.length();
  summary.tasks_running = array.running();
  summary.tasks_completed = array.completed;
  summary.tasks_failed = array.failed;
  summary.tasks_cancelled = array.cancelled + array.skipped_count();
  summary.cause = array.cancelled_by.empty() ? "" : "cancelled by " + array.cancelled_by;
  summary.cause = array.wait.ended_by.empty() ? std::move(summary.cause) : array.wait.ended_by;
  summary.reason = !array.wait.ended_by.empty() ? array.wait.ended_by
                   : is_waiting(array)          ? scheduler::conditions_brief(state, array.wait)
                                                : counts_text(summary);
  summary.wait = wait_info(state, array);
  add_tasks(state, array, hosts, summary);
  return summary;
}

namespace {

TaskFailure failure_of(const scheduler::State& state, const scheduler::Job& task,
                       const HostViews& hosts) {
  TaskFailure failure;
  failure.task = task.id;
  failure.exit_code = task.life.exit_code;
  failure.reason = task.life.reason;
  failure.hosts = hosts_of(state, task, hosts);
  return failure;
}

/// The history of the array: each task has a history of its own.
std::vector<TransitionInfo> array_history(const JobSummary& summary) {
  std::vector<TransitionInfo> steps = {
      {LogIndex(), 0, "queued", "submitted", summary.submit_unix_ms}};
  if (summary.start_unix_ms != 0) {
    steps.push_back(
        {LogIndex(), 0, "running", "the first task that is kept began", summary.start_unix_ms});
  }
  if (summary.end_unix_ms != 0) {
    steps.push_back({LogIndex(), 0, summary.state, summary.reason, summary.end_unix_ms});
  }
  return steps;
}

}  // namespace

JobDetail array_detail(const scheduler::State& state, const scheduler::TaskArray& array,
                       const HostViews& hosts) {
  JobDetail detail;
  detail.summary = array_summary(state, array, hosts);
  detail.spec = array.spec;
  detail.array.waiting = array.folded() - array.skipped_count();
  detail.array.queued = array.queued;
  detail.array.suspended = array.suspended;
  for (auto job = state.jobs().lower_bound(task_id(array.id, 0));
       job != state.jobs().end() && array_of(job->first) == array.id &&
       detail.array.failures.size() < kTaskFailuresListed;
       ++job) {
    if (job->second.life.state == scheduler::JobState::kFailed) {
      detail.array.failures.push_back(failure_of(state, job->second, hosts));
    }
  }
  detail.array.failures_more = array.failed - detail.array.failures.size();
  detail.transitions = array_history(detail.summary);
  return detail;
}

std::optional<JobId> telling_task(const scheduler::State& state,
                                  const scheduler::TaskArray& array) {
  std::optional<JobId> first;
  for (auto job = state.jobs().lower_bound(task_id(array.id, 0));
       job != state.jobs().end() && array_of(job->first) == array.id; ++job) {
    if (job->second.life.state == scheduler::JobState::kQueued && !job->second.pauses()) {
      return job->first;
    }
    if (!first.has_value() && !job->second.has_ended()) {
      first = job->first;
    }
  }
  return first;
}

std::string text_of_folded(const scheduler::TaskArray& array, JobId task) {
  const std::uint32_t index = index_of_task(task);
  const std::string name = "task " + text_of(task);
  if (!array.holds(index)) {
    return "";
  }
  if (array.is_skipped(index)) {
    return name + " was cancelled before it began";
  }
  return index >= array.next ? name + " waits for its turn: `muster show " + text_of(array.id) +
                                   "` counts the tasks before it"
                             : name + " ended, and is no longer kept";
}

}  // namespace muster::agent
