#include "scheduler/state/outcomes.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "gossip/base/check.h"
#include "scheduler/protocol/host_fault.h"
#include "scheduler/protocol/mutants.h"
#include "scheduler/state/job_moves.h"

namespace muster::scheduler {
namespace {

bool lost_a_host(const HostBook& hosts, const Attempt& attempt) {
  return std::any_of(attempt.members.begin(), attempt.members.end(),
                     [&hosts](const MemberRecord& record) {
                       const HostRecord* known = hosts.find(record.member.host);
                       return record.end == MemberEnd::kLost || record.end == MemberEnd::kExpired ||
                              known == nullptr || !known->is_reachable();
                     });
}

/// Whether every reachable rank is confirmed stopped under a logged Stop, and the attempt cannot
/// complete any more: its job need not wait for the silent hosts, whose GPUs stay held.
bool is_replaceable(const Books& books, const Attempt& attempt) {
  const Job* owner = books.jobs.find(attempt.job);
  if (attempt.state != AttemptState::kStopping || owner == nullptr) {
    return false;
  }
  if (owner->spec.retry.on_lost_host == OnLostHost::kWait && !owner->orders.cancel_requested) {
    return false;
  }
  const bool reachable_stopped =
      std::all_of(attempt.members.begin(), attempt.members.end(), [&books](const MemberRecord& r) {
        const HostRecord* known = books.hosts.find(r.member.host);
        return r.end != MemberEnd::kNone || (known != nullptr && !known->is_reachable());
      });
  const bool broken = attempt.has_failed_member() || mutant(SchedulerMutant::kRequeueOnSilence);
  return reachable_stopped && broken;
}

/// Notes the failure and lost hosts. A verdict that is taken back before the failure is classed
/// counts all the same.
void watch_failure(const Books& books, Attempt& attempt) {
  if (!attempt.failed_at.has_value() && attempt.program_failure() != nullptr) {
    attempt.failed_at = books.cluster_time;
  }
  attempt.lost_host =
      attempt.lost_host || (attempt.failed_at.has_value() && lost_a_host(books.hosts, attempt));
}

/// A rank that fails may be the first sign of another dead host, seconds before the verdict. Its
/// own host lived to report it, and a dead host is no reason why a command cannot be executed.
/// Therefore a gang on one host, and a command that cannot be executed, are classed at once.
bool awaits_verdict(const Attempt& attempt, Duration cluster_time) {
  const RankResult* failure = attempt.program_failure();
  if (failure == nullptr || failure->kind == RankResult::Kind::kNotStarted) {
    return false;
  }
  CHECK(attempt.failed_at.has_value());
  return attempt.members.size() > 1 && !attempt.lost_host && !is_loss(attempt.cause) &&
         cluster_time < *attempt.failed_at + kClassWait;
}

/// An operator's order beats the cause for which the attempt was stopped, and uses no retry.
bool conclude_as_ordered(Step& step, Job& job, const Attempt& attempt) {
  if (job.orders.cancel_requested || attempt.cause == Cause::kCancelled) {
    end_job(step, job, JobEvent::kEndCancelled, kExitCancelled,
            job.orders.ordered_by.empty() ? "cancelled" : "cancelled by " + job.orders.ordered_by);
    return true;
  }
  if (job.orders.order == JobOrder::kRequeue) {
    queue_again(step, job, attempt.token, "requeued by " + job.orders.ordered_by);
    return true;
  }
  if (job.orders.order == JobOrder::kSuspend) {
    std::string cause = "suspended by " + job.orders.ordered_by;
    job.life.current = Token();
    job.forget_order();
    step.result.capacity_changed = true;
    move_job(step, job, JobEvent::kEndSuspended, std::move(cause), attempt.token);
    return true;
  }
  return false;
}

/// SIGKILL: the kernel sends it for want of memory, among other reasons.
constexpr std::int32_t kKillSignal = 9;

/// "host_lost", "agent_down: host c", "ranks_lost: rank 3 on host c: supervisor ended"
std::string loss_text(const HostBook& hosts, const Attempt& attempt) {
  const auto name = [&hosts](const MemberRecord& record) {
    const HostRecord* host = hosts.find(record.member.host);
    return "host " + (host == nullptr ? record.member.host.short_hex() : host->name);
  };
  const std::string cause(text_of(is_loss(attempt.cause) ? attempt.cause : Cause::kHostLost));
  for (const MemberRecord& record : attempt.members) {
    const HostRecord* host = hosts.find(record.member.host);
    const bool is_down = host != nullptr && host->verdict == Verdict::kRefused;
    if (attempt.cause == Cause::kRanksLost && record.has_lost_rank()) {
      const RankResult& lost = *record.lost_rank();
      return cause + ": rank " + std::to_string(lost.rank) + " on " + name(record) + ": " +
             lost.detail;
    }
    if (attempt.cause == Cause::kAgentDown && is_down) {
      return cause + ": " + name(record);
    }
  }
  return cause;
}

/// "1h 30m"; 90 s are "1m 30s".
std::string span_text(Duration span) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(span).count();
  constexpr std::int64_t kMinute = 60;
  constexpr std::int64_t kHour = 60 * kMinute;
  std::string text;
  const auto add = [&text](std::int64_t count, const char* unit) {
    text += count == 0 ? "" : (text.empty() ? "" : " ") + std::to_string(count) + unit;
  };
  add(seconds / kHour, "h");
  add(seconds % kHour / kMinute, "m");
  add(seconds % kMinute, "s");
  return text.empty() ? "less than a second" : text;
}

void fail_or_retry(Step& step, Job& job, const Attempt& attempt) {
  const RankResult* failure = attempt.program_failure();
  std::string host_cause = loss_text(step.books.hosts, attempt);
  bool has_host_fault = false;
  for (const MemberRecord& record : attempt.members) {
    const auto fault = std::find_if(record.results.begin(), record.results.end(), is_host_fault);
    if (fault != record.results.end()) {
      has_host_fault = true;
      step.books.jobs.leave_out(job, {record.member.host, step.books.cluster_time + kLeftOutFor});
      host_cause = "rank " + std::to_string(fault->rank) +
                   " could not be started by its host: " + fault->detail;
    }
  }
  const bool is_hosts = has_host_fault || attempt.lost_host || is_loss(attempt.cause);
  if (failure == nullptr || is_hosts) {
    // Ranks die when another rank's host is lost: that uses no retry of the user.
    if (++job.life.lost_attempts >= kLostAttemptsMax) {
      end_job(step, job, JobEvent::kFailed, 1, "lost its hosts too often");
      return;
    }
    if (attempt.cause == Cause::kRanksLost) {
      // The host lives, and so may the cause that killed the supervisor.
      queue_after_pause(step, job, attempt.token, std::move(host_cause), job.life.lost_attempts);
    } else {
      queue_again(step, job, attempt.token, std::move(host_cause));
    }
    return;
  }
  const bool signalled = failure->kind == RankResult::Kind::kSignalled;
  const std::int32_t code = signalled ? kExitSignalBase + failure->code : failure->code;
  const bool not_started = failure->kind == RankResult::Kind::kNotStarted;
  std::string reason = "rank " + std::to_string(failure->rank) +
                       (not_started ? " did not start: "
                        : signalled ? " died of signal "
                                    : " exited ") +
                       (not_started ? failure->detail : std::to_string(failure->code)) +
                       (signalled && failure->code == kKillSignal && failure->detail.empty()
                            ? ", which Muster did not send: memory may have run out"
                            : "");
  ++job.life.failures.count;
  // A command that cannot be executed fails the same way every time.
  if (not_started || job.life.failures.count > job.spec.retry.retries) {
    end_job(step, job, JobEvent::kFailed, code, std::move(reason));
    return;
  }
  queue_after_pause(step, job, attempt.token, std::move(reason), job.life.failures.count);
}

/// "refused by host c: disk: 12 MiB free of the 1024 MiB wanted in /var/lib/muster"
std::string abort_text(const Step& step, const Attempt& attempt) {
  const HostRecord* host = step.books.hosts.find(attempt.blamed);
  std::string text(text_of(attempt.cause));
  return host == nullptr || step.refusal.empty()
             ? text
             : text + " by host " + host->name + ": " + step.refusal;
}

void conclude(Step& step, Job& job, const Attempt& attempt) {
  step.books.attempts.class_known(attempt.token);
  const bool aborted =
      std::all_of(attempt.members.begin(), attempt.members.end(),
                  [](const MemberRecord& record) { return record.end == MemberEnd::kAborted; });
  if (aborted) {
    step.result.events.push_back({Severity::kInfo,
                                  "attempt_aborted",
                                  {{"job", text_of(job.id)},
                                   {"token", attempt.token.text()},
                                   {"cause", std::string(text_of(attempt.cause))},
                                   {"index", std::to_string(step.index.value())}}});
    if (!attempt.blamed.is_zero()) {
      step.books.jobs.leave_out(job, {attempt.blamed, step.books.cluster_time + kLeftOutFor});
    }
  }
  const bool by_order = attempt.cause == Cause::kSuspended || attempt.cause == Cause::kRequeued;
  if (attempt.completed) {
    end_job(step, job, JobEvent::kCompleted, 0, "completed");
  } else if (conclude_as_ordered(step, job, attempt)) {
    return;
  } else if (by_order) {
    queue_again(step, job, attempt.token, "resumed");  // The order was taken back while it stopped.
  } else if (aborted) {
    queue_again(step, job, attempt.token, abort_text(step, attempt));
  } else if (attempt.cause == Cause::kTimeLimit) {
    end_job(step, job, JobEvent::kFailed, kExitTimeLimit,
            "timed out: its limit is " + span_text(job.spec.limits.time_limit));
  } else if (attempt.cause == Cause::kPreempted) {
    queue_again(step, job, attempt.token, "preempted");
  } else if (awaits_verdict(attempt, step.books.cluster_time)) {
    step.books.attempts.await_class(attempt.token);
  } else {
    fail_or_retry(step, job, attempt);
  }
}

}  // namespace

void settle(Step& step, Attempt& attempt) {
  watch_failure(step.books, attempt);
  const bool ended = attempt.state == AttemptState::kEnded;
  Job* const owner = step.books.jobs.find(attempt.job);
  if (owner == nullptr || (!ended && !is_replaceable(step.books, attempt))) {
    return;
  }
  if (ended && attempt.replaced && mutant(SchedulerMutant::kDoubleRequeue) && !owner->has_ended()) {
    queue_again(step, *owner, attempt.token, "host_lost");
    return;
  }
  if (attempt.replaced || owner->life.current != attempt.token) {
    return;
  }
  attempt.replaced = !ended;
  conclude(step, *owner, attempt);
}

void settle_host(Step& step, const HostId& host) {
  const std::vector<Token> tokens = step.books.gpus.on(host).tokens;  // It shrinks meanwhile.
  for (const Token& token : tokens) {
    step.result.touched.push_back(token);
    settle(step, step.books.attempts.at(token));
  }
  settle_unclassed(step);
}

void settle_unclassed(Step& step) {
  const std::set<Token> tokens = step.books.attempts.unclassed();
  for (const Token& token : tokens) {
    settle(step, step.books.attempts.at(token));
  }
}

}  // namespace muster::scheduler
