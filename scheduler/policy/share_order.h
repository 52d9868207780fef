#pragma once
// The order of leaves by shares, pool by pool: a ShareTree for each GPU type of known hosts and for
// jobs without GPUs, with the same leaves. Pools do not hold each other up. Beyond kPoolsMax the
// types share one tree. Owned by PendingIndex; pure; integers only.
//
// Invariant: if the caller called on_share() for each share of which more or less is held and
// on_credits() for new credits, then each tree equals one made from the state now, with the same
// offers and the same asks.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/policy/share_tree.h"

namespace muster::scheduler {

/// A dense number of the order of shares alone, below kPoolsMax: never logged, never sent.
enum class PoolNumber : std::uint32_t {};
constexpr std::uint32_t index_of(PoolNumber number) {
  return static_cast<std::uint32_t>(number);
}
inline constexpr PoolNumber kCpuPoolNumber{0};

/// A bit for each pool.
using PoolSet = std::uint64_t;
static_assert(kPoolsMax <= 64);
constexpr PoolSet set_of(PoolNumber pool) {
  return PoolSet{1} << index_of(pool);
}

class ShareOrder {
 public:
  /// Starts again with the queues of that state, the pool of jobs without GPUs, and no leaf.
  void rebuild(const State& state);

  /// The pool of a folded GPU type; made if it is new.
  PoolNumber enter_pool(const State& state, const std::string& type);
  /// Of a folded GPU type or kCpuPool; nullopt: no known host has that type.
  std::optional<PoolNumber> pool(std::string_view name) const;
  std::size_t pools() const { return trees_.size(); }
  /// All pools of GPUs.
  PoolSet gpu_pools() const;
  /// The types that share the pool; empty for kCpuPoolNumber.
  const std::vector<std::string>& types(PoolNumber pool) const { return types_[index_of(pool)]; }

  /// The number of the leaf; made if it is new.
  LeafNumber enter(const State& state, const Leaf& leaf);
  /// Precondition: the leaf offers nothing and has asked for nothing.
  void forget(const Leaf& leaf);

  /// See ShareTree::offer().
  void offer(PoolNumber pool, LeafNumber leaf, const std::optional<Offer>& next) {
    trees_[index_of(pool)].offer(leaf, next);
  }
  /// A leaf of that queue asked the log for so much more, or less, of the pool.
  void ask(PoolNumber pool, LeafNumber leaf, QueueNumber queue, std::int64_t charge);
  /// More or less is held of the share (ApplyResult::shares_changed).
  void on_share(const State& state, const AttemptShare& share);
  /// ApplyResult::credits_changed.
  void on_credits(const State& state);

  const Offer* first(PoolNumber pool) const { return trees_[index_of(pool)].first(); }
  const ShareTree& tree(PoolNumber pool) const { return trees_[index_of(pool)]; }
  /// For tests.
  std::string text() const;

 private:
  std::vector<ShareTree> trees_;                 ///< By PoolNumber.
  std::vector<std::vector<std::string>> types_;  ///< By PoolNumber.
  std::map<std::string, PoolNumber, std::less<>> pools_;
  std::map<Leaf, LeafNumber> leaves_;
  std::vector<LeafNumber> unused_;        ///< Numbers that may be given again.
  std::vector<std::int64_t> asked_gpus_;  ///< By queue: of its own leaves, over all GPU types.
};

}  // namespace muster::scheduler
