#include "scheduler/policy/share_order.h"

#include <utility>

#include "gossip/base/check.h"

namespace muster::scheduler {

void ShareOrder::rebuild(const State& state) {
  *this = ShareOrder();
  asked_gpus_.resize(state.queues().all().size());
  pools_.emplace(std::string(kCpuPool), kCpuPoolNumber);
  trees_.emplace_back(std::string(kCpuPool)).rebuild(state);
  types_.emplace_back();
}

PoolNumber ShareOrder::enter_pool(const State& state, const std::string& type) {
  if (const auto known = pools_.find(type); known != pools_.end()) {
    return known->second;
  }
  const bool is_last = trees_.size() + 1 >= kPoolsMax;
  if (is_last && trees_.size() == kPoolsMax) {
    const auto shared = static_cast<PoolNumber>(kPoolsMax - 1);
    pools_.emplace(type, shared);
    types_.back().push_back(type);
    return shared;
  }
  const auto number = static_cast<PoolNumber>(trees_.size());
  ShareTree& tree = trees_.emplace_back(is_last ? std::string(kOtherPool) : type);
  tree.rebuild(state);
  for (std::uint32_t queue = 0; queue < asked_gpus_.size(); ++queue) {
    if (asked_gpus_[queue] != 0) {
      tree.ask_elsewhere(static_cast<QueueNumber>(queue), asked_gpus_[queue]);
    }
  }
  for (const auto& [leaf, its] : leaves_) {
    tree.enter(state, its, leaf);
  }
  pools_.emplace(type, number);
  pools_.emplace(tree.pool(), number);
  types_.push_back({type});
  return number;
}

std::optional<PoolNumber> ShareOrder::pool(std::string_view name) const {
  const auto known = pools_.find(name);
  return known == pools_.end() ? std::nullopt : std::optional(known->second);
}

PoolSet ShareOrder::gpu_pools() const {
  const PoolSet all = trees_.size() == 64 ? ~PoolSet{0} : (PoolSet{1} << trees_.size()) - 1;
  return all & ~set_of(kCpuPoolNumber);
}

LeafNumber ShareOrder::enter(const State& state, const Leaf& leaf) {
  const auto [place, is_new] = leaves_.emplace(leaf, LeafNumber());
  if (!is_new) {
    return place->second;
  }
  if (unused_.empty()) {
    place->second = static_cast<LeafNumber>(leaves_.size() - 1);
  } else {
    place->second = unused_.back();
    unused_.pop_back();
  }
  for (ShareTree& tree : trees_) {
    tree.enter(state, place->second, place->first);
  }
  return place->second;
}

void ShareOrder::forget(const Leaf& leaf) {
  const auto known = leaves_.find(leaf);
  CHECK(known != leaves_.end());
  unused_.push_back(known->second);
  leaves_.erase(known);
}

void ShareOrder::ask(PoolNumber pool, LeafNumber leaf, QueueNumber queue, std::int64_t charge) {
  trees_[index_of(pool)].ask(leaf, charge);
  if (pool == kCpuPoolNumber) {
    return;
  }
  asked_gpus_[index_of(queue)] += charge;  // Trees of pools that come later begin with it.
  for (ShareTree& tree : trees_) {
    if (tree.is_of_gpus() && &tree != &trees_[index_of(pool)]) {
      tree.ask_elsewhere(queue, charge);
    }
  }
}

void ShareOrder::on_share(const State& state, const AttemptShare& share) {
  const QueueNumber queue = state.queues().number_of(share.queue);
  const std::optional<PoolNumber> own = pool(share.pool);
  if (own.has_value()) {
    ShareTree& tree = trees_[index_of(*own)];
    // Users without a record of their own read that of kOtherUsers.
    const bool is_of_others = share.user == kOtherUsers;
    for (auto leaf = leaves_.lower_bound({queue, is_of_others ? std::string() : share.user});
         leaf != leaves_.end() && leaf->first.queue == queue &&
         (is_of_others || leaf->first.user == share.user);
         ++leaf) {
      tree.on_leaf_held(state, leaf->second);
    }
    tree.on_queue_held(state, queue);
  }
  if (share.pool == kCpuPool) {
    return;
  }
  for (ShareTree& tree : trees_) {
    if (tree.is_of_gpus() && (!own.has_value() || &tree != &trees_[index_of(*own)])) {
      tree.on_gpus_held(state, queue);
    }
  }
}

void ShareOrder::on_credits(const State& state) {
  for (ShareTree& tree : trees_) {
    for (const auto& [leaf, number] : leaves_) {
      tree.on_leaf_held(state, number);
    }
    tree.on_credits(state);
  }
}

std::string ShareOrder::text() const {
  std::string text;
  for (const ShareTree& tree : trees_) {
    text += tree.text();
  }
  return text;
}

}  // namespace muster::scheduler
