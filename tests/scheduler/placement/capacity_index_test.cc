// The capacity index against brute force on small random fleets, and against one that was told only
// the last space of each host.

#include "scheduler/placement/capacity_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>
#include <set>

#include "gossip/base/rng.h"

namespace muster::scheduler {
namespace {

constexpr int kFleets = 400;
constexpr int kChanges = 60;

struct HostWord {
  HostKind kind;
  HostSpace space;
  RackName rack;
  bool is_shown = true;
};

class RandomFleet {
 public:
  explicit RandomFleet(std::uint64_t seed) : rng_(seed), host_count_(1 + rng_.below(7)) {
    for (std::size_t i = 0; i < host_count_; ++i) {
      hosts.push_back(random_host());
      tell(i, index);
    }
  }

  void change() {
    const std::size_t i = rng_.below(host_count_);
    if (rng_.below(5) == 0) {
      hosts[i].is_shown = false;
    } else {
      const RackName rack = hosts[i].rack;
      hosts[i] = random_host();
      hosts[i].rack = rng_.below(10) == 0 ? hosts[i].rack : rack;
    }
    tell(i, index);
  }

  CapacityIndex rebuilt() {
    CapacityIndex fresh;
    for (std::size_t i = 0; i < host_count_; ++i) {
      tell(i, fresh);
    }
    fresh.set_usual(usual);
    return fresh;
  }

  Shape shape() {
    Shape shape;
    shape.per_host = rng_.below(4) == 0 ? static_cast<std::uint32_t>(1 + rng_.below(4)) : 0;
    shape.units = static_cast<std::uint32_t>(1 + rng_.below(rng_.below(2) == 0 ? 4 : 24)) *
                  std::max(1U, shape.per_host);
    shape.share = rng_.below(5) != 0 ? kWholeGpu : rng_.below(2) == 0 ? 0 : 300;
    if (rng_.below(2) == 0) {
      shape.cpus = static_cast<std::uint32_t>(rng_.below(3) * 2000 + (shape.share == 0 ? 1000 : 0));
    }
    if (rng_.below(2) == 0) {
      shape.memory_mb = rng_.below(3) * 1000;
    }
    if (rng_.below(2) == 0) {
      shape.types =
          rng_.below(2) == 0 ? std::vector<std::string>{"b", "a"} : std::vector<std::string>{"a"};
    }
    if (rng_.below(4) == 0) {
      (rng_.below(2) == 0 ? shape.labels : shape.not_labels) = {"fast=yes"};
    }
    shape.takes_bare_hosts = rng_.below(2) == 0;
    shape.pack = static_cast<Pack>(rng_.below(5));
    return shape;
  }

  /// Sometimes changes the usual requests.
  void change_usual() {
    if (rng_.below(8) != 0) {
      return;
    }
    usual = {};
    for (std::uint64_t i = rng_.below(4); i > 0; --i) {
      const bool is_part = rng_.below(3) == 0;
      const std::uint32_t gpus = is_part ? 1 : static_cast<std::uint32_t>(rng_.below(5));
      PopularRequest request{gpus, gpus == 0 ? 0 : is_part ? 300 : kWholeGpu, std::nullopt, {}};
      if (rng_.below(2) == 0) {
        request.types = {"a"};
      }
      usual.requests[request] = 1 + rng_.below(100);
    }
    usual.gpus = {{"a", 1 + rng_.below(40)}, {"b", 1 + rng_.below(40)}};
    index.set_usual(usual);
  }

  HostChoice choice() {
    HostChoice choice;
    choice.barred = some();
    if (rng_.below(4) == 0) {
      choice.only = some();
    }
    return choice;
  }

  CapacityIndex index;
  std::vector<HostWord> hosts;
  Usual usual;

 private:
  std::vector<HostNumber> some() {
    std::vector<HostNumber> some;
    for (std::size_t i = 0; i < host_count_ && rng_.below(3) != 0; ++i) {
      some.push_back(static_cast<HostNumber>(rng_.below(host_count_)));
    }
    return some;
  }
  HostWord random_host() {
    HostWord host;
    host.kind.gpu_type = rng_.below(3) == 0 ? "a" : "b";
    host.kind.has_namespaces = rng_.below(4) != 0;
    if (rng_.below(3) == 0) {
      host.kind.labels = {"fast=yes"};
    }
    host.kind.cpus_a_gpu = 1500;
    host.kind.memory_mb_a_gpu = 900;
    host.kind.cpus_a_rank = 1000;
    host.kind.memory_mb_a_rank = 700;
    host.space.islands = {static_cast<std::uint16_t>(rng_.below(5)),
                          static_cast<std::uint16_t>(rng_.below(5))};
    std::sort(host.space.islands.begin(), host.space.islands.end(), std::greater<>());
    host.space.shared = {static_cast<std::uint16_t>(rng_.below(1000))};
    host.space.cpus = static_cast<std::uint32_t>(rng_.below(20) * 1000);
    host.space.memory_mb = rng_.below(20) * 500;
    static const std::vector<RackName> kRacks = {{"s", "x"}, {"s", "y"}, {"t", "x"}, {"", "z"}, {}};
    host.rack = kRacks[rng_.below(kRacks.size())];
    return host;
  }
  void tell(std::size_t i, CapacityIndex& to) {
    HostWord& host = hosts[i];
    const auto number = static_cast<HostNumber>(i);
    host.space.kind = to.kind(host.kind);
    to.seat(number, host.rack);
    to.set(number, host.space);
    if (!host.is_shown) {
      to.hide(number);
    }
  }

  Rng rng_;
  std::size_t host_count_;
};

/// Counted one unit after the other, without the rules under test.
std::uint32_t units_by_hand(const Shape& shape, const HostWord& host) {
  HostSpace space = host.space;
  std::uint64_t cpus = space.cpus;
  std::uint64_t memory_mb = space.memory_mb;
  const HostKind& kind = host.kind;
  const std::uint64_t unit_cpus = shape.cpus.value_or(
      shape.share == 0 ? kind.cpus_a_rank : kind.cpus_a_gpu * shape.share / 1000);
  const std::uint64_t unit_memory = shape.memory_mb.value_or(
      shape.share == 0 ? kind.memory_mb_a_rank : kind.memory_mb_a_gpu * shape.share / 1000);
  std::vector<std::uint32_t> gpus;
  for (std::size_t i = 0; i < (shape.pack == Pack::kIsland ? 1U : kIslandsMax); ++i) {
    gpus.insert(gpus.end(), space.islands[i], 1000);
  }
  if (shape.share != 1000) {
    gpus.assign(space.free_gpus(), 1000);
    gpus.insert(gpus.end(), space.shared.begin(), space.shared.end());
  }
  std::uint32_t units = 0;
  while (units < shape.units && cpus >= unit_cpus && memory_mb >= unit_memory) {
    if (shape.share != 0) {
      const auto gpu = std::find_if(gpus.begin(), gpus.end(),
                                    [&](std::uint32_t left) { return left >= shape.share; });
      if (gpu == gpus.end()) {
        break;
      }
      *gpu -= shape.share;
    }
    cpus -= unit_cpus;
    memory_mb -= unit_memory;
    ++units;
  }
  return units;
}

bool will_do(const Shape& shape, const HostWord& host) {
  const bool is_fast = !host.kind.labels.empty();
  return host.is_shown && (host.kind.has_namespaces || shape.takes_bare_hosts) &&
         (shape.labels.empty() || is_fast) && (shape.not_labels.empty() || !is_fast) &&
         (shape.types.empty() || std::find(shape.types.begin(), shape.types.end(),
                                           host.kind.gpu_type) != shape.types.end());
}

/// The units that a set of hosts, all of one type, holds together; 0 = the set is not allowed.
class BruteForce {
 public:
  BruteForce(const RandomFleet& fleet, const Shape& shape, const HostChoice& choice)
      : fleet_(fleet), shape_(shape) {
    for (std::size_t i = 0; i < fleet.hosts.size(); ++i) {
      const auto names = [i](const std::vector<HostNumber>& numbers) {
        return std::find(numbers.begin(), numbers.end(), static_cast<HostNumber>(i)) !=
               numbers.end();
      };
      const bool is_open =
          !names(choice.barred) && (!choice.only.has_value() || names(*choice.only));
      const bool is_fit = is_open && will_do(shape, fleet.hosts[i]);
      units_.push_back(is_fit ? units_by_hand(shape, fleet.hosts[i]) : 0);
      if (shape.per_host != 0) {
        units_.back() = units_.back() >= shape.per_host ? shape.per_host : 0;
      }
    }
  }
  std::uint32_t units(std::size_t host) const { return units_[host]; }
  /// Without GPUs all hosts are of one type.
  std::string type(std::size_t host) const {
    return shape_.share == 0 ? "" : fleet_.hosts[host].kind.gpu_type;
  }
  bool is_allowed(std::uint32_t set) const {
    std::set<std::string> types;
    std::set<RackName> racks;
    std::set<std::string> spines;
    for (std::size_t i = 0; i < units_.size(); ++i) {
      if ((set >> i & 1) != 0) {
        types.insert(type(i));
        racks.insert(fleet_.hosts[i].rack);
        spines.insert(fleet_.hosts[i].rack.spine);
        if (units_[i] == 0) {
          return false;
        }
      }
    }
    const bool is_for_one =
        shape_.pack == Pack::kHost || (shape_.pack == Pack::kIsland && shape_.per_host == 0);
    const bool is_alone = std::popcount(set) == 1;
    const bool is_one_rack = racks.size() == 1 && !racks.begin()->rack.empty();
    const bool is_one_spine = spines.size() == 1 && !spines.begin()->empty();
    return types.size() == 1 && (shape_.pack != Pack::kRack || is_alone || is_one_rack) &&
           (shape_.pack != Pack::kSpine || is_alone || is_one_spine) && (!is_for_one || is_alone);
  }
  std::uint32_t held(std::uint32_t set) const {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < units_.size(); ++i) {
      sum += (set >> i & 1) != 0 ? units_[i] : 0;
    }
    return sum;
  }
  /// The fewest hosts of this type that hold all units; nullopt if there are too few.
  std::optional<int> fewest(const std::string& type) const {
    std::optional<int> fewest;
    for (std::uint32_t set = 1; set < std::uint32_t{1} << units_.size(); ++set) {
      const std::string of = this->type(static_cast<std::size_t>(std::countr_zero(set)));
      if (is_allowed(set) && of == type && held(set) >= shape_.units) {
        fewest = std::min(fewest.value_or(64), std::popcount(set));
      }
    }
    return fewest;
  }
  std::uint32_t most() const {
    std::uint32_t most = 0;
    for (std::uint32_t set = 1; set < std::uint32_t{1} << units_.size(); ++set) {
      most = std::max(most, is_allowed(set) ? held(set) : 0);
    }
    return most;
  }

 private:
  const RandomFleet& fleet_;
  const Shape& shape_;
  std::vector<std::uint32_t> units_;
};

void expect_right(RandomFleet& fleet, const Shape& shape, const HostChoice& choice) {
  const std::vector<HostShare> chosen = fleet.index.choose(shape, choice);
  const BruteForce brute(fleet, shape, choice);
  const std::optional<int> of_a = brute.fewest(shape.share == 0 ? "" : "a");
  const std::optional<int> of_b = brute.fewest("b");
  ASSERT_EQ(chosen.empty(), !of_a.has_value() && !of_b.has_value());
  if (chosen.empty()) {
    return;
  }
  std::uint32_t set = 0;
  std::uint32_t units = 0;
  for (const HostShare& share : chosen) {
    const std::uint32_t host = index_of(share.host);
    EXPECT_EQ(set >> host & 1, 0U) << "a host is named twice";
    set |= std::uint32_t{1} << host;
    units += share.units;
    EXPECT_LE(share.units, brute.units(host));
    EXPECT_TRUE(shape.per_host == 0 || share.units == shape.per_host);
  }
  EXPECT_EQ(units, shape.units);
  EXPECT_TRUE(brute.is_allowed(set));
  const std::string type = brute.type(index_of(chosen.front().host));
  const int hosts = static_cast<int>(chosen.size());
  EXPECT_EQ(hosts, type == "b" ? of_b : of_a);
  if (shape.types.size() == 2 && shape.share != 0) {
    EXPECT_EQ(type == "b", of_b.has_value()) << "B is preferred";
  } else {
    EXPECT_LE(hosts, std::min(of_a.value_or(64), of_b.value_or(64)));
  }
}

TEST(CapacityIndex, AgreesWithBruteForce) {
  for (std::uint64_t seed = 1; seed <= kFleets; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomFleet fleet(seed);
    for (int i = 0; i < kChanges && !testing::Test::HasFailure(); ++i) {
      fleet.change();
      fleet.change_usual();
      const Shape shape = fleet.shape();
      const HostChoice barred = fleet.choice();
      expect_right(fleet, shape, barred);
      Shape boundless = shape;
      boundless.units = kUnitsMax;
      EXPECT_EQ(fleet.index.most(shape, barred), BruteForce(fleet, boundless, barred).most());
    }
  }
}

TEST(CapacityIndex, FollowsFromTheLastWordOfEachHost) {
  for (std::uint64_t seed = 1; seed <= kFleets; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomFleet fleet(seed);
    for (int i = 0; i < kChanges; ++i) {
      fleet.change();
      fleet.change_usual();
      if (i % 7 != 0) {
        fleet.index.choose(fleet.shape());
        continue;
      }
      CapacityIndex rebuilt = fleet.rebuilt();
      ASSERT_TRUE(fleet.index.says_the_same(rebuilt));
      const Shape shape = fleet.shape();
      const HostChoice barred = fleet.choice();
      ASSERT_EQ(fleet.index.choose(shape, barred), rebuilt.choose(shape, barred));
      ASSERT_EQ(fleet.index.most(shape, barred), rebuilt.most(shape, barred));
    }
  }
}

HostSpace with_gpus(CapacityIndex& index, std::uint16_t first, std::uint16_t second = 0) {
  HostSpace space;
  space.kind = index.kind(HostKind{"H100", {}, true, 0, 0, 0, 0});
  space.islands = {first, second};
  return space;
}

Shape gpus(std::uint32_t units) {
  Shape shape;
  shape.units = units;
  return shape;
}

TEST(CapacityIndex, KeepsIslandsWhole) {
  CapacityIndex index;
  index.seat(HostNumber(0), {"", "r1"});
  index.seat(HostNumber(1), {"", "r1"});
  index.set(HostNumber(0), with_gpus(index, 3, 1));
  index.set(HostNumber(1), with_gpus(index, 2, 2));
  EXPECT_EQ(index.choose(gpus(2)), (std::vector<HostShare>{{HostNumber(1), 2}}));
  EXPECT_EQ(index.choose(gpus(3)), (std::vector<HostShare>{{HostNumber(0), 3}}));
  Shape in_one_island = gpus(4);
  in_one_island.pack = Pack::kIsland;
  EXPECT_TRUE(index.choose(in_one_island).empty());
  EXPECT_EQ(index.most(in_one_island), 3U);
}

TEST(CapacityIndex, AGangTakesTheFewestRacks) {
  CapacityIndex index;
  // Racks of 3, 5 and 4 hosts that are free.
  std::uint32_t host = 0;
  for (const auto& [rack, hosts] : {std::pair("a", 3), std::pair("b", 5), std::pair("c", 4)}) {
    for (int i = 0; i < hosts; ++i) {
      index.seat(HostNumber(host), {"", rack});
      index.set(HostNumber(host++), with_gpus(index, 8));
    }
  }
  const auto racks = [&](std::uint32_t units) {
    std::set<std::uint32_t> used;
    for (const HostShare& share : index.choose(gpus(units))) {
      const std::uint32_t number = index_of(share.host);
      used.insert(number < 3 ? 0 : number < 8 ? 1 : 2);
    }
    return used;
  };
  EXPECT_EQ(racks(24), (std::set<std::uint32_t>{0})) << "the tightest that holds it";
  EXPECT_EQ(racks(32), (std::set<std::uint32_t>{2}));
  EXPECT_EQ(racks(40), (std::set<std::uint32_t>{1}));
  EXPECT_EQ(racks(48), (std::set<std::uint32_t>{0, 1})) << "the largest, then the tightest";
  EXPECT_EQ(racks(44), (std::set<std::uint32_t>{0, 1})) << "five hosts and a half";
}

TEST(CapacityIndex, ForgetsShapesAndClassesBeyondItsLimits) {
  CapacityIndex index;
  index.seat(HostNumber(0), {"", "r"});
  for (std::uint32_t i = 0; i < 3 * kEmptyClassesKept; ++i) {
    HostSpace space = with_gpus(index, 4);
    space.cpus = i;
    index.set(HostNumber(0), space);
    Shape shape = gpus(1);
    shape.cpus = i % (2 * kRanksKept);
    ASSERT_EQ(index.choose(shape).empty(), *shape.cpus > i);
  }
  EXPECT_EQ(index.classes(), 1U);
}

}  // namespace
}  // namespace muster::scheduler
