#include "scheduler/policy/ring_order.h"

#include "gossip/base/check.h"

namespace muster::scheduler {

void RingOrder::rebuild(const State& state) {
  *this = RingOrder();
  all_.rebuild(state);
  open_.rebuild(state);
}

PoolNumber RingOrder::enter_pool(const State& state, const std::string& type) {
  const PoolNumber pool = all_.enter_pool(state, type);
  CHECK(open_.enter_pool(state, type) == pool);
  return pool;
}

LeafNumber RingOrder::enter(const State& state, const Leaf& leaf) {
  const LeafNumber number = all_.enter(state, leaf);
  CHECK(open_.enter(state, leaf) == number);
  if (leaves_.size() <= index_of(number)) {
    leaves_.resize(index_of(number) + 1);
  }
  leaves_[index_of(number)].queue = leaf.queue;
  return number;
}

void RingOrder::forget(const Leaf& leaf) {
  all_.forget(leaf);
  open_.forget(leaf);
}

std::optional<Offer> RingOrder::offer_of(const Heads& heads, PoolNumber pool,
                                         QueueNumber queue) const {
  for (const auto& [key, charge] : heads) {
    if (all_.tree(pool).could_ever(queue, charge)) {
      return Offer{key.first, key.second, charge};
    }
  }
  return std::nullopt;
}

void RingOrder::move(PoolNumber pool, LeafNumber leaf, RingNumber ring,
                     const std::optional<QueueKey>& before, const std::optional<RingHead>& after) {
  LeafRings& its = leaves_[index_of(leaf)];
  if (its.by_pool.size() <= index_of(pool)) {
    its.by_pool.resize(index_of(pool) + 1);
  }
  LeafHeads& heads = its.by_pool[index_of(pool)];
  if (before.has_value()) {
    heads.all.erase({*before, ring});
    heads.open.erase({*before, ring});
  }
  if (after.has_value()) {
    heads.all.emplace(std::pair(after->place, ring), after->charge);
    if (!after->is_blocked) {
      heads.open.emplace(std::pair(after->place, ring), after->charge);
    }
  }
  all_.offer(pool, leaf, offer_of(heads.all, pool, its.queue));
  open_.offer(pool, leaf, offer_of(heads.open, pool, its.queue));
}

void RingOrder::ask(PoolNumber pool, LeafNumber leaf, std::int64_t charge) {
  const QueueNumber queue = leaves_[index_of(leaf)].queue;
  all_.ask(pool, leaf, queue, charge);
  open_.ask(pool, leaf, queue, charge);
}

void RingOrder::on_share(const State& state, const AttemptShare& share) {
  all_.on_share(state, share);
  open_.on_share(state, share);
}

void RingOrder::on_credits(const State& state) {
  all_.on_credits(state);
  open_.on_credits(state);
}

void RingOrder::pass(PoolNumber pool, const PlannedJob& planned) {
  const auto known = planned_.find(pool);
  if (known == planned_.end() || known->second != planned) {
    be_strict(pool);
    planned_[pool] = planned;
    open_.ask(pool, planned.leaf, leaves_[index_of(planned.leaf)].queue,
              static_cast<std::int64_t>(planned.charge));
  }
}

void RingOrder::be_strict(PoolNumber pool) {
  const auto known = planned_.find(pool);
  if (known != planned_.end()) {
    const PlannedJob& planned = known->second;
    open_.ask(pool, planned.leaf, leaves_[index_of(planned.leaf)].queue,
              -static_cast<std::int64_t>(planned.charge));
    planned_.erase(known);
  }
}

void RingOrder::forget_plans_for(JobId job) {
  for (const auto& [pool, planned] : std::map(planned_)) {
    if (planned.job == job) {
      be_strict(pool);
    }
  }
}

}  // namespace muster::scheduler
