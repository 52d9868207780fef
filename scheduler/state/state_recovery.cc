// The part of State that goes on where a quorum was lost (design 7): what its log held beyond ours
// is not known, and may have been carried out. Nothing that runs is ended for that; each host says
// what it runs, and attempts that this log does not know are adopted.

#include "scheduler/state/state.h"

#include <algorithm>

#include "gossip/base/check.h"
#include "scheduler/state/forgetting.h"

namespace muster::scheduler {
namespace {

/// Its registration, under this epoch, named the token.
bool lists(const HostRecord& host, const Token& token) {
  return !host.awaits_hello &&
         std::find(host.unadopted.begin(), host.unadopted.end(), token) != host.unadopted.end();
}

/// Who submitted it, of a job whose own number was given to another one here.
std::string adopted_as(JobId id) {
  return "adopted as job " + std::to_string(id.value());
}

}  // namespace

void State::begin_epoch(std::uint64_t counter, LogIndex committed) {
  CHECK(committed <= books_.applied);
  books_.epochs.begin(counter, {committed, books_.jobs.last()}, books_.cluster_time);
  books_.jobs.leave_out_numbers(kJobIdsSkipped);
  Step step{books_.applied, {}};
  const std::set<Token> live = books_.attempts.live();
  for (const Token& token : live) {
    if (books_.attempts.at(token).state == AttemptState::kReserved) {
      books_.epochs.doubt(token);
      feed(step, token, fact::Abort{Cause::kRecovered, HostId()});
    }
  }
  // An Abort, or the Decide itself, may be of the tail, where others had a Start, or another
  // Decide.
  for (auto known = attempts().rbegin(); known != attempts().rend(); ++known) {
    if (books_.epochs.unsure().size() < kUnsureMax && known->second.was_aborted()) {
      books_.epochs.doubt(known->first);
    }
  }
  books_.hosts.await_all();
}

bool State::awaits_hosts() const {
  return is_recovering() && books_.hosts.awaits_any();
}

bool State::may_be_adopted(const Token& token) const {
  if (token.epoch >= books_.epochs.counter()) {
    return false;
  }
  return books_.epochs.is_unsure(token) ||
         (token.index > books_.epochs.last_of(token.epoch).value() && attempt(token) == nullptr);
}

/// A gang as a Decide would have made it.
bool State::is_whole(const entry::Adopt& fact) const {
  std::set<HostId> hosts;
  std::set<GpuSlot> gpus;
  std::uint32_t ranks = 0;
  for (const Member& member : fact.detail.members) {
    if (member.first_rank != ranks || member.gpus.empty() || member.gpus.size() > kHostGpusMax) {
      return false;
    }
    ranks += static_cast<std::uint32_t>(member.gpus.size());
    hosts.insert(member.host);
    gpus.insert(member.gpus.begin(), member.gpus.end());
  }
  const GrantDetail& detail = fact.detail;
  return validate(detail.spec).has_value() && detail.job != JobId() && detail.attempt > 0 &&
         ranks == detail.spec.gpus && gpus.size() == ranks &&
         hosts.size() == detail.members.size() && hosts.count(fact.host) != 0;
}

/// The job whose attempt it is; nothing when this log never had it. A lost log may have given the
/// number to another client's job than this one did: the work of one is no end of the other.
const Job* State::job_of(const GrantDetail& detail) const {
  const Job* known = job(detail.job);
  if (known == nullptr || known->spec == detail.spec) {
    return known;
  }
  // An earlier attempt of it may have been adopted. No submitted job is without a key.
  const auto adopted_before = std::find_if(jobs().begin(), jobs().end(), [&](const auto& item) {
    const Job& other = item.second;
    return other.key.empty() && other.submitted_by == adopted_as(detail.job) &&
           other.spec == detail.spec;
  });
  return adopted_before == jobs().end() ? nullptr : &adopted_before->second;
}

State::Adoption State::adoption_by_job(const entry::Adopt& fact) const {
  const Job* known = job_of(fact.detail);
  if (known == nullptr) {
    // Above what was ever given it is nobody's. What was given here and is unknown has ended.
    const JobId id = fact.detail.job;
    const bool is_forgotten = job(id) == nullptr && books_.epochs.was_given(fact.token.epoch, id);
    return !is_forgotten && id <= books_.jobs.last() &&
                   jobs().size() < kJobsQueuedMax + kJobsEndedKept
               ? Adoption::kNow
               : Adoption::kNever;
  }
  // One attempt of a number was launched at most. It was not that of this log, if it is another.
  const bool is_unsure =
      !known->attempt_tokens.empty() && books_.epochs.is_unsure(known->attempt_tokens.back());
  const bool is_newer = fact.detail.attempt > known->attempts ||
                        (is_unsure && fact.detail.attempt == known->attempts);
  if (known->has_ended() || known->state == JobState::kSuspended || !is_newer) {
    return Adoption::kNever;
  }
  return known->current.is_none() ? Adoption::kNow : Adoption::kLater;
}

State::Adoption State::adoption(const entry::Adopt& fact) const {
  CHECK(may_be_adopted(fact.token));
  const Adoption by_job = is_whole(fact) ? adoption_by_job(fact) : Adoption::kNever;
  if (by_job != Adoption::kNow) {
    return by_job;
  }
  const bool has_stranger = std::any_of(
      fact.detail.members.begin(), fact.detail.members.end(), [&](const Member& member) {
        return member.host != fact.host && host(member.host) == nullptr;
      });
  if (has_stranger && !is_recovering()) {
    return Adoption::kNever;  // Its gang waits for it no longer than the queue did.
  }
  const HostRecord* teller = host(fact.host);
  if (teller == nullptr || teller->start != fact.start || !lists(*teller, fact.token)) {
    return Adoption::kLater;
  }
  for (const Member& member : fact.detail.members) {
    const HostRecord* there = host(member.host);
    if (there == nullptr) {
      return Adoption::kLater;
    }
    if (!there->awaits_hello && !lists(*there, fact.token)) {
      continue;  // It is over there: others may have its GPUs.
    }
    for (const GpuSlot& gpu : member.gpus) {
      if (books_.gpus.is_held(gpu.uuid)) {
        return Adoption::kLater;
      }
    }
  }
  return Adoption::kNow;
}

/// A member whose host registered without it is over there: its end was logged and is lost.
Attempt State::adopted(const entry::Adopt& fact) const {
  Attempt attempt;
  attempt.token = fact.token;
  attempt.job = fact.detail.job;
  attempt.number = fact.detail.attempt;
  attempt.keep = fact.detail.spec.keep_when_isolated;
  attempt.hold = fact.detail.hold;
  attempt.grace = fact.detail.spec.grace;
  attempt.reserved_at = books_.cluster_time;
  attempt.started_at = books_.cluster_time;
  attempt.state = AttemptState::kStarted;
  for (const Member& member : fact.detail.members) {
    MemberRecord record{member, true, MemberEnd::kNone, LogIndex(), {}};
    const HostRecord& there = *host(member.host);
    if (!there.awaits_hello) {
      record.member.start = there.start;
      record.end = lists(there, fact.token) ? MemberEnd::kNone : MemberEnd::kLost;
    }
    attempt.members.push_back(std::move(record));
  }
  return attempt;
}

void State::on(Step& step, const entry::Adopt& fact) {
  if (!may_be_adopted(fact.token) || adoption(fact) != Adoption::kNow) {
    step.reject(ErrorCode::kConflict, "nothing to adopt");
    return;
  }
  Attempt attempt = adopted(fact);
  const Job* known = job_of(fact.detail);
  if (known == nullptr) {
    const bool is_free = job(fact.detail.job) == nullptr;
    Job lost;
    lost.id = is_free ? fact.detail.job : books_.jobs.give_number();
    lost.spec = fact.detail.spec;
    lost.submitted_by = is_free ? "adopted" : adopted_as(fact.detail.job);
    lost.submitted_at = books_.cluster_time;
    Job& placed = books_.jobs.add(std::move(lost));
    keep_submitted(books_, step, placed);
    move(step, placed, JobEvent::kSubmitted, "adopted", Token());
    known = &placed;
  }
  Job& owner = books_.jobs.at(known->id);
  attempt.job = owner.id;
  if (books_.epochs.trust(fact.token)) {
    // What this log had decided under the token was not launched: another was, or the same one
    // comes back as STARTED.
    forget_unsure(books_, fact.token);
  }
  books_.hosts.forget_unadopted(fact.token);
  bind(step, owner, std::move(attempt));
  move(step, owner, JobEvent::kStarted, "adopted", fact.token);
  step.result.capacity_changed = true;
  step.result.events.push_back({Severity::kWarn,
                                "attempt_adopted",
                                {{"job", std::to_string(owner.id.value())},
                                 {"token", fact.token.text()},
                                 {"host", fact.host.short_hex()},
                                 {"index", std::to_string(step.index.value())}}});
}

}  // namespace muster::scheduler
