#include "tests/scheduler/state/history.h"

#include <algorithm>

#include "tests/scheduler/policy/queue_of.h"
#include "tests/scheduler/state/cluster.h"

namespace muster::scheduler::testing {
namespace {

constexpr std::uint64_t kKeysRepeated = 8;  ///< How far back a repeated client key may lie.
constexpr std::uint64_t kAttemptsRecent = 6;
/// Longer than client keys live.
constexpr std::uint64_t kQuietHours = 24 * 8;
/// A person: each of her orders leaves a line in the audit.
const Subject kAlice{"alice@host1", "alice", host_id(1)};
constexpr std::string_view kQueuePaths[] = {"batch", "lab/one", "lab/two", "prod"};

template <class Map>
auto nth(const Map& map, std::uint64_t position) {
  return std::next(map.begin(), static_cast<std::ptrdiff_t>(position));
}

}  // namespace

Entry History::next(const State& state) {
  if (hours_left_ > 0) {
    --hours_left_;
    return entry::Tick{std::chrono::hours(1)};
  }
  if (state.hosts().size() < 2) {
    return draw_register(state);
  }
  if (one_in(1500)) {
    hours_left_ = kQuietHours;
  }
  for (const auto& [job, preemption] : state.preemptions().all()) {
    if (!preemption.victims.empty() && one_in(4)) {
      return entry::Stop{*preemption.victims.begin(), Cause::kPreempted};
    }
  }
  const std::uint64_t draw = rng_.below(100);
  if (draw < 4) {
    return draw_register(state);
  }
  if (draw < 16) {
    return draw_submit();
  }
  if (draw < 23) {
    return one_in(3) ? Entry(draw_cancel(state)) : draw_order(state);
  }
  if (draw < 27) {
    return draw_observe();
  }
  if (draw < 35) {
    return draw_tick();
  }
  return draw < 46 ? draw_decide(state) : draw < 56 ? draw_preempt(state) : draw_of_attempt(state);
}

/// Now and then a new start; some of them after a reboot, some with grants still known.
entry::Register History::draw_register(const State& state) {
  const std::uint64_t host = 1 + rng_.below(kHosts);
  if (generations_[host] == 0 || one_in(3)) {
    ++generations_[host];
    boots_[host] += one_in(3) ? 1 : 0;
  }
  entry::Register fact = registration(host, kGpus, generations_[host]);
  fact.boot_id = "boot-" + std::to_string(boots_[host]);
  fact.has_namespaces = !one_in(8);
  if (one_in(4)) {
    fact.stuck = {uuid_of(host, 0)};
  }
  for (const Token& token : state.tokens_on(fact.host)) {
    if (!one_in(3)) {
      fact.live.push_back({token, one_in(3)});
    }
  }
  return fact;
}

entry::Submit History::draw_submit() {
  const bool repeated = keys_ > 0 && one_in(6);
  keys_ += repeated ? 0 : 1;
  const std::uint64_t back = repeated ? rng_.below(std::min(keys_, kKeysRepeated)) : 0;
  const auto gpus = static_cast<std::uint32_t>(one_in(20) ? 0 : 1 + rng_.below(6));
  entry::Submit fact = submission("key" + std::to_string(keys_ - back), gpus);
  fact.spec.priority = static_cast<std::int32_t>(rng_.below(3));
  fact.spec.retry.retries = static_cast<std::uint32_t>(rng_.below(3));
  fact.spec.limits.keep_when_isolated = one_in(4);
  fact.spec.retry.on_lost_host = one_in(4) ? OnLostHost::kWait : OnLostHost::kRequeue;
  fact.spec.limits.time_limit = std::chrono::minutes(rng_.below(2));
  fact.spec.user = one_in(2) ? "alice" : "bob";
  fact.spec.tier = one_in(2) ? static_cast<Tier>(1 + rng_.below(5)) : Tier::kNone;
  fact.spec.queue = one_in(6) ? kQueuePaths[rng_.below(std::size(kQueuePaths))] : "";
  return fact;
}

entry::Cancel History::draw_cancel(const State& state) {
  if (state.jobs().empty() || one_in(8)) {
    return {JobId(1'000'000), kAlice};
  }
  return {nth(state.jobs(), rng_.below(state.jobs().size()))->first, kAlice};
}

/// Orders of operators about jobs, hosts and queues; those about jobs mostly name one that holds
/// GPUs.
Entry History::draw_order(const State& state) {
  if (one_in(16)) {
    return draw_queues(state);
  }
  if (one_in(4) && state.live().empty()) {
    return entry::Fence{host_id(1 + rng_.below(kHosts)), kAlice};
  }
  if (one_in(4)) {
    return draw_of_host(state);
  }
  JobId job = draw_cancel(state).job;
  if (!state.live().empty() && !one_in(4)) {
    const Attempt& attempt = *state.attempt(*nth(state.live(), rng_.below(state.live().size())));
    job = attempt.job;
    if (one_in(4)) {
      return entry::Fence{attempt.members[rng_.below(attempt.members.size())].member.host, kAlice};
    }
  }
  const Job* known = state.job(job);
  const std::uint32_t attempts = known == nullptr ? 0 : known->life.attempts;
  if (known != nullptr && known->life.state == JobState::kSuspended) {
    return entry::Resume{job, kAlice};
  }
  return one_in(2) ? Entry(entry::Suspend{job, kAlice})
                   : entry::Requeue{job, one_in(3) ? 0 : attempts, kAlice};
}

/// Orders of operators about hosts and the queue.
Entry History::draw_of_host(const State& state) {
  const std::uint64_t number = 1 + rng_.below(kHosts + 1);
  const HostId host = host_id(number);
  for (const auto& [id, record] : state.hosts()) {
    if (!record.is_reachable() && state.tokens_on(id).empty() && one_in(8)) {
      return entry::RemoveHost{id, kAlice};
    }
  }
  switch (rng_.below(6)) {
    case 0:
      return entry::Drain{host, kAlice, "disk", one_in(2), std::chrono::seconds(rng_.below(60))};
    case 1:
      return entry::RemoveHost{host, kAlice};
    case 2:
      return entry::Fence{host, kAlice, true, state.tokens_on(host)};
    case 3:
      return entry::Edit{draw_cancel(state).job, static_cast<std::int32_t>(rng_.below(3)), kAlice};
    case 4:
      return entry::GpuOrder{host, uuid_of(number, 1 + static_cast<std::uint32_t>(rng_.below(3))),
                             one_in(2), "fan", kAlice};
    default:
      return entry::Undrain{host, kAlice};
  }
}

/// Some of the queues, with limits that keep some decisions out. Now and then it is not said where
/// the jobs of the others go, or somebody else was faster.
entry::SetQueues History::draw_queues(const State& state) {
  entry::SetQueues fact;
  fact.expected = state.queues().version() + (one_in(8) ? 1 : 0);
  fact.by = kAlice;
  fact.tree.half_life = one_in(2) ? kHalfLifeMin : kHalfLifeDefault;
  for (const std::string_view path : kQueuePaths) {
    const bool is_kept = !one_in(3);
    if (is_kept) {
      QueueNode node;
      node.path = path;
      node.weight = static_cast<std::uint32_t>(1 + rng_.below(4));
      node.is_fifo = one_in(3);
      if (one_in(2)) {
        node.max[std::string(one_in(2) ? kAllGpus : "h100")] = 1 + rng_.below(4);
      }
      if (node.max.empty() && one_in(2)) {
        node.guaranteed[std::string(one_in(3) ? kAllGpus : "h100")] = 1 + rng_.below(6);
      }
      fact.tree.nodes.push_back(std::move(node));
    } else if (const auto before = state.queues().find(path);
               before.has_value() && state.queues().at(*before).is_leaf() && !one_in(8)) {
      fact.moves.push_back({std::string(path), std::string(kDefaultQueue)});
    }
  }
  return fact;
}

entry::Observe History::draw_observe() {
  entry::Observe fact;
  const std::uint64_t host = 1 + rng_.below(kHosts);
  fact.host = host_id(host);
  fact.start = one_in(6) ? AgentStart() : pair_of(generations_[host] + (one_in(8) ? 1 : 0));
  fact.verdict = one_in(2) ? Verdict::kAlive : static_cast<Verdict>(rng_.below(4));
  fact.health = one_in(6) ? static_cast<Health>(rng_.below(3)) : Health::kHealthy;
  if (one_in(6)) {
    fact.unhealthy_gpus = {uuid_of(host, 1)};
  }
  if (one_in(8)) {
    fact.quarantined = {uuid_of(host, 2)};
  }
  return fact;
}

/// Mostly the seconds that failures and hosts left out wait for; now and then more than kTickMax.
entry::Tick History::draw_tick() {
  if (one_in(8)) {
    return {std::chrono::minutes(50 + rng_.below(12))};
  }
  return {std::chrono::milliseconds(rng_.below(8'000))};
}

/// A gang on free GPUs, over as many hosts as it takes; sometimes on GPUs that are not free.
Entry History::draw_decide(const State& state) {
  if (state.pending() == 0) {
    return draw_submit();
  }
  const Job& job = *state.job(queue_of(state)[rng_.below(state.pending())]);
  entry::Decide fact{job.id,
                     job.life.attempts + 1,
                     {},
                     std::chrono::minutes(2),
                     job.spec.limits.grace,
                     std::chrono::seconds(10)};
  std::uint32_t left = job.spec.request.gpus;
  std::uint32_t first_rank = 0;
  for (const auto& [id, host] : state.hosts()) {
    std::vector<std::string> free = one_in(20) ? host.gpus : state.free_gpus(host);
    free.resize(std::min<std::size_t>({free.size(), left, 1 + rng_.below(kGpus)}));
    if (free.empty() || (!host.takes_work() && !one_in(20))) {
      continue;
    }
    Member member{id, host.start, {}, first_rank};
    for (const std::string& uuid : free) {
      member.gpus.push_back(GpuSlot{uuid, 0});
    }
    first_rank += static_cast<std::uint32_t>(free.size());
    left -= static_cast<std::uint32_t>(free.size());
    fact.members.push_back(std::move(member));
  }
  return fact;
}

/// Victims at random, and the job where they are or where nobody is.
Entry History::draw_preempt(const State& state) {
  if (state.pending() == 0 || state.live().empty()) {
    return draw_decide(state);
  }
  const Job& job = *state.job(queue_of(state)[rng_.below(state.pending())]);
  entry::Preempt fact;
  fact.job = job.id;
  fact.attempt = job.life.attempts + 1;
  fact.seen = state.applied();
  for (const Token& token : state.live()) {
    if (one_in(2)) {
      fact.victims.push_back(token);
    }
  }
  std::uint32_t left = job.spec.request.gpus;
  std::uint32_t first_rank = 0;
  for (const auto& [id, host] : state.hosts()) {
    Member member{id, host.start, {}, first_rank};
    for (const std::string& uuid : host.gpus) {
      const SlotHolders holders = state.gpus().holders_of(uuid);
      const bool is_given = std::all_of(holders.begin(), holders.end(), [&](const auto& slot) {
        return std::find(fact.victims.begin(), fact.victims.end(), slot.second.token) !=
               fact.victims.end();
      });
      if (left != 0 && is_given && host.takes_work() && host.offers(uuid)) {
        member.gpus.push_back(GpuSlot{uuid, 0});
        --left;
      }
    }
    if (!member.gpus.empty()) {
      first_rank += static_cast<std::uint32_t>(member.gpus.size());
      fact.members.push_back(std::move(member));
    }
  }
  // The leader takes nobody who leaves nothing there.
  std::erase_if(fact.victims, [&](const Token& token) {
    const Attempt& attempt = *state.attempt(token);
    return std::none_of(fact.members.begin(), fact.members.end(),
                        [&](const Member& member) { return attempt.find(member.host) != nullptr; });
  });
  return fact;
}

/// About a live attempt, or one of the newest, live or not: late facts come too.
Entry History::draw_of_attempt(const State& state) {
  if (state.attempts().empty()) {
    return draw_decide(state);
  }
  const std::uint64_t count = state.attempts().size();
  const std::uint64_t back = 1 + rng_.below(std::min(count, kAttemptsRecent));
  const Token token = state.live().empty() || one_in(4)
                          ? nth(state.attempts(), count - back)->first
                          : *nth(state.live(), rng_.below(state.live().size()));
  const Attempt& attempt = *state.attempt(token);
  const MemberRecord& record = attempt.members[rng_.below(attempt.members.size())];
  if (one_in(3)) {
    return draw_of_silence(state, attempt, record);
  }
  if (one_in(8)) {
    return draw_stray(attempt, record);
  }
  if (attempt.state == AttemptState::kReserved) {
    return draw_of_reserved(attempt, record);
  }
  if (one_in(4)) {
    static constexpr Cause kCauses[] = {Cause::kRankFailed, Cause::kHostLost,  Cause::kTimeLimit,
                                        Cause::kPreempted,  Cause::kSuspended, Cause::kCancelled,
                                        Cause::kRequeued};
    return entry::Stop{attempt.token, kCauses[rng_.below(std::size(kCauses))]};
  }
  return draw_finish(attempt, record);
}

Entry History::draw_of_reserved(const Attempt& attempt, const MemberRecord& record) {
  if (one_in(8)) {
    static constexpr Cause kCauses[] = {Cause::kRefused, Cause::kDeadline, Cause::kCancelled,
                                        Cause::kSuspended, Cause::kRequeued};
    const Cause cause = kCauses[rng_.below(std::size(kCauses))];
    return entry::Abort{attempt.token, cause, one_in(3) ? HostId() : record.member.host};
  }
  if (attempt.all_ready() || one_in(10)) {
    return entry::Start{attempt.token};
  }
  const auto lacks = std::find_if(attempt.members.begin(), attempt.members.end(),
                                  [](const MemberRecord& each) { return !each.ready; });
  return entry::Ready{attempt.token, lacks->member.host, lacks->member.start, {}};
}

entry::Finish History::draw_finish(const Attempt& attempt, const MemberRecord& record) {
  const bool stopping = attempt.state == AttemptState::kStopping;
  const std::int32_t code = one_in(3) ? 7 : 0;
  entry::Finish fact{attempt.token, record.member.host, record.member.start,
                     results_of(record.member, code, stopping && one_in(2)), !one_in(6)};
  if (one_in(6)) {
    fact.results.front().kind = static_cast<RankResult::Kind>(rng_.below(5));
    fact.results.front().detail = "as it was told";
  }
  return fact;
}

/// A fact that is too early, too late, from an earlier life, or of a host that is not a member.
Entry History::draw_stray(const Attempt& attempt, const MemberRecord& record) {
  const HostId host = one_in(4) ? host_id(1 + rng_.below(kHosts + 1)) : record.member.host;
  const AgentStart start = one_in(2) ? record.member.start : pair_of(1'000);
  switch (rng_.below(5)) {
    case 0:
      return entry::Ready{attempt.token, host, start, {}};
    case 1:
      return entry::Start{attempt.token};
    case 2:
      return entry::Stop{attempt.token, Cause::kCancelled};
    case 3:
      return entry::Abort{attempt.token, Cause::kDeadline, host};
    default:
      return entry::Finish{attempt.token, host, start, results_of(record.member, 0), true};
  }
}

/// Few Condemns are in force at once: one in force is mostly carried out or taken back.
Entry History::draw_of_silence(const State& state, const Attempt& attempt,
                               const MemberRecord& record) {
  for (const Token& token : state.live()) {
    for (const MemberRecord& each : state.attempt(token)->members) {
      if (each.condemned == LogIndex() || one_in(3)) {
        continue;
      }
      if (one_in(3)) {
        return entry::Pardon{each.member.host, {token}};
      }
      return entry::Expire{each.member.host, token, one_in(4) ? LogIndex(1) : each.condemned};
    }
  }
  if (one_in(4)) {
    return entry::Pardon{record.member.host, {attempt.token}};
  }
  return entry::Condemn{record.member.host, {attempt.token}};
}

}  // namespace muster::scheduler::testing
