#include "tests/sim/queue_trees.h"

#include <string>
#include <utility>

#include "gossip/base/check.h"

namespace muster::sim {
namespace {

constexpr std::string_view kTypeOfFleet = "h100";

/// A queue of those trees, and how often a random one has it.
struct Place {
  std::string_view path;
  bool is_parent = false;
  std::uint32_t chance = 800'000;
};
/// In the order of path_less().
constexpr Place kPlaces[] = {
    {"batch"},
    {scheduler::kDefaultQueue, false, 300'000},
    {"lab", true, 600'000},
    {"lab/one"},
    {"lab/two"},
    {"org", true, 600'000},
    {"org/a"},
    {"org/b", true, 500'000},
    {"org/b/x"},
    {"org/b/y", false, 500'000},
    {kGangQueue, false, 1'000'000},
};

/// Guarantees stand at leaves alone, and each max is above the sum of those below it.
scheduler::QueueNode some_node(Rng& rng, const Place& place) {
  scheduler::QueueNode node;
  node.path = place.path;
  node.weight = static_cast<std::uint32_t>(1 + rng.below(8));
  node.is_fifo = rng.chance(300'000);
  if (rng.chance(place.path == kGangQueue ? 150'000 : 400'000)) {
    const std::string_view key = rng.chance(500'000) ? scheduler::kAllGpus : kTypeOfFleet;
    node.max[std::string(key)] = (place.is_parent ? 20 : 8) + rng.below(12);
  }
  if (!place.is_parent && rng.chance(400'000)) {
    node.guaranteed[std::string(kTypeOfFleet)] = 1 + rng.below(6);
  }
  if (!place.is_parent && rng.chance(120'000)) {
    node.tiers = {scheduler::Tier::kBatch, scheduler::Tier::kPremium,
                  scheduler::Tier::kInteractive};
  }
  if (rng.chance(100'000)) {
    node.members = {rng.chance(500'000) ? "op" : "somebody"};
  }
  if (rng.chance(150'000)) {
    node.time_limit_max = std::chrono::hours(1 + static_cast<int>(rng.below(3)));
  }
  return node;
}

}  // namespace

scheduler::QueueTree some_wide_tree(Rng& rng) {
  scheduler::QueueTree tree;
  tree.half_life = rng.chance(700'000) ? scheduler::kHalfLifeMin : scheduler::kHalfLifeDefault;
  for (const Place& place : kPlaces) {
    if (rng.chance(place.chance)) {
      tree.nodes.push_back(some_node(rng, place));
    }
  }
  CHECK(scheduler::validate(tree).has_value());
  return tree;
}

scheduler::QueueTree last_wide_tree() {
  scheduler::QueueTree tree;
  tree.half_life = scheduler::kHalfLifeMin;
  const auto add = [&tree](std::string_view path, std::uint32_t weight,
                           std::string_view max_of = "",
                           std::uint64_t max = 0) -> scheduler::QueueNode& {
    scheduler::QueueNode node;
    node.path = path;
    node.weight = weight;
    if (max != 0) {
      node.max[std::string(max_of)] = max;
    }
    tree.nodes.push_back(std::move(node));
    return tree.nodes.back();
  };
  const std::string type(kTypeOfFleet);
  add("batch", 1);
  add("lab", 4, scheduler::kAllGpus, 24);
  add("lab/one", 6, scheduler::kAllGpus, 18);
  add("lab/two", 1);
  add("org", 2);
  add("org/a", 1).guaranteed[type] = 6;
  add("org/b", 3, kTypeOfFleet, 20);
  add("org/b/x", 1).guaranteed[type] = 3;
  add("org/b/y", 5);
  add(kGangQueue, 8);
  CHECK(scheduler::validate(tree).has_value());
  return tree;
}

}  // namespace muster::sim
