#include "scheduler/state/preemption.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "scheduler/state/attempt_facts.h"
#include "scheduler/state/decision.h"
#include "scheduler/state/preemption_rules.h"

namespace muster::scheduler {
namespace {

std::string text_of_victim(const Attempt& attempt) {
  return "job " + text_of(attempt.job);
}

/// A RESERVED attempt has nothing to lose, so only one that gave way before is protected.
Duration protected_until(const Attempt& attempt, const Job& job) {
  if (attempt.state == AttemptState::kStarted) {
    return attempt.started_at + protection_after(job.life.evictions);
  }
  return job.life.evictions == 0 ? Duration::zero()
                                 : attempt.reserved_at + protection_after(job.life.evictions);
}

/// As far as the victim alone is concerned.
std::string why_not_victim(const Books& books, const Token& token) {
  const Attempt* const attempt = books.attempts.find(token);
  const Job* const job = attempt == nullptr ? nullptr : books.jobs.find(attempt->job);
  if (job == nullptr || job->life.current != token ||
      (attempt->state != AttemptState::kReserved && attempt->state != AttemptState::kStarted)) {
    return "attempt " + token.text() + " is over or stopping";
  }
  const std::string name = text_of_victim(*attempt);
  if (books.preemptions.of_victim(token) != nullptr) {
    return name + " gives way already";
  }
  if (job->order_in_force() != JobOrder::kNone) {
    return name + " is to stop already";
  }
  if (attempt->charge() == 0) {
    return name + " holds nothing any more";
  }
  if (books.cluster_time < protected_until(*attempt, *job)) {
    return name + " is protected after its start";
  }
  for (const MemberRecord& record : attempt->members) {
    const HostRecord* const host = books.hosts.find(record.member.host);
    if (record.end == MemberEnd::kNone && (host == nullptr || !host->is_reachable())) {
      return name + " has a host that is not reachable";
    }
  }
  return "";
}

/// Whether the victims leave something where the job will be.
bool are_all_of_use(const Books& books, const entry::Preempt& fact) {
  std::set<HostId> hosts;
  for (const Member& member : fact.members) {
    hosts.insert(member.host);
  }
  return std::all_of(fact.victims.begin(), fact.victims.end(), [&](const Token& token) {
    const Attempt& attempt = *books.attempts.find(token);
    return std::any_of(attempt.members.begin(), attempt.members.end(), [&](const auto& record) {
      return record.end == MemberEnd::kNone && hosts.contains(record.member.host);
    });
  });
}

/// Precondition: the members are on known hosts.
Preemption preemption_of(const Step& step, const Job& job, const entry::Preempt& fact) {
  Preemption preemption;
  preemption.job = job.id;
  preemption.token = Token{step.books.epochs.counter(), step.index.value()};
  preemption.members = fact.members;
  preemption.victims = {fact.victims.begin(), fact.victims.end()};
  const GangCharge charge = charge_of_gang(step.books, job, fact.members);
  preemption.share = charge.share;
  preemption.charge = charge.sum;
  preemption.tier = job.spec.tier;
  preemption.at = step.books.cluster_time;
  Duration grace{0};
  for (const Token& token : fact.victims) {
    grace = std::max(grace, step.books.attempts.find(token)->grace);
  }
  preemption.until = preemption.at + grace + kPreemptionMargin;
  return preemption;
}

/// Its victims that are not over claim again what they hold, and may be guaranteed as others may.
void return_claims(Books& books, const Preemption& preemption) {
  for (const Token& token : preemption.victims) {
    const Attempt& attempt = books.attempts.at(token);
    if (const std::uint64_t charge = attempt.charge(); charge != 0) {
      books.guarantees.add(token, books.queues.number_of(attempt.share.queue), attempt.share.pool,
                           charge);
    }
  }
}

void end_preemption(Step& step, JobId job, const std::string& why) {
  Books& books = step.books;
  const Preemption ended = books.preemptions.take(job);
  books.guarantees.remove(ended.token, ended.charge);
  return_claims(books, ended);
  step.result.capacity_changed = true;
  step.result.touched.insert(step.result.touched.end(), ended.victims.begin(), ended.victims.end());
  step.result.events.push_back(
      {Severity::kInfo,
       "preemption_ended",
       {{"job", text_of(job)}, {"why", why}, {"index", std::to_string(step.index.value())}}});
}

/// Whether the job may still start as it was planned.
bool may_go_on(const Job* job, const Preemption& preemption) {
  return job != nullptr && job->is_pending() && job->spec.tier == preemption.tier &&
         job->spec.queue == preemption.share.queue;
}

}  // namespace

std::string why_not(const Books& books, const entry::Preempt& fact) {
  const Job* const job = books.jobs.find(fact.job);
  if (!books.queues.is_set()) {
    return "nobody has set queues";
  }
  if (job == nullptr || !job->is_pending() || !job->life.current.is_none() ||
      fact.attempt != job->life.attempts + 1) {
    return "the job does not wait";
  }
  if (books.preemptions.find(fact.job) != nullptr) {
    return "others give way to the job already";
  }
  if (books.preemptions.all().size() >= kPreemptionsMax) {
    return "too many preemptions at a time";
  }
  const bool is_ordered = std::adjacent_find(fact.victims.begin(), fact.victims.end(),
                                             std::greater_equal<>()) == fact.victims.end();
  if (fact.victims.empty() || fact.victims.size() > kVictimsMax || !is_ordered) {
    return "the victims are not a list of attempts";
  }
  if (fact.members.size() > kPreemptMembersMax) {
    return "the job needs too many hosts";
  }
  std::vector<Taken> taken;
  for (const Token& token : fact.victims) {
    if (std::string why = why_not_victim(books, token); !why.empty()) {
      return why;
    }
    taken.push_back({token, books.jobs.find(books.attempts.find(token)->job)->spec.tier});
  }
  const std::set<Token> leaving(fact.victims.begin(), fact.victims.end());
  if (std::string why = why_not_gang(books, *job, fact.members, leaving); !why.empty()) {
    return why;
  }
  if (!are_all_of_use(books, fact)) {
    return "a victim leaves nothing where the job will be";
  }
  const GangCharge charge = charge_of_gang(books, *job, fact.members);
  const Taker taker{books.queues.number_of(charge.share.queue), charge.share.pool, job->spec.tier,
                    charge.sum};
  const Taken* const refused = first_refused(books.queues, books.guarantees, taker, taken);
  return refused == nullptr ? ""
                            : text_of_victim(*books.attempts.find(refused->token)) +
                                  " may not be taken by the job";
}

void on_preempt(Step& step, entry::Preempt& fact) {
  Books& books = step.books;
  if (std::string why = why_not(books, fact); !why.empty()) {
    step.reject(ErrorCode::kConflict, std::move(why));
    step.result.capacity_changed = true;
    return;
  }
  const Preemption preemption = preemption_of(step, *books.jobs.find(fact.job), fact);
  books.guarantees.replace(fact.victims, preemption.token,
                           books.queues.number_of(preemption.share.queue), preemption.share.pool,
                           preemption.charge);
  books.preemptions.add(preemption);
  step.result.job = fact.job;
  step.result.capacity_changed = true;
  for (const Token& token : fact.victims) {
    const Attempt& attempt = books.attempts.at(token);
    Job& job = books.jobs.at(attempt.job);
    step.result.touched.push_back(token);
    step.result.events.push_back({Severity::kInfo,
                                  "preempted",
                                  {{"job", text_of(job.id)},
                                   {"token", token.text()},
                                   {"for", text_of(fact.job)},
                                   {"index", std::to_string(step.index.value())}}});
    if (attempt.state == AttemptState::kReserved) {
      ++job.life.evictions;
      feed(step, token, fact::Abort{Cause::kPreempted, HostId()});
    }
  }
}

void settle_preemptions(Step& step) {
  PreemptionBook& preemptions = step.books.preemptions;
  if (preemptions.all().empty()) {
    return;
  }
  for (const Token& token : step.result.touched) {
    if (!step.books.attempts.is_live(token)) {
      preemptions.victim_over(token);
    }
  }
  const std::vector<JobId> moved = step.result.jobs_moved;
  for (const JobId id : moved) {
    const Preemption* const known = preemptions.find(id);
    if (known != nullptr && !may_go_on(step.books.jobs.find(id), *known)) {
      end_preemption(step, id, "the job does not wait as it did");
    }
  }
}

void end_old_preemptions(Step& step) {
  std::vector<JobId> old;
  for (const auto& [job, preemption] : step.books.preemptions.all()) {
    if (preemption.until <= step.books.cluster_time) {
      old.push_back(job);
    }
  }
  for (const JobId job : old) {
    end_preemption(step, job, "the job could not start in time");
  }
}

void end_preemptions(Step& step) {
  while (!step.books.preemptions.all().empty()) {
    end_preemption(step, step.books.preemptions.all().begin()->first,
                   "the queues, or the epoch, changed");
  }
}

void claim_preempted(Step& step, const Attempt& attempt) {
  Books& books = step.books;
  const Preemption ended = books.preemptions.take(attempt.job);
  if (const std::uint64_t charge = attempt.charge(); charge == 0) {
    books.guarantees.remove(ended.token, ended.charge);
  } else {
    books.guarantees.replace({&ended.token, 1}, attempt.token,
                             books.queues.number_of(attempt.share.queue), attempt.share.pool,
                             charge);
  }
  return_claims(books, ended);
  step.result.touched.insert(step.result.touched.end(), ended.victims.begin(), ended.victims.end());
}

}  // namespace muster::scheduler
