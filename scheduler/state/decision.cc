#include "scheduler/state/decision.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "gossip/base/check.h"
#include "scheduler/protocol/mutants.h"
#include "scheduler/state/charge.h"
#include "scheduler/state/eligibility_rules.h"
#include "scheduler/state/forgetting.h"
#include "scheduler/state/job_moves.h"
#include "scheduler/state/preemption.h"

namespace muster::scheduler {
namespace {

/// CPUs and memory of the host that are held by others than the attempts that `is_gone` says.
template <class IsGone>
HeldAmounts held_beside(const Books& books, const HostId& host, IsGone is_gone) {
  const HostHoldings& there = books.gpus.on(host);
  HeldAmounts held = there.amounts;
  for (const Token& token : there.tokens) {
    const Attempt* const attempt = is_gone(token) ? books.attempts.find(token) : nullptr;
    const MemberRecord* const record = attempt == nullptr ? nullptr : attempt->find(host);
    if (record != nullptr && record->end == MemberEnd::kNone) {
      held.cpus -= std::min<std::uint64_t>(held.cpus, record->member.cpus);
      held.memory_mb -= std::min(held.memory_mb, record->member.memory_mb);
    }
  }
  return held;
}

/// The part of the host that is kept for other jobs than this one.
struct KeptThere {
  std::set<GpuUuid> gpus;
  HeldAmounts amounts;
};
KeptThere kept_on(const Books& books, const HostId& host, JobId job) {
  KeptThere kept;
  for (const JobId other : books.preemptions.on(host)) {
    if (other == job) {
      continue;
    }
    for (const Member& member : books.preemptions.find(other)->members) {
      if (member.host == host) {
        kept.amounts.cpus += member.cpus;
        kept.amounts.memory_mb += member.memory_mb;
        for (const GpuSlot& gpu : member.gpus) {
          kept.gpus.insert(gpu.uuid);
        }
      }
    }
  }
  return kept;
}

/// A host that shrank may hold more than it has: a member that asks for 0 of an amount fits.
bool has_amounts(const HostRecord& record, const HeldAmounts& held, const Member& member) {
  return (member.cpus == 0 || held.cpus + member.cpus <= std::uint64_t{record.cpus} * kOneCpu) &&
         (member.memory_mb == 0 || held.memory_mb + member.memory_mb <= record.memory_mb);
}

/// Whether the amounts are free for the job now, without `leaving`, and stay so when other jobs get
/// the part that is kept for them.
bool are_amounts_free(const Books& books, const HostRecord& record, const Job& job,
                      const Member& member, const std::set<Token>& leaving, const KeptThere& kept) {
  const HeldAmounts now = leaving.empty() ? books.gpus.on(record.id).amounts
                                          : held_beside(books, record.id, [&](const Token& token) {
                                              return leaving.contains(token);
                                            });
  if (!has_amounts(record, now, member)) {
    return false;
  }
  if (books.preemptions.on(record.id).empty()) {
    return true;
  }
  HeldAmounts later = held_beside(books, record.id, [&](const Token& token) {
    const Preemption* const other = books.preemptions.of_victim(token);
    return leaving.contains(token) || (other != nullptr && other->job != job.id);
  });
  later.cpus += kept.amounts.cpus;
  later.memory_mb += kept.amounts.memory_mb;
  return has_amounts(record, later, member);
}

/// Adds the numbers of the member's GPUs to `gpus`.
std::string why_not_member(const Books& books, const Job& job, const Member& member,
                           const std::set<Token>& leaving, std::vector<GpuNumber>& gpus) {
  const HostRecord* record = books.hosts.find(member.host);
  if (record == nullptr || record->start != member.start) {
    return "a member's pair is not registered";
  }
  const bool offers_ranks = job.spec.request.gpus != 0 || record->cpus != 0;
  if (!record->takes_work() || member.rank_count() == 0 || !offers_ranks ||
      member.rank_count() > kHostUnitsMax) {
    return "a member takes no such work";
  }
  if (!record->suits(job.spec)) {
    return "a member is of another kind";
  }
  const KeptThere kept = kept_on(books, member.host, job.id);
  if (!are_amounts_free(books, *record, job, member, leaving, kept)) {
    return "a member has too few CPUs or too little memory free";
  }
  if (!books.gpus.add_if_free(*record, member, leaving, gpus)) {
    return "a gpu is not free";
  }
  const bool has_kept =
      std::any_of(member.gpus.begin(), member.gpus.end(),
                  [&](const GpuSlot& gpu) { return kept.gpus.contains(gpu.uuid); });
  return has_kept ? "a gpu is kept for another job" : "";
}

template <class Value>
bool has_any_twice(std::vector<Value>& values) {
  std::sort(values.begin(), values.end());
  return std::adjacent_find(values.begin(), values.end()) != values.end();
}

/// Whether the member has as many GPUs and ranks as its request allows on one host.
bool is_as_asked(const Request& request, const Member& member) {
  if (request.gpus == 0) {
    return member.gpus.empty() &&
           (request.ranks_per_host == 0 || member.ranks == request.ranks_per_host);
  }
  return member.ranks == request.ranks_per_host &&
         (request.gpus_per_host == 0 ? !member.gpus.empty()
                                     : member.gpus.size() == request.gpus_per_host);
}

/// As registered; a host of no size if it is not known.
const HostRecord& host_of(const Books& books, const Member& member) {
  static const HostRecord kUnknown;
  const HostRecord* known = books.hosts.find(member.host);
  return known == nullptr ? kUnknown : *known;
}

AttemptShare share_of(const Books& books, const Job* owner, const Member& first) {
  const std::string_view path = owner == nullptr ? kDefaultQueue : owner->spec.queue;
  const QueueNode& leaf = books.queues.at(leaf_charged(books.queues, path)).node;
  AttemptShare share;
  share.queue = leaf.path;
  share.user = leaf.is_fifo || owner == nullptr ? "" : owner->spec.user;
  share.pool = pool_on(host_of(books, first), owner == nullptr ? JobSpec() : owner->spec);
  return books.shares.settled(books.queues, std::move(share));
}

/// "32 h100": the max of that queue which leaves `room` thousandths of the pool.
std::string max_text(const Books& books, const ShareBook& shares, QueueNumber queue,
                     std::string_view pool, std::uint64_t room) {
  constexpr std::uint64_t kThousandthsOfOne = 1000;
  const std::uint64_t of_pool = shares.share(queue, pool).held;
  const std::uint64_t of_all = shares.held_gpus(queue);
  for (const auto& [type, max] : books.queues.at(queue).node.max) {
    const bool is_own = type == (pool == kCpuPool ? kCpus : pool);
    const bool is_of_all = type == kAllGpus && pool != kCpuPool;
    const std::uint64_t limit = max * kThousandthsOfOne;
    if ((is_own || is_of_all) && limit - std::min(limit, is_own ? of_pool : of_all) == room) {
      return std::to_string(max) + " " + type;
    }
  }
  return "";
}

/// The shares without `leaving`; with `is_later` also with other jobs in the place of the attempts
/// that give way to them.
ShareBook shares_without(const Books& books, const Job& job, const std::set<Token>& leaving,
                         bool is_later) {
  ShareBook shares = books.shares;
  const auto remove = [&](const Token& token) {
    const Attempt& attempt = *books.attempts.find(token);
    if (const std::uint64_t charge = attempt.charge(); charge != 0) {
      shares.remove(books.queues, attempt.share, charge);
    }
  };
  std::for_each(leaving.begin(), leaving.end(), remove);
  for (const auto& [other, preemption] : books.preemptions.all()) {
    if (is_later && other != job.id) {
      std::for_each(preemption.victims.begin(), preemption.victims.end(), remove);
      shares.add(books.queues, preemption.share, preemption.charge);
    }
  }
  return shares;
}

/// Whether these shares leave room for that gang; says which queue does not.
std::string why_no_room_in(const Books& books, const ShareBook& shares, const GangCharge& charge) {
  QueueNumber at = kRootQueue;
  const std::uint64_t room =
      shares.room(books.queues, books.queues.number_of(charge.share.queue), charge.share.pool, &at);
  return charge.sum <= room ? ""
                            : "queue " + books.queues.at(at).node.path + " is at its max of " +
                                  max_text(books, shares, at, charge.share.pool, room);
}

/// Whether the queues of the job have room for that gang without `leaving`, now and when other jobs
/// get the part that is kept for them.
std::string why_no_room(const Books& books, const Job& job, const std::vector<Member>& members,
                        const std::set<Token>& leaving) {
  const GangCharge charge = charge_of_gang(books, job, members);
  if (leaving.empty() && books.preemptions.all().empty()) {
    return why_no_room_in(books, books.shares, charge);
  }
  std::string why = why_no_room_in(books, shares_without(books, job, leaving, false), charge);
  return why.empty() ? why_no_room_in(books, shares_without(books, job, leaving, true), charge)
                     : why;
}

/// A planted bug.
void charge_refused(Books& books, const entry::Decide& fact) {
  const Job* wanted = books.jobs.find(fact.job);
  for (const Member& member : fact.members) {
    const AttemptShare share = share_of(books, wanted, member);
    books.shares.add(books.queues, share, charge_of(host_of(books, member), member));
  }
}

/// The RESERVED attempt that the leader decided.
Attempt reserved(const Step& step, const Job& owner, entry::Decide& fact) {
  Attempt attempt;
  attempt.token = Token{step.books.epochs.counter(), step.index.value()};
  if (mutant(SchedulerMutant::kEqualToken) && !owner.life.attempt_tokens.empty()) {
    attempt.token = owner.life.attempt_tokens.back();
  }
  attempt.job = fact.job;
  attempt.number = fact.attempt;
  attempt.keep = owner.spec.limits.keep_when_isolated;
  attempt.hold = fact.hold;
  attempt.grace = fact.grace;
  attempt.deadline = fact.deadline;
  attempt.reserved_at = step.books.cluster_time;
  attempt.members.reserve(fact.members.size());
  for (Member& member : fact.members) {
    attempt.members.push_back({std::move(member), false, MemberEnd::kNone, LogIndex(), {}});
  }
  return attempt;
}

}  // namespace

std::string why_not(const Books& books, const entry::Decide& fact) {
  const Job* wanted = books.jobs.find(fact.job);
  if (wanted == nullptr || wanted->life.state != JobState::kQueued ||
      !wanted->life.current.is_none()) {
    return "the job is not queued";
  }
  if (wanted->pauses()) {
    return "the job pauses";
  }
  if (wanted->is_waiting()) {
    return "the job waits for other jobs or for its begin";
  }
  if (fact.attempt != wanted->life.attempts + 1) {
    return "not the next attempt";
  }
  return why_not_gang(books, *wanted, fact.members, {});
}

std::string why_not_gang(const Books& books, const Job& job, const std::vector<Member>& members,
                         const std::set<Token>& leaving) {
  std::vector<HostId> hosts;
  std::vector<GpuNumber> gpus;
  const Request& request = job.spec.request;
  std::uint32_t ranks = 0;
  for (const Member& member : members) {
    if (member.first_rank != ranks) {
      return "ranks are not in order";
    }
    if (!is_as_asked(request, member)) {
      return "a member has not what was asked for";
    }
    const std::string why = why_not_member(books, job, member, leaving, gpus);
    if (!why.empty()) {
      return why;
    }
    ranks += member.rank_count();
    hosts.push_back(member.host);
  }
  if (hosts.empty() || has_any_twice(hosts) || has_any_twice(gpus) || gpus.size() != request.gpus ||
      (request.gpus == 0 && ranks != request.ranks)) {
    return "the gang is not whole";
  }
  return why_no_room(books, job, members, leaving);
}

GangCharge charge_of_gang(const Books& books, const Job& job, const std::vector<Member>& members) {
  GangCharge charge{share_of(books, &job, members.front()), 0};
  for (const Member& member : members) {
    charge.sum += charge_of(host_of(books, member), member);
  }
  return charge;
}

void on_decide(Step& step, entry::Decide& fact) {
  const std::string why = why_not(step.books, fact);
  if (!why.empty()) {
    step.books.attempts.count(Edge::kDecideRejected);
    step.result.capacity_changed = true;
    if (mutant(SchedulerMutant::kFailedDecideCharged)) {
      charge_refused(step.books, fact);
    }
    step.reject(ErrorCode::kConflict, why);
    return;
  }
  Job& owner = step.books.jobs.at(fact.job);
  step.books.attempts.count(Edge::kReserved);
  bind(step, owner, reserved(step, owner, fact));
}

QueueNumber leaf_charged(const QueueBook& queues, std::string_view path) {
  QueueNumber queue = queues.number_of(path);
  if (!queues.at(queue).is_leaf()) {
    queue = queues.number_of(kDefaultQueue);
  }
  while (!queues.at(queue).is_leaf()) {
    queue = queues.at(queue).children.front();
  }
  return queue;
}

void set_share(const Books& books, const Job* owner, Attempt& attempt) {
  attempt.share = share_of(books, owner, attempt.members.front().member);
  for (MemberRecord& record : attempt.members) {
    record.charge = charge_of(host_of(books, record.member), record.member);
  }
}

void bind(Step& step, Job& owner, Attempt attempt) {
  set_share(step.books, &owner, attempt);
  end_wait(step, owner);
  for (const MemberRecord& record : attempt.members) {
    if (record.end != MemberEnd::kNone) {
      continue;
    }
    step.books.hosts.raise_floor(record.member.host, attempt.token);
    step.books.gpus.take(attempt.token, record.member);
    const bool is_twice =
        mutant(SchedulerMutant::kAdoptedHeldTwice) && attempt.state == AttemptState::kStarted;
    step.books.shares.add(step.books.queues, attempt.share, record.charge * (is_twice ? 2 : 1));
    step.result.holdings_changed.push_back(record.member.host);
  }
  if (is_mutant_planted() && step.books.guarantees.has(attempt.token)) {
    step.books.guarantees.remove(attempt.token,
                                 step.books.guarantees.claims().at(attempt.token).charge);
  }
  if (step.books.preemptions.find(owner.id) != nullptr) {
    claim_preempted(step, attempt);
  } else if (const std::uint64_t charge = attempt.charge(); charge != 0) {
    step.books.guarantees.add(attempt.token, step.books.queues.number_of(attempt.share.queue),
                              attempt.share.pool, charge);
  }
  step.result.shares_changed.push_back(attempt.share);
  owner.life.attempts = attempt.number;
  owner.life.current = attempt.token;
  note_attempt(step.books, owner, attempt.token);
  step.result.touched.push_back(attempt.token);
  step.result.job = owner.id;
  move_job(step, owner, JobEvent::kDecided, "decided", attempt.token);
  step.books.attempts.add(std::move(attempt));
}

}  // namespace muster::scheduler
