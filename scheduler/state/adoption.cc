#include "scheduler/state/adoption.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "gossip/base/check.h"
#include "scheduler/state/attempt_facts.h"
#include "scheduler/state/decision.h"
#include "scheduler/state/eligibility_rules.h"
#include "scheduler/state/forgetting.h"
#include "scheduler/state/job_moves.h"
#include "scheduler/state/preemption.h"
#include "scheduler/state/submission.h"

namespace muster::scheduler {
namespace {

/// Whether the registration of the host under this epoch named the token.
bool lists(const HostRecord& host, const Token& token) {
  return !host.recovery.awaits_hello &&
         std::find(host.recovery.unadopted.begin(), host.recovery.unadopted.end(), token) !=
             host.recovery.unadopted.end();
}

/// Job::submitted_by of an adopted job whose own number belongs to another job here.
std::string adopted_as(JobId id) {
  return "adopted as job " + text_of(id);
}

/// Whether the gang is one that a Decide could have made.
bool is_whole(const entry::Adopt& fact) {
  std::set<HostId> hosts;
  std::set<GpuSlot> gpus;
  std::size_t given = 0;
  std::uint32_t ranks = 0;
  for (const Member& member : fact.detail.members) {
    if (member.first_rank != ranks || member.rank_count() == 0 ||
        member.rank_count() > kHostUnitsMax || member.gpus.size() > kHostGpusMax) {
      return false;
    }
    ranks += member.rank_count();
    given += member.gpus.size();
    hosts.insert(member.host);
    gpus.insert(member.gpus.begin(), member.gpus.end());
  }
  const GrantDetail& detail = fact.detail;
  return validate(detail.spec).has_value() && !detail.spec.array.has_value() &&
         detail.job != JobId() && detail.attempt > 0 && given == detail.spec.request.gpus &&
         gpus.size() == given && (given != 0 || ranks == detail.spec.request.ranks) &&
         hosts.size() == detail.members.size() && hosts.count(fact.host) != 0;
}

/// Whether both are of one job. Operators may have moved the job to another queue or tier, or
/// changed its time limit, since its agent heard of it: these do not count.
bool are_of_one_job(const JobSpec& ours, JobSpec theirs) {
  theirs.queue = ours.queue;
  theirs.tier = ours.tier;
  theirs.limits.time_limit = ours.limits.time_limit;
  return ours == theirs;
}

/// The job of the attempt; null if this log never had it. A lost log may have given the number to
/// the job of another client: the end of one is not the end of the other.
const Job* job_of(const Books& books, const GrantDetail& detail) {
  const Job* known = books.jobs.find(detail.job);
  if (known == nullptr || are_of_one_job(known->spec, detail.spec)) {
    return known;
  }
  // An earlier attempt of it may have been adopted. No submitted job is without a key.
  const auto adopted_before =
      std::find_if(books.jobs.all().begin(), books.jobs.all().end(), [&](const auto& item) {
        const Job& other = item.second;
        return other.key.empty() && other.submitted_by == adopted_as(detail.job) &&
               are_of_one_job(other.spec, detail.spec);
      });
  return adopted_before == books.jobs.all().end() ? nullptr : &adopted_before->second;
}

Adoption adoption_by_job(const Books& books, const entry::Adopt& fact) {
  const Job* known = job_of(books, fact.detail);
  if (known == nullptr) {
    // No job has a number above the last. A job whose number was given here and is unknown ended.
    const JobId id = fact.detail.job;
    const TaskArray* array = is_task(id) ? books.arrays.find(array_of(id)) : nullptr;
    // A task of a known array began in the lost part of the log, if not here.
    const bool is_forgotten = array != nullptr
                                  ? !array->may_adopt(index_of_task(id))
                                  : books.jobs.find(id) == nullptr &&
                                        books.epochs.was_given(fact.token.epoch, array_of(id));
    return !is_forgotten && array_of(id) <= books.jobs.last() &&
                   books.jobs.all().size() < kJobsQueuedMax + kJobsEndedKept
               ? Adoption::kNow
               : Adoption::kNever;
  }
  // At most one attempt of each number was launched: if it is this one, that of this log was not.
  const bool is_unsure = !known->life.attempt_tokens.empty() &&
                         books.epochs.is_unsure(known->life.attempt_tokens.back());
  const bool is_newer = fact.detail.attempt > known->life.attempts ||
                        (is_unsure && fact.detail.attempt == known->life.attempts);
  if (known->has_ended() || known->life.state == JobState::kSuspended || !is_newer) {
    return Adoption::kNever;
  }
  return known->life.current.is_none() ? Adoption::kNow : Adoption::kLater;
}

/// A member whose host registered without it is over there: its end was logged and is lost.
Attempt adopted(const Books& books, const entry::Adopt& fact) {
  Attempt attempt;
  attempt.token = fact.token;
  attempt.job = fact.detail.job;
  attempt.number = fact.detail.attempt;
  attempt.keep = fact.detail.spec.limits.keep_when_isolated;
  attempt.hold = fact.detail.hold;
  attempt.grace = fact.detail.spec.limits.grace;
  attempt.reserved_at = books.cluster_time;
  attempt.started_at = books.cluster_time;
  attempt.state = AttemptState::kStarted;
  for (const Member& member : fact.detail.members) {
    MemberRecord record{member, true, MemberEnd::kNone, LogIndex(), {}};
    const HostRecord& there = *books.hosts.find(member.host);
    if (!there.recovery.awaits_hello) {
      record.member.start = there.start;
      record.end = lists(there, fact.token) ? MemberEnd::kNone : MemberEnd::kLost;
    }
    attempt.members.push_back(std::move(record));
  }
  return attempt;
}

/// Adds the job that the attempt proves. It gets another number if this log gave its own away.
Job& add_lost_job(Step& step, const GrantDetail& detail) {
  JobBook& jobs = step.books.jobs;
  const bool is_free = jobs.find(detail.job) == nullptr;
  Job lost;
  lost.id = is_free ? detail.job : jobs.give_number();
  lost.spec = detail.spec;
  lost.spec.eligibility = {};
  lost.submitted_by = is_free ? "adopted" : adopted_as(detail.job);
  TaskArray* const array = is_task(lost.id) ? step.books.arrays.find(array_of(lost.id)) : nullptr;
  if (array != nullptr) {
    array->adopt(index_of_task(lost.id));
  }
  // The agent may be of a version before queues, and the tree another one than that of the lost
  // log.
  const QueueBook& queues = step.books.queues;
  const QueueNumber leaf =
      leaf_charged(queues, array != nullptr ? array->spec.queue : lost.spec.queue);
  lost.spec.queue = queues.at(leaf).node.path;
  lost.spec.tier = lost.spec.tier == Tier::kNone ? queues.tiers(leaf).front() : lost.spec.tier;
  return add_job(step, std::move(lost), "adopted");
}

}  // namespace

bool may_be_adopted(const Books& books, const Token& token) {
  if (token.epoch >= books.epochs.counter()) {
    return false;
  }
  return books.epochs.is_unsure(token) ||
         (token.index > books.epochs.last_of(token.epoch).value() &&
          books.attempts.find(token) == nullptr);
}

Adoption adoption(const Books& books, const entry::Adopt& fact) {
  CHECK(may_be_adopted(books, fact.token));
  const Adoption by_job = is_whole(fact) ? adoption_by_job(books, fact) : Adoption::kNever;
  if (by_job != Adoption::kNow) {
    return by_job;
  }
  const bool has_stranger = std::any_of(
      fact.detail.members.begin(), fact.detail.members.end(), [&](const Member& member) {
        return member.host != fact.host && books.hosts.find(member.host) == nullptr;
      });
  if (has_stranger && !books.epochs.is_recovering(books.cluster_time)) {
    return Adoption::kNever;  // The gang waits for a member no longer than the queue did.
  }
  const HostRecord* teller = books.hosts.find(fact.host);
  if (teller == nullptr || teller->start != fact.start || !lists(*teller, fact.token)) {
    return Adoption::kLater;
  }
  for (const Member& member : fact.detail.members) {
    const HostRecord* there = books.hosts.find(member.host);
    if (there == nullptr) {
      return Adoption::kLater;
    }
    if (!there->recovery.awaits_hello && !lists(*there, fact.token)) {
      continue;  // The share there is over: another attempt may have its GPUs.
    }
    for (const GpuSlot& gpu : member.gpus) {
      if (books.gpus.is_held(gpu.uuid)) {
        return Adoption::kLater;
      }
    }
  }
  return Adoption::kNow;
}

void begin_epoch(Books& books, std::uint64_t counter, LogIndex committed) {
  CHECK(committed <= books.applied);
  books.epochs.begin(counter, {committed, books.jobs.last()}, books.cluster_time);
  books.jobs.leave_out_numbers(kJobIdsSkipped);
  Step step{books, books.applied};
  end_preemptions(step);
  const std::set<Token> live = books.attempts.live();
  for (const Token& token : live) {
    if (books.attempts.at(token).state == AttemptState::kReserved) {
      books.epochs.doubt(token);
      feed(step, token, fact::Abort{Cause::kRecovered, HostId()});
    }
  }
  // An Abort, or the Decide itself, may lie in the tail, where other voters had a Start, or
  // another Decide.
  for (auto known = books.attempts.all().rbegin(); known != books.attempts.all().rend(); ++known) {
    if (books.epochs.unsure().size() < kUnsureMax && known->second.was_aborted()) {
      books.epochs.doubt(known->first);
    }
  }
  settle_waits(step);
  books.hosts.await_all();
}

void on_adopt(Step& step, const entry::Adopt& fact) {
  Books& books = step.books;
  if (!may_be_adopted(books, fact.token) || adoption(books, fact) != Adoption::kNow) {
    step.reject(ErrorCode::kConflict, "nothing to adopt");
    return;
  }
  Attempt attempt = adopted(books, fact);
  const Job* known = job_of(books, fact.detail);
  Job& owner = known == nullptr ? add_lost_job(step, fact.detail) : books.jobs.at(known->id);
  attempt.job = owner.id;
  if (books.epochs.trust(fact.token)) {
    // The attempt that this log had decided under the token was not launched: another one was, or
    // the same one comes back as STARTED.
    forget_unsure(books, fact.token);
  }
  books.hosts.forget_unadopted(fact.token);
  bind(step, owner, std::move(attempt));
  owner.history.started_unix_ms = step.unix_ms;
  move_job(step, owner, JobEvent::kStarted, "adopted", fact.token);
  step.result.capacity_changed = true;
  step.result.events.push_back({Severity::kWarn,
                                "attempt_adopted",
                                {{"job", text_of(owner.id)},
                                 {"token", fact.token.text()},
                                 {"host", fact.host.short_hex()},
                                 {"index", std::to_string(step.index.value())}}});
}

}  // namespace muster::scheduler
