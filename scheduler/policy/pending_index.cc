#include "scheduler/policy/pending_index.h"

#include <algorithm>
#include <bit>

#include "gossip/base/check.h"
#include "scheduler/placement/capacity.h"
#include "scheduler/protocol/mutants.h"
#include "scheduler/state/charge.h"

namespace muster::scheduler {
namespace {

template <class Visit>
void for_each_pool(PoolSet pools, Visit visit) {
  for (; pools != 0; pools &= pools - 1) {
    visit(static_cast<PoolNumber>(std::countr_zero(pools)));
  }
}

std::optional<QueueKey> first_of(const Queue& queue) {
  return queue.empty() ? std::nullopt : std::optional(*queue.begin());
}

}  // namespace

void PendingIndex::begin(const State& state) {
  *this = PendingIndex();
  order_.rebuild(state);
  blocked_.resize(kPoolsMax);
}

void PendingIndex::rebuild(const State& state) {
  begin(state);
  for (const auto& [id, record] : state.hosts()) {
    on_host(state, id);
  }
  for (const auto& [id, job] : state.jobs()) {
    if (job.is_pending()) {
      on_changed(state, id);
    }
  }
}

void PendingIndex::on_queues(const State& state) {
  std::map<JobId, Ask> asks;
  for (const JobId job : hidden_) {
    asks[job] = *jobs_.at(job).ask;
  }
  rebuild(state);  // Its pools are strict.
  for (const auto& [job, ask] : asks) {
    if (jobs_.contains(job)) {
      hide(job, ask.pool, ask.charge);
    }
  }
}

void PendingIndex::on_host(const State& state, const HostId& host) {
  const HostRecord* record = state.host(host);
  const std::string type = record == nullptr ? std::string() : folded(record->gpu_type);
  if (type.empty() || order_.all().pool(type).has_value()) {
    return;
  }
  const PoolNumber pool = order_.enter_pool(state, type);
  for (const auto& [key, number] : numbers_) {
    Ring& ring = rings_[number];
    const PoolSet more = accepted(key) & set_of(pool) & ~ring.pools;
    if (more != 0 && order_.all().tree(pool).could_ever(key.leaf.queue, ring.charge)) {
      ring.pools |= more;
      move_head(number, more, std::nullopt, first_of(ring.waiting));
    }
  }
}

/// The pools of GPU types that the jobs of the ring accept, among those of known hosts.
PoolSet PendingIndex::accepted(const RingKey& key) const {
  if (key.shape.share == 0) {
    return set_of(kCpuPoolNumber);
  }
  return key.shape.types.empty() ? order_.all().gpu_pools() : pools_of(key.shape.types);
}

PoolSet PendingIndex::pools_of(std::span<const std::string> types) const {
  if (types.empty()) {
    return set_of(kCpuPoolNumber);
  }
  PoolSet pools = 0;
  for (const std::string& type : types) {
    const std::optional<PoolNumber> pool = order_.all().pool(type);
    pools |= pool.has_value() ? set_of(*pool) : 0;
  }
  return pools;
}

PendingIndex::RingKey PendingIndex::key_of(const State& state, const Job& job, bool is_alone) {
  return {leaf_of(state.queues(), job.spec), queue_key_of(job).tier, shape_of(job),
          length_of(job.spec.limits.time_limit), is_alone ? job.id : JobId()};
}

RingNumber PendingIndex::enter_ring(const State& state, const Job& job, RingKey key) {
  const auto [known, is_new] = numbers_.try_emplace(std::move(key), rings_.size());
  if (!is_new) {
    return known->second;
  }
  if (unused_.empty()) {
    rings_.emplace_back();
  } else {
    known->second = unused_.back();
    unused_.pop_back();
  }
  Ring& ring = rings_[known->second];
  ring = Ring();
  ring.key = &known->first;
  ring.leaf = order_.enter(state, ring.key->leaf);
  ring.charge = least_charge_of(job.spec);
  for_each_pool(accepted(*ring.key), [&](PoolNumber pool) {
    const bool may_be = order_.all().tree(pool).could_ever(ring.key->leaf.queue, ring.charge);
    ring.pools |= may_be ? set_of(pool) : 0;
  });
  return known->second;
}

void PendingIndex::forget_ring(RingNumber number) {
  for_each_pool(rings_[number].blocked,
                [&](PoolNumber pool) { blocked_[index_of(pool)].erase(number); });
  aside_.erase(number);
  raised_.erase(number);
  numbers_.erase(numbers_.find(*rings_[number].key));
  unused_.push_back(number);
}

RingHead PendingIndex::Ring::head(const QueueKey& place, PoolNumber pool) const {
  const auto known = raised.find(pool);
  return {place, known == raised.end() ? charge : known->second, (blocked & set_of(pool)) != 0};
}

/// The first job of the ring becomes another one in these pools.
void PendingIndex::move_head(RingNumber number, PoolSet pools,
                             const std::optional<QueueKey>& before,
                             const std::optional<QueueKey>& after) {
  const Ring& ring = rings_[number];
  for_each_pool(pools, [&](PoolNumber pool) {
    order_.move(pool, ring.leaf, number, before,
                after.has_value() ? std::optional(ring.head(*after, pool)) : std::nullopt);
  });
}

/// Something about its first job changed in these pools.
void PendingIndex::renew_head(RingNumber number, PoolSet pools) {
  const std::optional<QueueKey> first = first_of(rings_[number].waiting);
  move_head(number, rings_[number].open() & pools, first, first);
}

void PendingIndex::put(RingNumber number, const QueueKey& place) {
  Ring& ring = rings_[number];
  const std::optional<QueueKey> before = first_of(ring.waiting);
  ring.waiting.insert(place);
  if (*ring.waiting.begin() == place) {
    move_head(number, ring.open(), before, place);
  }
}

void PendingIndex::take(RingNumber number, const QueueKey& place) {
  Ring& ring = rings_[number];
  const bool was_first = *ring.waiting.begin() == place;
  CHECK(ring.waiting.erase(place) == 1);
  if (was_first) {
    move_head(number, ring.open(), place, first_of(ring.waiting));
  }
}

void PendingIndex::add(const State& state, const Job& job, RingKey key) {
  const QueueKey place = queue_key_of(job);
  Queue& leaf = queues_[key.leaf];
  leaf.insert(leaf.end(), place);
  const RingNumber number = enter_ring(state, job, std::move(key));
  ++rings_[number].jobs;
  jobs_.emplace(job.id, Known{number, place, std::nullopt});
  put(number, place);
}

/// Forgets the job, its ring with the last of its jobs, and its leaf with the last ring.
void PendingIndex::drop(std::map<JobId, Known>::iterator known) {
  const RingNumber number = known->second.ring;
  order_.forget_plans_for(known->first);
  if (known->second.ask.has_value()) {
    count_ask(known->second, false);
    hidden_.erase(known->first);
  } else {
    take(number, known->second.place);
  }
  const auto leaf = queues_.find(rings_[number].key->leaf);
  leaf->second.erase(known->second.place);
  jobs_.erase(known);
  if (--rings_[number].jobs == 0) {
    forget_ring(number);
  }
  if (leaf->second.empty()) {
    order_.forget(leaf->first);
    queues_.erase(leaf);
  }
}

/// The job has another place in its ring, which keeps what was found out about it.
void PendingIndex::move_within(Known& known, const QueueKey& place) {
  if (known.place == place) {
    return;
  }
  Queue& leaf = queues_.at(rings_[known.ring].key->leaf);
  leaf.erase(known.place);
  leaf.insert(place);
  if (!known.ask.has_value()) {
    take(known.ring, known.place);
    put(known.ring, place);
  }
  known.place = place;
}

void PendingIndex::on_changed(const State& state, JobId id) {
  const Job* job = state.job(id);
  const auto known = jobs_.find(id);
  if (job == nullptr || !job->is_pending()) {
    if (known != jobs_.end()) {
      drop(known);
    }
    return;
  }
  RingKey key = key_of(state, *job, !job->life.left_out.empty());
  if (known == jobs_.end()) {
    add(state, *job, std::move(key));
    return;
  }
  if (*rings_[known->second.ring].key == key) {
    move_within(known->second, queue_key_of(*job));
    return;
  }
  const std::optional<Ask> ask = known->second.ask;
  drop(known);
  add(state, *job, std::move(key));
  if (ask.has_value()) {
    hide(id, ask->pool, ask->charge);
  }
}

/// A job for which hosts are kept, where it is not blocked.
std::optional<Next> PendingIndex::next_planned() const {
  for (const auto& [pool, planned] : order_.planned()) {
    const Known& known = jobs_.at(planned.job);
    const Ring& ring = rings_[known.ring];
    const bool is_open = (ring.open() & ~ring.blocked & set_of(pool)) != 0;
    if (is_open && !known.ask.has_value() &&
        order_.all().tree(pool).could_ever(ring.key->leaf.queue,
                                           ring.head(known.place, pool).charge)) {
      return Next{planned.job, order_.all().types(pool)};
    }
  }
  return std::nullopt;
}

std::optional<Next> PendingIndex::next() const {
  if (std::optional<Next> planned = next_planned()) {
    return planned;
  }
  std::vector<std::pair<const Offer*, PoolSet>> firsts;
  for (std::uint32_t i = 0; i < order_.all().pools(); ++i) {
    const auto pool = static_cast<PoolNumber>(i);
    const Offer* offer = order_.first(pool);
    if (offer == nullptr || (rings_[offer->ring].blocked & set_of(pool)) != 0) {
      continue;
    }
    const auto same = std::find_if(firsts.begin(), firsts.end(), [&](const auto& each) {
      return each.first->ring == offer->ring;
    });
    if (same == firsts.end()) {
      firsts.emplace_back(offer, set_of(pool));
    } else {
      same->second |= set_of(pool);
    }
  }
  const std::pair<const Offer*, PoolSet>* best = nullptr;
  bool is_best_everywhere = false;
  for (const auto& each : firsts) {
    const Ring& ring = rings_[each.first->ring];
    const bool is_everywhere = each.second == (ring.open() & ~ring.blocked);
    if (best == nullptr || (is_everywhere && !is_best_everywhere) ||
        (is_everywhere == is_best_everywhere && each.first->place < best->first->place)) {
      best = &each;
      is_best_everywhere = is_everywhere;
    }
  }
  if (best == nullptr) {
    return std::nullopt;
  }
  Next next{best->first->place.job, {}};
  const std::vector<std::string>& wanted = rings_[best->first->ring].key->shape.types;
  for_each_pool(best->second, [&](PoolNumber pool) {
    for (const std::string& type : order_.all().types(pool)) {
      if (wanted.empty() || std::find(wanted.begin(), wanted.end(), type) != wanted.end()) {
        next.types.push_back(type);
      }
    }
  });
  return next;
}

std::optional<JobId> PendingIndex::first_in(std::string_view pool) const {
  const std::optional<PoolNumber> known = order_.all().pool(pool);
  const Offer* first = known.has_value() ? order_.all().first(*known) : nullptr;
  return first == nullptr ? std::nullopt : std::optional(first->place.job);
}

std::vector<std::pair<std::string, JobId>> PendingIndex::stuck() const {
  std::vector<std::pair<std::string, JobId>> stuck;
  for (std::uint32_t i = 0; i < order_.all().pools(); ++i) {
    const auto pool = static_cast<PoolNumber>(i);
    const Offer* first = order_.passes(pool) ? nullptr : order_.first(pool);
    if (first != nullptr && (rings_[first->ring].blocked & set_of(pool)) != 0 &&
        order_.all().types(pool).size() <= 1) {
      const std::vector<std::string>& types = order_.all().types(pool);
      stuck.emplace_back(types.empty() ? std::string(kCpuPool) : types.front(), first->place.job);
    }
  }
  return stuck;
}

void PendingIndex::pass(std::string_view pool, JobId job, std::uint64_t charge) {
  if (const std::optional<PoolNumber> known = order_.all().pool(pool)) {
    order_.pass(*known, {job, rings_[jobs_.at(job).ring].leaf, charge});
  }
}

void PendingIndex::be_strict(std::string_view pool) {
  if (const std::optional<PoolNumber> known = order_.all().pool(pool)) {
    order_.be_strict(*known);
  }
}

/// The ask of a hidden job counts as held, or not any more.
void PendingIndex::count_ask(Known& known, bool is_more) {
  const std::optional<PoolNumber> pool = order_.all().pool(known.ask->pool);
  // A pool that was not there then has not counted it, though it may be there now.
  if (pool.has_value() && known.ask->is_counted != is_more) {
    known.ask->is_counted = is_more;
    const Ring& ring = rings_[known.ring];
    const auto charge = static_cast<std::int64_t>(known.ask->charge);
    order_.ask(*pool, ring.leaf, is_more ? charge : -charge);
  }
}

void PendingIndex::hide(JobId job, std::string_view pool, std::uint64_t charge) {
  Known& known = jobs_.at(job);
  if (!known.ask.has_value()) {
    take(known.ring, known.place);
    known.ask = Ask{std::string(pool), charge, false};
    hidden_.insert(job);
    count_ask(known, true);
  }
}

void PendingIndex::show(JobId job) {
  const auto known = jobs_.find(job);
  if (known != jobs_.end() && known->second.ask.has_value()) {
    count_ask(known->second, false);
    known->second.ask.reset();
    hidden_.erase(job);
    put(known->second.ring, known->second.place);
  }
}

void PendingIndex::block_in(RingNumber number, PoolSet pools, bool is_kept_out) {
  Ring& ring = rings_[number];
  const PoolSet more = pools & ~ring.blocked;
  ring.blocked |= pools;
  ring.kept_out |= is_kept_out ? pools : PoolSet{0};
  for_each_pool(more, [&](PoolNumber pool) { blocked_[index_of(pool)].insert(number); });
  renew_head(number, more);
}

/// The caller takes it out of `blocked_`.
void PendingIndex::unblock(RingNumber number, PoolNumber pool) {
  Ring& ring = rings_[number];
  ring.blocked &= ~set_of(pool);
  ring.kept_out &= ~set_of(pool);
  renew_head(number, set_of(pool));
}

void PendingIndex::unblock_kept_out() {
  for (std::uint32_t i = 0; i < order_.all().pools(); ++i) {
    const auto pool = static_cast<PoolNumber>(i);
    std::erase_if(blocked_[i], [&](RingNumber number) {
      const bool was_kept_out = (rings_[number].kept_out & set_of(pool)) != 0;
      if (was_kept_out) {
        unblock(number, pool);
      }
      return was_kept_out;
    });
  }
}

bool PendingIndex::is_blocked(JobId job, std::string_view pool) const {
  const std::optional<PoolNumber> known = order_.all().pool(pool);
  return known.has_value() && (rings_[jobs_.at(job).ring].blocked & set_of(*known)) != 0;
}

void PendingIndex::set_aside_in(RingNumber number, PoolSet pools) {
  Ring& ring = rings_[number];
  const PoolSet more = ring.open() & pools;
  ring.aside |= more;
  if (more != 0) {
    aside_.insert(number);
    move_head(number, more, first_of(ring.waiting), std::nullopt);
  }
}

std::uint64_t PendingIndex::room(JobId job, std::string_view pool) const {
  const std::optional<PoolNumber> known = order_.all().pool(pool);
  return known.has_value() ? order_.all().tree(*known).room(rings_[jobs_.at(job).ring].leaf)
                           : UINT64_MAX;
}

bool PendingIndex::raise(JobId job, std::string_view pool, std::uint64_t charge) {
  const std::optional<PoolNumber> known = order_.all().pool(pool);
  const RingNumber number = jobs_.at(job).ring;
  if (!known.has_value() || charge <= rings_[number].charge) {
    return false;
  }
  const auto raised = rings_[number].raised.find(*known);
  if (raised != rings_[number].raised.end() && charge <= raised->second) {
    return false;
  }
  raise_in(number, *known, charge);
  return true;
}

void PendingIndex::raise_in(RingNumber number, PoolNumber pool, std::uint64_t charge) {
  Ring& ring = rings_[number];
  ring.raised[pool] = charge;
  raised_.insert(number);
  renew_head(number, set_of(pool));
}

/// The charge is what the request says again; the caller looks after `raised_`.
void PendingIndex::lower(RingNumber number, PoolSet pools) {
  Ring& ring = rings_[number];
  for_each_pool(pools, [&](PoolNumber pool) {
    if (ring.raised.erase(pool) != 0) {
      renew_head(number, set_of(pool));
    }
  });
}

void PendingIndex::wake(const HostKind& kind, const HostSpace& space) {
  const auto suits = [&](RingNumber number) {
    const Shape& shape = rings_[number].key->shape;
    return preference(shape, kind).has_value() && units_in(shape, kind, space) != 0;
  };
  const std::optional<PoolNumber> of_type = order_.all().pool(kind.gpu_type);
  const PoolSet pools =
      set_of(kCpuPoolNumber) | (of_type.has_value() ? set_of(*of_type) : PoolSet{0});
  for_each_pool(pools, [&](PoolNumber pool) {
    std::erase_if(blocked_[index_of(pool)], [&](RingNumber number) {
      const bool is_woken = suits(number) && !mutant(SchedulerMutant::kBlockedNeverWoken);
      if (is_woken) {
        unblock(number, pool);
      }
      return is_woken;
    });
  });
  std::erase_if(raised_, [&](RingNumber number) {
    if (suits(number)) {
      lower(number, pools);
    }
    return rings_[number].raised.empty();
  });
}

void PendingIndex::wake_alone() {
  for (std::uint32_t i = 0; i < order_.all().pools(); ++i) {
    std::erase_if(blocked_[i], [&](RingNumber number) {
      const bool is_alone = rings_[number].key->alone != JobId();
      if (is_alone) {
        unblock(number, static_cast<PoolNumber>(i));
      }
      return is_alone;
    });
  }
}

/// The ring is no longer aside; the caller takes it out of `aside_`.
void PendingIndex::take_back(RingNumber number) {
  Ring& ring = rings_[number];
  const PoolSet pools = ring.aside;
  ring.aside = 0;
  move_head(number, pools, std::nullopt, first_of(ring.waiting));
}

void PendingIndex::reopen_alone() {
  std::erase_if(aside_, [&](RingNumber number) {
    const bool is_alone = rings_[number].key->alone != JobId();
    if (is_alone) {
      take_back(number);
    }
    return is_alone;
  });
}

void PendingIndex::reopen() {
  for (std::uint32_t i = 0; i < order_.all().pools(); ++i) {
    for (const RingNumber number : blocked_[i]) {
      unblock(number, static_cast<PoolNumber>(i));
    }
    blocked_[i].clear();
  }
  for (const RingNumber number : aside_) {
    take_back(number);
  }
  aside_.clear();
  for (const RingNumber number : raised_) {
    lower(number, ~PoolSet{0});
  }
  raised_.clear();
}

void PendingIndex::forget_leader() {
  for (std::uint32_t i = 0; i < order_.all().pools(); ++i) {
    order_.be_strict(static_cast<PoolNumber>(i));
  }
  reopen();
  for (const JobId job : std::set(hidden_)) {
    show(job);
  }
}

/// Hides, blocks, sets aside and raises what the leader did there. Both have the same jobs, alike
/// in rings, and the same numbers of pools.
void PendingIndex::copy_leader(const PendingIndex& other) {
  for (const auto& [id, known] : other.jobs_) {
    const Ring& ring = other.rings_[known.ring];
    const RingNumber number = jobs_.at(id).ring;
    block_in(number, ring.blocked, false);
    set_aside_in(number, ring.aside);
    for (const auto& [pool, charge] : ring.raised) {
      raise_in(number, pool, charge);
    }
    if (known.ask.has_value()) {
      hide(id, known.ask->pool, known.ask->charge);
    }
  }
  for (const auto& [pool, planned] : other.order_.planned()) {
    order_.pass(pool, {planned.job, rings_[jobs_.at(planned.job).ring].leaf, planned.charge});
  }
}

bool PendingIndex::is_right(const State& state) const {
  PendingIndex made;
  made.begin(state);
  // A type that no host has any more keeps its pool.
  for (std::uint32_t i = 1; i < order_.all().pools(); ++i) {
    for (const std::string& type : order_.all().types(static_cast<PoolNumber>(i))) {
      made.order_.enter_pool(state, type);
    }
  }
  for (const auto& [id, known] : jobs_) {
    const Job* job = state.job(id);
    const RingKey& key = *rings_[known.ring].key;
    if (job == nullptr || !job->is_pending() || (key.alone != JobId() && key.alone != id) ||
        (key.alone == JobId() && !job->life.left_out.empty()) ||
        key != key_of(state, *job, key.alone != JobId())) {
      return false;
    }
    made.add(state, *job, key);
  }
  for (const auto& [id, host] : state.hosts()) {
    if (const std::string type = folded(host.gpu_type); !type.empty() && !order_.all().pool(type)) {
      return false;
    }
  }
  made.copy_leader(*this);
  const auto shows = [&](const auto& each) {
    const Ring& ring = rings_[each.second];
    const Ring& its = made.rings_[made.numbers_.at(each.first)];
    return ring.waiting == its.waiting && ring.jobs == its.jobs && ring.pools == its.pools;
  };
  const auto is_listed = [&](std::uint32_t pool) {
    return std::all_of(numbers_.begin(), numbers_.end(), [&](const auto& each) {
      const bool is_blocked = (rings_[each.second].blocked >> pool & 1) != 0;
      return is_blocked == blocked_[pool].contains(each.second);
    });
  };
  bool are_listed = true;
  for (std::uint32_t pool = 0; pool < kPoolsMax; ++pool) {
    are_listed = are_listed && is_listed(pool);
  }
  return jobs_.size() == state.pending() && queues_ == made.queues_ && are_listed &&
         numbers_.size() == made.numbers_.size() &&
         std::all_of(numbers_.begin(), numbers_.end(), shows) && hidden_ == made.hidden_ &&
         order_.text() == made.order_.text();
}

}  // namespace muster::scheduler
