#include "scheduler/state/decision.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "gossip/base/check.h"
#include "scheduler/protocol/mutants.h"
#include "scheduler/state/charge.h"
#include "scheduler/state/eligibility_rules.h"
#include "scheduler/state/forgetting.h"
#include "scheduler/state/job_moves.h"

namespace muster::scheduler {
namespace {

/// Adds the numbers of the member's GPUs to `gpus`.
std::string why_not_member(const Books& books, const JobSpec& spec, const Member& member,
                           std::vector<GpuNumber>& gpus) {
  const HostRecord* record = books.hosts.find(member.host);
  if (record == nullptr || record->start != member.start) {
    return "a member's pair is not registered";
  }
  const bool offers_ranks = spec.request.gpus != 0 || record->cpus != 0;
  if (!record->takes_work() || member.rank_count() == 0 || !offers_ranks ||
      member.rank_count() > kHostUnitsMax) {
    return "a member takes no such work";
  }
  if (!record->suits(spec)) {
    return "a member is of another kind";
  }
  const HeldAmounts& held = books.gpus.on(member.host).amounts;
  // A host that shrank may hold more than it has: a member that asks for 0 of an amount fits.
  if ((member.cpus != 0 && held.cpus + member.cpus > std::uint64_t{record->cpus} * kOneCpu) ||
      (member.memory_mb != 0 && held.memory_mb + member.memory_mb > record->memory_mb)) {
    return "a member has too few CPUs or too little memory free";
  }
  return books.gpus.add_if_free(*record, member, gpus) ? "" : "a gpu is not free";
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
std::string max_text(const Books& books, QueueNumber queue, std::string_view pool,
                     std::uint64_t room) {
  constexpr std::uint64_t kThousandthsOfOne = 1000;
  const std::uint64_t of_pool = books.shares.share(queue, pool).held;
  const std::uint64_t of_all = books.shares.held_gpus(queue);
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

/// Whether the queues of the job have room for that gang; says which has not.
std::string why_no_room(const Books& books, const Job& job, const std::vector<Member>& members) {
  std::uint64_t charge = 0;
  for (const Member& member : members) {
    charge += charge_of(host_of(books, member), member);
  }
  const AttemptShare share = share_of(books, &job, members.front());
  QueueNumber at = kRootQueue;
  const std::uint64_t room =
      books.shares.room(books.queues, books.queues.number_of(share.queue), share.pool, &at);
  return charge <= room ? ""
                        : "queue " + books.queues.at(at).node.path + " is at its max of " +
                              max_text(books, at, share.pool, room);
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
  std::vector<HostId> hosts;
  std::vector<GpuNumber> gpus;
  const Request& request = wanted->spec.request;
  std::uint32_t ranks = 0;
  for (const Member& member : fact.members) {
    if (member.first_rank != ranks) {
      return "ranks are not in order";
    }
    if (!is_as_asked(request, member)) {
      return "a member has not what was asked for";
    }
    const std::string why = why_not_member(books, wanted->spec, member, gpus);
    if (!why.empty()) {
      return why;
    }
    ranks += member.rank_count();
    hosts.push_back(member.host);
  }
  if (has_any_twice(hosts) || has_any_twice(gpus) || gpus.size() != request.gpus ||
      (request.gpus == 0 && ranks != request.ranks)) {
    return "the gang is not whole";
  }
  return why_no_room(books, *wanted, fact.members);
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
  if (const std::uint64_t charge = attempt.charge(); charge != 0) {
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
