// What the end of an attempt means for its job: done, failed, queued again (conventions, "Job
// states"; design 8, rule 6 and "Fast recovery of a rigid gang").

#include "scheduler/state/state.h"

#include <algorithm>

#include "gossip/base/check.h"
#include "scheduler/protocol/host_fault.h"
#include "scheduler/protocol/mutants.h"
#include "scheduler/state/forgetting.h"

namespace muster::scheduler {

void State::move(Step& step, Job& job, JobEvent event, std::string cause, const Token& token) {
  books_.jobs.move(job, event);
  const JobState to = job.state;
  job.reason = cause;
  books_.kept.note(job, Transition{to, cause, books_.cluster_time, step.index, token});
  const bool ended = job.has_ended();
  const std::string_view name = ended                        ? "job_ended"
                                : to == JobState::kQueued    ? "job_queued"
                                : to == JobState::kScheduled ? "job_scheduled"
                                : to == JobState::kRunning   ? "job_started"
                                : to == JobState::kStopping  ? "job_stopping"
                                                             : "job_suspended";
  Event said{Severity::kInfo, name, {{"job", std::to_string(job.id.value())}}};
  if (!token.is_none()) {
    said.fields.emplace_back("token", token.text());
  }
  said.fields.emplace_back("cause", std::move(cause));
  if (ended) {
    said.fields.emplace_back("state", std::string(text_of(to)));
    said.fields.emplace_back("code", std::to_string(job.exit_code));
  }
  said.fields.emplace_back("index", std::to_string(step.index.value()));
  step.result.events.push_back(std::move(said));
}

void State::end_job(Step& step, Job& job, JobEvent how, std::int32_t code, std::string reason) {
  CHECK(!job.has_ended());
  const Token last = job.current;
  job.current = Token();
  job.forget_order();
  job.left_out.clear();
  job.exit_code = code;
  job.ended_at = books_.cluster_time;
  job.ended_index = step.index;
  step.result.capacity_changed = true;
  move(step, job, how, std::move(reason), last);
  keep_ended(books_, job);
}

void State::leave_out(Job& job, const HostId& host) const {
  std::erase_if(job.left_out, [&](const LeftOut& out) { return out.host == host; });
  job.left_out.push_back(LeftOut{host, books_.cluster_time + kLeftOutFor});
  if (job.left_out.size() > kLeftOutMax) {
    job.left_out.erase(job.left_out.begin());
  }
}

void State::requeue(Step& step, Job& job, const Attempt& attempt, std::string cause) {
  job.current = Token();
  job.forget_order();
  step.result.capacity_changed = true;
  move(step, job, JobEvent::kQueuedAgain, std::move(cause), attempt.token);
}

bool State::lost_a_host(const Attempt& attempt) const {
  return std::any_of(attempt.members.begin(), attempt.members.end(),
                     [this](const MemberRecord& record) {
                       const HostRecord* known = host(record.member.host);
                       return record.end == MemberEnd::kLost || record.end == MemberEnd::kExpired ||
                              known == nullptr || !known->is_reachable();
                     });
}

/// Every reachable rank is confirmed stopped under a logged Stop, and the attempt cannot complete
/// any more: its job need not wait for the silent hosts, whose GPUs stay held.
bool State::is_replaceable(const Attempt& attempt) const {
  const Job* owner = job(attempt.job);
  if (attempt.state != AttemptState::kStopping || owner == nullptr) {
    return false;
  }
  if (owner->spec.on_lost_host == OnLostHost::kWait && !owner->cancel_requested) {
    return false;
  }
  const bool reachable_stopped =
      std::all_of(attempt.members.begin(), attempt.members.end(), [this](const MemberRecord& r) {
        const HostRecord* known = host(r.member.host);
        return r.end != MemberEnd::kNone || (known != nullptr && !known->is_reachable());
      });
  const bool broken = attempt.has_failed_member() || mutant(SchedulerMutant::kRequeueOnSilence);
  return reachable_stopped && broken;
}

void State::settle_host(Step& step, const HostId& host) {
  for (const Token& token : tokens_on(host)) {
    step.result.touched.push_back(token);
    settle(step, books_.attempts.at(token));
  }
  settle_unclassed(step);
}

void State::settle_unclassed(Step& step) {
  const std::set<Token> tokens = books_.attempts.unclassed();
  for (const Token& token : tokens) {
    settle(step, books_.attempts.at(token));
  }
}

/// A verdict that was taken back before the failure is classed counts all the same.
void State::watch_failure(Attempt& attempt) const {
  if (!attempt.failed_at.has_value() && attempt.program_failure() != nullptr) {
    attempt.failed_at = books_.cluster_time;
  }
  attempt.lost_host = attempt.lost_host || (attempt.failed_at.has_value() && lost_a_host(attempt));
}

/// A rank that fails may be the first sign of a dead host, seconds before the verdict. Only of
/// another host than its own, which lived to report it; and no dead host keeps a command from being
/// executed. So a gang on one host, and a command that cannot be executed, are classed at once.
bool State::awaits_verdict(const Attempt& attempt) const {
  const RankResult* failure = attempt.program_failure();
  if (failure == nullptr || failure->kind == RankResult::Kind::kNotStarted) {
    return false;
  }
  CHECK(attempt.failed_at.has_value());
  return attempt.members.size() > 1 && !attempt.lost_host && attempt.cause != Cause::kHostLost &&
         books_.cluster_time < *attempt.failed_at + kClassWait;
}

void State::settle(Step& step, Attempt& attempt) {
  watch_failure(attempt);
  const bool ended = attempt.state == AttemptState::kEnded;
  Job* const owner = books_.jobs.find(attempt.job);
  if (owner == nullptr || (!ended && !is_replaceable(attempt))) {
    return;
  }
  if (ended && attempt.replaced && mutant(SchedulerMutant::kDoubleRequeue) && !owner->has_ended()) {
    requeue(step, *owner, attempt, "host_lost");
    return;
  }
  if (attempt.replaced || owner->current != attempt.token) {
    return;
  }
  attempt.replaced = !ended;
  conclude(step, *owner, attempt);
}

void State::conclude(Step& step, Job& job, const Attempt& attempt) {
  books_.attempts.class_known(attempt.token);
  const bool aborted =
      std::all_of(attempt.members.begin(), attempt.members.end(),
                  [](const MemberRecord& record) { return record.end == MemberEnd::kAborted; });
  if (aborted) {
    step.result.events.push_back({Severity::kInfo,
                                  "attempt_aborted",
                                  {{"job", std::to_string(job.id.value())},
                                   {"token", attempt.token.text()},
                                   {"cause", std::string(text_of(attempt.cause))},
                                   {"index", std::to_string(step.index.value())}}});
    if (!attempt.blamed.is_zero()) {
      leave_out(job, attempt.blamed);
    }
  }
  const bool by_order = attempt.cause == Cause::kSuspended || attempt.cause == Cause::kRequeued;
  if (attempt.completed) {
    end_job(step, job, JobEvent::kCompleted, 0, "completed");
  } else if (conclude_as_ordered(step, job, attempt)) {
    return;
  } else if (by_order) {
    requeue(step, job, attempt, "resumed");  // The order was taken back while it stopped.
  } else if (aborted) {
    requeue(step, job, attempt, std::string(text_of(attempt.cause)));
  } else if (attempt.cause == Cause::kTimeLimit) {
    end_job(step, job, JobEvent::kFailed, kExitTimeLimit, "time limit");
  } else if (attempt.cause == Cause::kPreempted) {
    requeue(step, job, attempt, "preempted");
  } else if (awaits_verdict(attempt)) {
    books_.attempts.await_class(attempt.token);
  } else {
    fail_or_retry(step, job, attempt);
  }
}

/// What an operator ordered beats what the attempt was stopped for: that uses no retry.
bool State::conclude_as_ordered(Step& step, Job& job, const Attempt& attempt) {
  if (job.cancel_requested || attempt.cause == Cause::kCancelled) {
    end_job(step, job, JobEvent::kEndCancelled, kExitCancelled,
            job.ordered_by.empty() ? "cancelled" : "cancelled by " + job.ordered_by);
    return true;
  }
  if (job.order == JobOrder::kRequeue) {
    requeue(step, job, attempt, "requeued by " + job.ordered_by);
    return true;
  }
  if (job.order == JobOrder::kSuspend) {
    std::string cause = "suspended by " + job.ordered_by;
    job.current = Token();
    job.forget_order();
    step.result.capacity_changed = true;
    move(step, job, JobEvent::kEndSuspended, std::move(cause), attempt.token);
    return true;
  }
  return false;
}

void State::fail_or_retry(Step& step, Job& job, const Attempt& attempt) {
  const RankResult* failure = attempt.program_failure();
  std::string host_cause = "host_lost";
  bool has_host_fault = false;
  for (const MemberRecord& record : attempt.members) {
    const auto fault = std::find_if(record.results.begin(), record.results.end(), is_host_fault);
    if (fault != record.results.end()) {
      has_host_fault = true;
      leave_out(job, record.member.host);
      host_cause = "rank " + std::to_string(fault->rank) +
                   " could not be started by its host: " + fault->detail;
    }
  }
  const bool is_hosts = has_host_fault || attempt.lost_host || attempt.cause == Cause::kHostLost;
  if (failure == nullptr || is_hosts) {
    // Ranks die of the loss of another's host: no retry of the user is used for that.
    if (++job.lost_attempts >= kLostAttemptsMax) {
      end_job(step, job, JobEvent::kFailed, 1, "lost its hosts too often");
      return;
    }
    requeue(step, job, attempt, std::move(host_cause));
    return;
  }
  const bool signalled = failure->kind == RankResult::Kind::kSignalled;
  const std::int32_t code = signalled ? kExitSignalBase + failure->code : failure->code;
  const bool not_started = failure->kind == RankResult::Kind::kNotStarted;
  std::string reason = "rank " + std::to_string(failure->rank) +
                       (not_started ? " did not start: "
                        : signalled ? " died of signal "
                                    : " exited ") +
                       (not_started ? failure->detail : std::to_string(failure->code));
  ++job.program_failures;
  // A command that cannot be executed fails the same way every time.
  if (not_started || job.program_failures > job.spec.retries) {
    end_job(step, job, JobEvent::kFailed, code, std::move(reason));
    return;
  }
  requeue(step, job, attempt, std::move(reason));
}

}  // namespace muster::scheduler
