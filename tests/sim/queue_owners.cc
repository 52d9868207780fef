#include "tests/sim/queue_owners.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "agent/api/jobs.h"
#include "agent/api/payload.h"
#include "agent/api/queues.h"
#include "agent/api/request.h"
#include "scheduler/state/queue_book.h"
#include "tests/sim/queue_trees.h"

namespace muster::sim {
namespace {

using scheduler::QueueAmounts;
using scheduler::QueueBook;
using scheduler::QueueNode;
using scheduler::QueueTree;

/// Leaves of the last tree: submits name these, so that each is accepted in the end.
constexpr std::array<std::string_view, 4> kNamed = {"batch", "lab/one", "lab/two", "prod"};
constexpr std::string_view kParent = "lab";
constexpr std::string_view kGpuType = "h100";

QueueTree last_tree() {
  QueueTree tree;
  for (const std::string_view path : kNamed) {
    QueueNode node;
    node.path = path;
    tree.nodes.push_back(std::move(node));
  }
  return tree;
}

std::vector<std::string> leaves_of(const QueueBook& queues) {
  std::vector<std::string> leaves;
  for (const scheduler::QueueRecord& queue : queues.all()) {
    if (queue.is_leaf()) {
      leaves.push_back(queue.node.path);
    }
  }
  return leaves;
}

}  // namespace

void ask_for_queue(scheduler::JobSpec& spec, Rng& rng, std::uint32_t chance) {
  if (chance == 0 || !rng.chance(chance)) {
    return;
  }
  spec.queue = rng.chance(800'000) ? std::string(kNamed[rng.below(kNamed.size())]) : "";
  spec.tier =
      static_cast<scheduler::Tier>(rng.below(static_cast<std::uint64_t>(scheduler::kTierLast) + 1));
}

void QueueOwners::change() {
  const std::uint32_t leader = world_.leader();
  if (leader < world_.size()) {
    ++counts_["queues_set"];
    say(world_.node(leader).seat().state().queues(), is_wide_ ? some_wide_tree(rng_) : some_tree(),
        false);
  }
}

void QueueOwners::set_last(std::uint32_t leader) {
  const QueueBook& known = world_.node(leader).seat().state().queues();
  QueueTree last = is_wide_ ? last_wide_tree() : last_tree();
  if (!known.is_set() || known.tree() != last) {
    say(known, std::move(last), true);
  }
}

void QueueOwners::edit() {
  const std::uint32_t leader = world_.leader();
  std::vector<JobId> jobs;
  if (leader < world_.size()) {
    for (const auto& [id, job] : world_.node(leader).seat().state().jobs()) {
      // A large one might come to a queue whose last max keeps it out for ever.
      if (!job.has_ended() && job.spec.request.gpus <= kWideGpusMax) {
        jobs.push_back(id);
      }
    }
  }
  if (jobs.empty()) {
    return;
  }
  ++counts_["edited"];
  agent::EditArgs arguments;
  arguments.job = jobs[rng_.below(jobs.size())];
  arguments.keeps_priority = !rng_.chance(300'000);
  arguments.priority = static_cast<std::int64_t>(rng_.below(3));
  if (rng_.chance(500'000)) {
    arguments.queue =
        is_wide_ ? kWideLeaves[rng_.below(kWideLeaves.size())] : kNamed[rng_.below(kNamed.size())];
  }
  if (rng_.chance(400'000)) {
    arguments.tier = static_cast<scheduler::Tier>(
        rng_.below(static_cast<std::uint64_t>(scheduler::kTierLast) + 1));
  }
  if (rng_.chance(400'000)) {
    arguments.time_limit_ms = 3'000 + rng_.below(10'000);
    arguments.adds_time = rng_.chance(300'000);
  }
  agent::Request request;
  request.verb = agent::Verb::kEdit;
  request.arguments = agent::encode_payload(arguments);
  world_.ask(static_cast<std::uint32_t>(rng_.below(world_.size())), std::move(request));
}

void QueueOwners::say(const QueueBook& before, QueueTree tree, bool is_right) {
  agent::SetQueuesArgs arguments;
  arguments.expected = before.version();
  if (!is_right && before.is_set() && rng_.chance(150'000)) {
    --arguments.expected;
  }
  const std::vector<std::string> leaves = leaves_of(QueueBook(before.version() + 1, tree));
  for (const std::string& path : leaves_of(before)) {
    const bool stays = std::find(leaves.begin(), leaves.end(), path) != leaves.end();
    if (!stays && (is_right || rng_.chance(850'000))) {
      arguments.moves.push_back({path, leaves[rng_.below(leaves.size())]});
    }
  }
  arguments.tree = std::move(tree);
  agent::Request request;
  request.verb = agent::Verb::kSetQueues;
  request.arguments = agent::encode_payload(arguments);
  world_.ask(static_cast<std::uint32_t>(rng_.below(world_.size())), std::move(request));
}

void QueueOwners::add_node(QueueTree& tree, std::string_view path, bool may_have_guarantee) {
  QueueNode node;
  node.path = path;
  node.weight = static_cast<std::uint32_t>(1 + rng_.below(8));
  node.is_fifo = rng_.chance(300'000);
  const std::uint64_t kind = rng_.below(6);
  if (kind < 3) {
    const std::string_view key = kind == 0   ? scheduler::kAllGpus
                                 : kind == 1 ? kGpuType
                                             : scheduler::kCpus;
    node.max[std::string(key)] = 1 + rng_.below(24);
  } else if (kind == 3 && may_have_guarantee) {
    node.guaranteed[std::string(kGpuType)] = 1 + rng_.below(8);
  }
  if (rng_.chance(200'000)) {
    node.tiers = {scheduler::Tier::kBatch, scheduler::Tier::kPremium};
  }
  tree.nodes.push_back(std::move(node));
}

/// Two to six queues, in the order of their paths.
QueueTree QueueOwners::some_tree() {
  QueueTree tree;
  tree.half_life = rng_.chance(500'000) ? scheduler::kHalfLifeMin : scheduler::kHalfLifeDefault;
  if (rng_.chance(700'000)) {
    add_node(tree, kNamed[0], true);
  }
  if (rng_.chance(300'000)) {
    add_node(tree, scheduler::kDefaultQueue, true);
  }
  add_node(tree, kParent, false);
  const bool may_have_guarantee = tree.nodes.back().max.empty();
  for (const std::string_view path : {kNamed[1], kNamed[2]}) {
    if (rng_.chance(700'000)) {
      add_node(tree, path, may_have_guarantee);
    }
  }
  add_node(tree, kNamed[3], true);
  return tree;
}

}  // namespace muster::sim
