#include "scheduler/policy/share_tree.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "gossip/base/check.h"
#include "scheduler/protocol/mutants.h"

namespace muster::scheduler {
namespace {

__extension__ using Wide = unsigned __int128;

/// Thousandths of a GPU or CPU in an amount.
constexpr std::uint64_t kOfOne = 1000;

std::uint64_t amount_of(const QueueAmounts& amounts, std::string_view key, std::uint64_t missing) {
  const auto found = amounts.find(key);
  return found == amounts.end() ? missing : found->second * kOfOne;
}

}  // namespace

std::uint64_t ShareTree::Bounds::room() const {
  const bool is_bounded = max != UINT64_MAX && !mutant(SchedulerMutant::kQueueMaxIgnored);
  return is_bounded ? max - std::min(max, held + asked) : UINT64_MAX;
}

std::uint64_t ShareTree::Node::room() const {
  return std::min(own.room(), gpus.room());
}

bool ShareTree::Rank::operator<(const Rank& other) const {
  if (is_owed != other.is_owed) {
    return is_owed;
  }
  if (tier != other.tier) {
    return tier > other.tier;
  }
  const Wide mine = Wide{held} * other.divisor;
  const Wide its = Wide{other.held} * divisor;
  if (mine != its) {
    return mine < its;
  }
  return std::tie(is_leaf, user, node) < std::tie(other.is_leaf, other.user, other.node);
}

ShareTree::ShareTree(std::string pool) : pool_(std::move(pool)) {}

void ShareTree::rebuild(const State& state) {
  const std::vector<QueueRecord>& all = state.queues().all();
  const std::string_view key = is_of_gpus() ? std::string_view(pool_) : kCpus;
  leaves_.clear();
  queues_.clear();
  queues_.resize(all.size());
  for (std::uint32_t number = 0; number < all.size(); ++number) {
    const QueueRecord& record = all[number];
    Node& queue = queues_[number];
    queue.parent = index_of(record.parent);
    queue.weight = mutant(SchedulerMutant::kWeightIgnored) ? 1 : record.node.weight;
    queue.own.max = amount_of(record.node.max, key, UINT64_MAX);
    queue.own.guaranteed = amount_of(record.guaranteed, key, 0);
    if (is_of_gpus()) {
      queue.gpus.max = amount_of(record.node.max, kAllGpus, UINT64_MAX);
      queue.gpus.guaranteed = amount_of(record.guaranteed, kAllGpus, 0);
    }
    if (!record.children.empty() && mutant(SchedulerMutant::kMaxOfLeavesOnly)) {
      queue.own.max = queue.gpus.max = UINT64_MAX;
    }
    if (!record.children.empty() && mutant(SchedulerMutant::kGuaranteeOfLeavesOnly)) {
      queue.own.guaranteed = queue.gpus.guaranteed = 0;
    }
    queue.is_below_gpus = queue.gpus.max != UINT64_MAX || queue.gpus.guaranteed != 0 ||
                          (number != 0 && queues_[queue.parent].is_below_gpus);
    read_queue(state, number);
  }
}

void ShareTree::read_queue(const State& state, std::uint32_t number) {
  Node& queue = queues_[number];
  const auto name = static_cast<QueueNumber>(number);
  const Share share = state.shares().share(name, pool_);
  queue.own.held = share.held;
  queue.credit = share.credit;
  queue.gpus.held = is_of_gpus() ? state.shares().held_gpus(name) : 0;
}

/// A user without a record has used nothing lately, or shares the record of kOtherUsers. One
/// without a mean has begun since the last sample, which gave no credit yet.
void ShareTree::read_leaf(const State& state, Node& node) const {
  static const std::string others(kOtherUsers);
  const ShareBook& shares = state.shares();
  const QueueNumber queue = node.leaf->queue;
  Share share = shares.share(queue, node.leaf->user, pool_);
  if (share == Share()) {
    share = shares.share(queue, others, pool_);
  }
  if (share.mean == 0 && shares.share(queue, pool_).mean != 0) {
    share.credit = kCreditMax;
  }
  node.own.held = share.held;
  node.credit = share.credit;
}

void ShareTree::enter(const State& state, LeafNumber number, const Leaf& leaf) {
  if (leaves_.size() <= index_of(number)) {
    leaves_.resize(index_of(number) + 1);
  }
  Node& node = leaves_[index_of(number)];
  CHECK(!node.rank.has_value() && node.own.asked == 0);
  node.parent = index_of(leaf.queue);
  node.leaf = &leaf;
  read_leaf(state, node);
}

ShareTree::Node& ShareTree::child_of(const Rank& rank) {
  return rank.is_leaf ? leaves_[rank.node] : queues_[rank.node];
}

/// Puts the child where it belongs among its siblings.
void ShareTree::put(Node& child, std::uint32_t number) {
  std::set<Rank>& siblings = queues_[child.parent].children;
  if (child.rank.has_value()) {
    siblings.erase(*child.rank);
    child.rank.reset();
  }
  if (!child.offer.has_value()) {
    return;
  }
  Rank rank;
  const std::uint64_t charge = child.offer->charge;
  rank.is_owed = child.own.covers(charge) || child.gpus.covers(charge);
  rank.tier = mutant(SchedulerMutant::kTierIgnored) ? Tier::kNone : child.offer->place.tier;
  rank.held = child.own.held + child.own.asked;
  rank.divisor = child.weight * child.credit;
  rank.is_leaf = child.leaf != nullptr;
  rank.user = rank.is_leaf ? std::string_view(child.leaf->user) : std::string_view();
  rank.node = number;
  siblings.insert(rank);
  child.rank = rank;
}

void ShareTree::offer_first(Node& queue) {
  queue.offer.reset();
  if (!queue.children.empty()) {
    const Offer& next = *child_of(*queue.children.begin()).offer;
    if (next.charge <= queue.room()) {
      queue.offer = next;
    }
  }
}

/// Renews the offers of the queue and of those above it.
void ShareTree::lift(std::uint32_t queue) {
  for (;; queue = queues_[queue].parent) {
    offer_first(queues_[queue]);
    if (queue == index_of(kRootQueue)) {
      return;
    }
    put(queues_[queue], queue);
  }
}

void ShareTree::offer(LeafNumber number, const std::optional<Offer>& next) {
  Node& leaf = leaves_[index_of(number)];
  if (leaf.offer != next) {
    leaf.offer = next;
    put(leaf, index_of(number));
    lift(leaf.parent);
  }
}

void ShareTree::ask(LeafNumber number, std::int64_t charge) {
  const auto more = static_cast<std::uint64_t>(charge);  // Wraps around if it is less.
  Node& leaf = leaves_[index_of(number)];
  leaf.own.asked += more;
  put(leaf, index_of(number));
  for (std::uint32_t queue = leaf.parent;; queue = queues_[queue].parent) {
    queues_[queue].own.asked += more;
    queues_[queue].gpus.asked += is_of_gpus() ? more : 0;
    if (queue == index_of(kRootQueue)) {
      break;
    }
  }
  lift(leaf.parent);
}

void ShareTree::ask_elsewhere(QueueNumber queue, std::int64_t charge) {
  for (std::uint32_t above = index_of(queue);; above = queues_[above].parent) {
    queues_[above].gpus.asked += static_cast<std::uint64_t>(charge);
    if (above == index_of(kRootQueue)) {
      break;
    }
  }
  if (queues_[index_of(queue)].is_below_gpus) {
    lift(index_of(queue));
  }
}

void ShareTree::on_leaf_held(const State& state, LeafNumber number) {
  Node& leaf = leaves_[index_of(number)];
  read_leaf(state, leaf);
  put(leaf, index_of(number));
}

void ShareTree::on_queue_held(const State& state, QueueNumber queue) {
  for (std::uint32_t above = index_of(queue);; above = queues_[above].parent) {
    read_queue(state, above);
    if (above == index_of(kRootQueue)) {
      break;
    }
  }
  lift(index_of(queue));
}

void ShareTree::on_gpus_held(const State& state, QueueNumber queue) {
  for (std::uint32_t above = index_of(queue);; above = queues_[above].parent) {
    queues_[above].gpus.held = state.shares().held_gpus(static_cast<QueueNumber>(above));
    if (above == index_of(kRootQueue)) {
      break;
    }
  }
  if (queues_[index_of(queue)].is_below_gpus) {
    lift(index_of(queue));
  }
}

void ShareTree::on_credits(const State& state) {
  // Children have higher numbers than their parents.
  for (auto number = static_cast<std::uint32_t>(queues_.size()); number-- > 0;) {
    read_queue(state, number);
    offer_first(queues_[number]);
    if (number != index_of(kRootQueue)) {
      put(queues_[number], number);
    }
  }
}

std::uint64_t ShareTree::room(LeafNumber number) const {
  std::uint64_t least = UINT64_MAX;
  for (std::uint32_t queue = leaves_[index_of(number)].parent;; queue = queues_[queue].parent) {
    least = std::min(least, queues_[queue].room());
    if (queue == index_of(kRootQueue)) {
      return least;
    }
  }
}

bool ShareTree::could_ever(QueueNumber queue, std::uint64_t charge) const {
  for (std::uint32_t above = index_of(queue);; above = queues_[above].parent) {
    if (charge > std::min(queues_[above].own.max, queues_[above].gpus.max)) {
      return false;
    }
    if (above == index_of(kRootQueue)) {
      return true;
    }
  }
}

std::string ShareTree::text() const {
  const auto number = [](std::uint64_t value) { return " " + std::to_string(value); };
  std::string text;
  for (std::uint32_t i = 0; i < queues_.size(); ++i) {
    const Node& queue = queues_[i];
    text += pool_ + number(i) + ":" + number(queue.own.held) + number(queue.own.asked) +
            number(queue.gpus.held) + number(queue.gpus.asked) + " offers" +
            (queue.offer.has_value()
                 ? number(queue.offer->place.job.value()) + number(queue.offer->charge)
                 : "") +
            "\n";
    for (const Rank& rank : queue.children) {
      text += "  " + (rank.is_leaf ? "user " + std::string(rank.user) : std::to_string(rank.node)) +
              (rank.is_owed ? " owed" : "") + number(static_cast<std::uint64_t>(rank.tier)) +
              number(rank.held) + number(rank.divisor) + "\n";
    }
  }
  return text;
}

}  // namespace muster::scheduler
