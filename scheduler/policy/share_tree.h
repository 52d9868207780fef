#pragma once
// The tree of queues in one pool, with a leaf for each user: which leaf is next there. Among the
// children of a queue that offer a job, the first is one whose job its guarantee still covers; then
// the one whose job has the higher tier; then the one that holds least for its weight times its
// credit. A queue offers the offer of its first child, or makes no offer while that job does not
// fit below the own max of the queue: a queue at its max waits, and others pass it. Amounts are
// thousandths of a GPU, or of a CPU in kCpuPool. Owned by ShareOrder; pure; integers only.
//
// Invariants: a node stands among the children of its parent exactly while it offers something, by
// the rank that follows from its offer, its amounts and its credit; the amounts of a node are those
// of the ShareBook at the last call about it, with what was asked for.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/policy/queue_key.h"
#include "scheduler/state/share_book.h"
#include "scheduler/state/state.h"

namespace muster::scheduler {

/// A dense number of the order of shares alone: never logged, never sent.
enum class LeafNumber : std::uint32_t {};
constexpr std::uint32_t index_of(LeafNumber number) {
  return static_cast<std::uint32_t>(number);
}

/// A job that a leaf or queue would start next.
struct Offer {
  QueueKey place;
  std::size_t ring = 0;      ///< Of PendingIndex.
  std::uint64_t charge = 0;  ///< Held once it starts.
  bool operator==(const Offer&) const = default;
};

class ShareTree {
 public:
  /// `pool`: a folded GPU type, kOtherPool or kCpuPool. Call rebuild() before anything else.
  explicit ShareTree(std::string pool);

  const std::string& pool() const { return pool_; }
  bool is_of_gpus() const { return pool_ != kCpuPool; }

  /// Starts again with the queues of that state and without leaves.
  void rebuild(const State& state);
  /// The number stands for this leaf from now on. Precondition: the leaf that had it before offers
  /// nothing and has asked for nothing. The Leaf outlives that.
  void enter(const State& state, LeafNumber number, const Leaf& leaf);
  /// The next job of the leaf; nullopt: it has none in this pool.
  void offer(LeafNumber number, const std::optional<Offer>& next);
  /// The leaf asked the log for so much more, or less, of this pool.
  void ask(LeafNumber number, std::int64_t charge);
  /// A leaf of this queue asked for so much more, or less, in another pool of GPUs.
  void ask_elsewhere(QueueNumber queue, std::int64_t charge);
  // More or less is held: reads the ShareBook again.
  /// Call on_queue_held() or on_credits() afterwards.
  void on_leaf_held(const State& state, LeafNumber number);
  /// Of the queue and those above it.
  void on_queue_held(const State& state, QueueNumber queue);
  /// More or less is held of other GPU types.
  void on_gpus_held(const State& state, QueueNumber queue);
  /// Of all queues, with their credits. Call it after on_leaf_held() for each leaf. O(queues).
  void on_credits(const State& state);

  /// The next job of the pool; null if all queues wait or are empty.
  const Offer* first() const { return queues_[0].offer.has_value() ? &*queues_[0].offer : nullptr; }
  /// How much more the leaf may get before a queue above it is at its max; UINT64_MAX: no limit.
  std::uint64_t room(LeafNumber number) const;
  /// Whether the charge is below each max on the path while nothing is held.
  bool could_ever(QueueNumber queue, std::uint64_t charge) const;
  /// Everything that next jobs follow from, a node a line, for tests.
  std::string text() const;

 private:
  struct Bounds {
    std::uint64_t max = UINT64_MAX;
    std::uint64_t guaranteed = 0;
    std::uint64_t held = 0;   ///< In the log.
    std::uint64_t asked = 0;  ///< Beside that.

    std::uint64_t room() const;
    bool covers(std::uint64_t charge) const { return held + asked + charge <= guaranteed; }
  };
  /// The order of siblings, the first to start something first.
  struct Rank {
    bool is_owed = false;
    Tier tier = Tier::kNone;
    std::uint64_t held = 0;
    std::uint64_t divisor = 1;  ///< Weight times credit.
    std::string_view user;      ///< Of a leaf.
    bool is_leaf = false;
    std::uint32_t node = 0;  ///< QueueNumber or LeafNumber.
    bool operator<(const Rank& other) const;
  };
  struct Node {
    std::uint32_t parent = 0;
    std::uint64_t weight = 1;
    std::uint32_t credit = kCreditOne;
    Bounds own;                  ///< Of this pool.
    Bounds gpus;                 ///< Of GPUs of all types; unbounded in kCpuPool and for leaves.
    bool is_below_gpus = false;  ///< It, or a queue above it, has a bound of GPUs of all types.
    const Leaf* leaf = nullptr;  ///< Null: it is a queue.
    std::optional<Offer> offer;  ///< To its parent.
    std::optional<Rank> rank;    ///< Among the children of its parent, while it offers something.
    std::set<Rank> children;     ///< Children that offer something.
    std::uint64_t room() const;
  };

  void read_queue(const State& state, std::uint32_t number);
  void read_leaf(const State& state, Node& node) const;
  Node& child_of(const Rank& rank);
  void put(Node& child, std::uint32_t number);
  void offer_first(Node& queue);
  void lift(std::uint32_t queue);

  std::string pool_;
  std::vector<Node> queues_;  ///< By QueueNumber.
  std::vector<Node> leaves_;  ///< By LeafNumber.
};

}  // namespace muster::scheduler
