#include "scheduler/state/queue_book.h"

#include <utility>

#include "gossip/base/check.h"

namespace muster::scheduler {
namespace {

struct PathOrder {
  bool operator()(std::string_view a, std::string_view b) const { return path_less(a, b); }
};

QueueNode plain_node(std::string_view path) {
  QueueNode node;
  node.path = path;
  return node;
}

/// The nodes of the tree, the parents that it leaves out, and kDefaultQueue.
std::map<std::string, QueueNode, PathOrder> whole_tree(const QueueTree& tree) {
  std::map<std::string, QueueNode, PathOrder> nodes;
  for (const QueueNode& node : tree.nodes) {
    for (std::string_view up = parent_path(node.path); !up.empty(); up = parent_path(up)) {
      nodes.try_emplace(std::string(up), plain_node(up));
    }
    nodes[node.path] = node;
  }
  nodes.try_emplace(std::string(kDefaultQueue), plain_node(kDefaultQueue));
  return nodes;
}

}  // namespace

QueueBook::QueueBook(std::uint64_t version, QueueTree tree)
    : version_(version), tree_(std::move(tree)) {
  std::map<std::string, QueueNode, PathOrder> nodes = whole_tree(tree_);
  if (!is_set()) {
    // As before there were queues: one line of jobs, whatever their users.
    nodes.at(std::string(kDefaultQueue)).is_fifo = true;
  }
  std::map<std::string, QueueAmounts> guarantees = guarantees_of(tree_);
  queues_.reserve(1 + nodes.size());
  queues_.emplace_back();
  for (auto& [path, node] : nodes) {
    const QueueNumber number{static_cast<std::uint32_t>(queues_.size())};
    QueueRecord record;
    if (const std::string_view up = parent_path(path); !up.empty()) {
      // Its parent stands before it: path_less().
      record.parent = numbers_.find(up)->second;
    }
    record.guaranteed = std::move(guarantees[path]);
    record.node = std::move(node);
    queues_[index_of(record.parent)].children.push_back(number);
    queues_.push_back(std::move(record));
    numbers_.emplace(path, number);
  }
  CHECK(numbers_.size() + 1 == queues_.size());
}

std::optional<QueueNumber> QueueBook::find(std::string_view path) const {
  const auto found = numbers_.find(path);
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

QueueNumber QueueBook::number_of(std::string_view path) const {
  const auto found = numbers_.find(path);
  return found == numbers_.end() ? numbers_.find(kDefaultQueue)->second : found->second;
}

std::vector<Tier> QueueBook::tiers(QueueNumber number) const {
  for (QueueNumber up = number; up != kRootQueue; up = at(up).parent) {
    if (!at(up).node.tiers.empty()) {
      return at(up).node.tiers;
    }
  }
  return {Tier::kStandard, Tier::kInteractive, Tier::kBatch, Tier::kPremium, Tier::kInference};
}

const std::vector<std::string>& QueueBook::members(QueueNumber number) const {
  QueueNumber up = number;
  while (up != kRootQueue && at(up).node.members.empty()) {
    up = at(up).parent;
  }
  return at(up).node.members;
}

std::optional<Duration> QueueBook::time_limit_max(QueueNumber number) const {
  QueueNumber up = number;
  while (up != kRootQueue && !at(up).node.time_limit_max.has_value()) {
    up = at(up).parent;
  }
  return at(up).node.time_limit_max;
}

}  // namespace muster::scheduler
