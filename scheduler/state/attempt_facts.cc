#include "scheduler/state/attempt_facts.h"

#include <algorithm>
#include <string>
#include <vector>

#include "gossip/base/check.h"
#include "scheduler/protocol/mutants.h"
#include "scheduler/state/job_moves.h"
#include "scheduler/state/outcomes.h"

namespace muster::scheduler {
namespace {

void free_member(Books& books, const Attempt& attempt, const HostId& host) {
  const MemberRecord* record = attempt.find(host);
  CHECK(record != nullptr);
  CHECK(record->end != MemberEnd::kNone);
  books.gpus.free(attempt.token, record->member);
  if (!mutant(SchedulerMutant::kHeldAfterExpire) || record->end != MemberEnd::kExpired) {
    books.shares.remove(books.queues, attempt.share, record->charge);
  }
  Job* const job = books.jobs.find(attempt.job);
  const HostRecord* known = books.hosts.find(host);
  if (job != nullptr && known != nullptr) {
    const std::uint64_t gpus = record->member.gpus.size();
    job->history.gpu_ms += gpu_ms(books.cluster_time - attempt.reserved_at, gpus);
    books.usage.charge(job->spec.user, known->gpu_type, attempt.reserved_at, books.cluster_time,
                       gpus);
  }
}

/// An attempt that gives way to a job claims no guarantee any more.
void lower_claim(Books& books, const Attempt& attempt, const std::vector<HostId>& freed) {
  std::uint64_t charge = 0;
  for (const HostId& host : freed) {
    charge += attempt.find(host)->charge;
  }
  if (books.preemptions.of_victim(attempt.token) == nullptr) {
    books.guarantees.remove(attempt.token, charge);
  }
}

void follow(Step& step, Attempt& attempt, const Outcome& outcome) {
  step.result.touched.push_back(attempt.token);
  for (const HostId& host : outcome.freed) {
    free_member(step.books, attempt, host);
    step.result.holdings_changed.push_back(host);
    step.result.capacity_changed = true;
  }
  if (!outcome.freed.empty()) {
    step.result.shares_changed.push_back(attempt.share);
    lower_claim(step.books, attempt, outcome.freed);
  }
  settle(step, attempt);
  const Job* owner = step.books.jobs.find(attempt.job);
  const bool remembered =
      owner != nullptr &&
      std::find(owner->life.attempt_tokens.begin(), owner->life.attempt_tokens.end(),
                attempt.token) != owner->life.attempt_tokens.end();
  if (attempt.state == AttemptState::kEnded && !remembered) {
    step.books.attempts.forget(attempt.token);
  }
}

}  // namespace

Outcome feed(Step& step, const Token& token, const Fact& fact) {
  Attempt* const found = step.books.attempts.find(token);
  if (found == nullptr) {
    // It ended so long ago that it was forgotten.
    step.books.attempts.count(Edge::kIgnoredEnded);
    return Outcome{};
  }
  Attempt& attempt = *found;
  const Outcome outcome = step.books.attempts.feed(attempt, fact);
  step.result.events.push_back(
      {Severity::kDebug,
       "attempt_edge",
       {{"job", text_of(attempt.job)},
        {"token", token.text()},
        {"edge", std::string(text_of(outcome.edge))},
        {"then", outcome.has_then ? std::string(text_of(outcome.then)) : "-"},
        {"state", std::string(text_of(attempt.state))},
        {"index", std::to_string(step.index.value())}}});
  follow(step, attempt, outcome);
  return outcome;
}

void on_ready(Step& step, const entry::Ready& fact) {
  feed(step, fact.token, fact::Ready{fact.host, fact.start, fact.master});
}

void on_start(Step& step, const entry::Start& fact) {
  const Outcome outcome = feed(step, fact.token, fact::Start{step.books.cluster_time});
  if (outcome.edge == Edge::kStarted) {
    Job& job = step.books.jobs.at(step.books.attempts.at(fact.token).job);
    job.history.started_unix_ms = step.unix_ms;
    move_job(step, job, JobEvent::kStarted, "all_ready", fact.token);
  }
}

void on_stop(Step& step, const entry::Stop& fact) {
  if (fact.cause == Cause::kPreempted && step.books.preemptions.of_victim(fact.token) == nullptr) {
    step.reject(ErrorCode::kConflict, "the attempt does not give way to a job any more");
    return;
  }
  const Attempt* before = step.books.attempts.find(fact.token);
  if (before != nullptr && before->state == AttemptState::kStarted) {
    Job& job = step.books.jobs.at(before->job);
    job.life.evictions += fact.cause == Cause::kPreempted ? 1 : 0;
    move_job(step, job, JobEvent::kStopLogged, std::string(text_of(fact.cause)), fact.token);
  }
  feed(step, fact.token, fact::Stop{fact.cause});
}

void on_finish(Step& step, const entry::Finish& fact) {
  const Outcome outcome =
      feed(step, fact.token, fact::Finish{fact.host, fact.start, fact.results, fact.last});
  const bool has_freed =
      std::find(outcome.freed.begin(), outcome.freed.end(), fact.host) != outcome.freed.end();
  if (has_freed && !fact.withheld.empty() &&
      step.books.hosts.withhold(fact.host, fact.start, fact.withheld)) {
    step.result.hosts_changed.push_back(fact.host);
  }
  if (outcome.edge == Edge::kFinishAfterExpire) {
    step.reject(ErrorCode::kConflict, "the host's share was over already");
  }
}

void on_abort(Step& step, const entry::Abort& fact) {
  step.refusal = fact.why;
  feed(step, fact.token, fact::Abort{fact.cause, fact.host});
}

void on_condemn(Step& step, const entry::Condemn& fact) {
  for (const Token& token : fact.tokens) {
    feed(step, token, fact::Condemn{fact.host, step.index});
    step.result.events.push_back({Severity::kWarn,
                                  "host_condemned",
                                  {{"host", fact.host.short_hex()},
                                   {"token", token.text()},
                                   {"index", std::to_string(step.index.value())}}});
  }
}

void on_pardon(Step& step, const entry::Pardon& fact) {
  for (const Token& token : fact.tokens) {
    feed(step, token, fact::Pardon{fact.host});
    step.result.events.push_back({Severity::kInfo,
                                  "host_pardoned",
                                  {{"host", fact.host.short_hex()},
                                   {"token", token.text()},
                                   {"index", std::to_string(step.index.value())}}});
  }
}

void on_expire(Step& step, const entry::Expire& fact) {
  const Outcome outcome = feed(step, fact.token, fact::Expire{fact.host, fact.condemn});
  if (outcome.edge != Edge::kExpired) {
    step.reject(ErrorCode::kConflict, "no such condemnation in force");
    return;
  }
  step.result.events.push_back({Severity::kWarn,
                                "host_expired",
                                {{"host", fact.host.short_hex()},
                                 {"token", fact.token.text()},
                                 {"condemn", std::to_string(fact.condemn.value())},
                                 {"index", std::to_string(step.index.value())}}});
}

}  // namespace muster::scheduler
