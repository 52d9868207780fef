// Preferences of the packing rule, in small cases that can be argued on paper, and its laws on
// random hosts.

#include "scheduler/placement/fill_potential.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "gossip/base/rng.h"
#include "scheduler/placement/capacity_index.h"

namespace muster::scheduler {
namespace {

PopularRequest of_gpus(std::uint32_t gpus, std::vector<std::string> types = {}) {
  return PopularRequest{gpus, kWholeGpu, 0, std::move(types)};
}

Shape wants(std::uint32_t gpus, std::vector<std::string> types = {}) {
  Shape shape;
  shape.units = gpus;
  shape.cpus = 0;
  shape.memory_mb = 0;
  shape.types = std::move(types);
  return shape;
}

/// Hosts with these numbers of free GPUs, without CPUs, numbered from 0.
class Fleet {
 public:
  Fleet(std::initializer_list<std::pair<const char*, std::uint16_t>> hosts) {
    for (const auto& [type, gpus] : hosts) {
      HostSpace space;
      space.kind = index.kind(HostKind{type, {}, true, 0, 0, 0, 0});
      space.islands = {gpus};
      const auto number = static_cast<HostNumber>(count_++);
      index.seat(number, {});
      index.set(number, space);
    }
  }
  std::uint32_t chosen(const Shape& shape) {
    const std::vector<HostShare> shares = index.choose(shape);
    return shares.size() == 1 ? index_of(shares.front().host) : UINT32_MAX;
  }
  CapacityIndex index;

 private:
  std::uint32_t count_ = 0;
};

TEST(FillPotential, WhatIsAskedForByNameIsLeftForWhoAsks) {
  // One host of each; that of the type named is the fuller one.
  Fleet fleet({{"h100", 2}, {"a100", 8}});
  EXPECT_EQ(fleet.chosen(wants(1)), 0U) << "the fullest";
  fleet.index.set_usual(
      {{{of_gpus(1, {"h100"}), 90}, {of_gpus(1), 10}}, {{"h100", 8}, {"a100", 8}}});
  EXPECT_EQ(fleet.chosen(wants(1)), 1U);
  EXPECT_EQ(fleet.chosen(wants(1, {"h100"})), 0U);
  fleet.index.set_usual({});
  EXPECT_EQ(fleet.chosen(wants(1)), 0U) << "nothing is usual";
}

TEST(FillPotential, AHostIsKeptFitForWhatIsUsual) {
  // 3 free hold a pair and one; 2 free hold a pair. One GPU is wanted where pairs are usual.
  Fleet fleet({{"h100", 2}, {"h100", 3}});
  EXPECT_EQ(fleet.chosen(wants(1)), 0U) << "the fullest";
  fleet.index.set_usual({{{of_gpus(2), 95}, {of_gpus(1), 5}}, {{"h100", 16}}});
  EXPECT_EQ(fleet.chosen(wants(1)), 1U);
  // Where single ones are usual it is the fullest again.
  fleet.index.set_usual({{{of_gpus(1), 100}}, {{"h100", 16}}});
  EXPECT_EQ(fleet.chosen(wants(1)), 0U);
}

TEST(FillPotential, TheLastOfAGangIsRankedAlike) {
  // Two whole hosts of 4, then one for the odd GPU: 2 or 3 free.
  Fleet fleet({{"h100", 4}, {"h100", 4}, {"h100", 2}, {"h100", 3}});
  Shape gang = wants(9);
  const auto last = [&] {
    std::uint32_t host = UINT32_MAX;
    for (const HostShare& share : fleet.index.choose(gang)) {
      host = share.units == 1 ? index_of(share.host) : host;
    }
    return host;
  };
  EXPECT_EQ(last(), 2U);
  fleet.index.set_usual({{{of_gpus(2), 95}, {of_gpus(1), 5}}, {{"h100", 16}}});
  EXPECT_EQ(last(), 3U);
}

FillHost random_host(Rng& rng) {
  FillHost host;
  host.type = static_cast<std::uint32_t>(rng.below(2));
  host.cpus = static_cast<std::uint32_t>(rng.below(20) * 1000);
  host.cpus_a_gpu = static_cast<std::uint32_t>(rng.below(3) * 1000);
  const std::uint64_t gpus = rng.below(kSharedGpusMax + 1);
  for (std::size_t i = 0; i < gpus; ++i) {
    host.gpus[i] = static_cast<std::uint16_t>(rng.below(2) == 0 ? 1000 : rng.below(1000));
  }
  std::sort(host.gpus.begin(), host.gpus.end(), std::greater<>());
  return host;
}

FillRequest random_request(Rng& rng) {
  FillRequest request;
  request.gpus = static_cast<std::uint32_t>(rng.below(9));
  const auto part = static_cast<std::uint32_t>(100 + 100 * rng.below(9));
  request.share = request.gpus == 0 ? 0 : rng.below(2) == 0 ? kWholeGpu : part;
  if (request.share != kWholeGpu) {
    request.gpus = std::min(request.gpus, 1U);
  }
  if (rng.below(2) == 0) {
    request.cpus = static_cast<std::uint32_t>(rng.below(4) * 1000);
  }
  return request;
}

TEST(FillPotential, APlacementTakesWhatWasWantedAndNoMore) {
  Rng rng(3);
  int placements = 0;
  for (int i = 0; i < 20'000; ++i) {
    const FillHost host = random_host(rng);
    const FillRequest request = random_request(rng);
    if (!fits(host, request)) {
      continue;
    }
    ++placements;
    const FillHost after = placed(host, request);
    EXPECT_EQ(host.idle() - after.idle(), request.milli());
    if (request.gpus != 0) {
      EXPECT_EQ(host.cpus - after.cpus, request.cpus_on(host));
    }
    EXPECT_TRUE(std::is_sorted(after.gpus.begin(), after.gpus.end(), std::greater<>()));
    EXPECT_LE(after.cpus, host.cpus);
  }
  EXPECT_GT(placements, 5'000);
}

TEST(FillPotential, ScoresFollowFromWhatIsUsualAlone) {
  Rng rng(4);
  Usual usual;
  for (int i = 0; i < 40; ++i) {
    const FillRequest request = random_request(rng);
    usual.requests[{request.gpus, request.share, request.cpus,
                    rng.below(4) == 0 ? std::vector<std::string>{"b"}
                                      : std::vector<std::string>{}}] += 1 + rng.below(50);
  }
  usual.gpus = {{"a", 100}, {"b", 50}};
  FillPotential first(usual);
  FillPotential second(usual);
  std::vector<std::pair<FillHost, FillRequest>> asked;
  for (int i = 0; i < 3'000; ++i) {
    const FillHost host = random_host(rng);
    const FillRequest request = random_request(rng);
    if (fits(host, request)) {
      asked.emplace_back(host, request);
      first.score(host, request);
    }
  }
  // In another order.
  std::reverse(asked.begin(), asked.end());
  for (const auto& [host, request] : asked) {
    EXPECT_EQ(second.score(host, request), first.score(host, request));
  }
}

TEST(FillPotential, TypesThatTheFleetLacksDoNoHarm) {
  const FillPotential potential({{{of_gpus(1, {"tpu"}), 10}, {of_gpus(8), 1}}, {{"h100", 8}}});
  EXPECT_EQ(potential.type_of("h100"), 0U);
  EXPECT_EQ(potential.type_of("tpu"), 1U);
  EXPECT_EQ(potential.type_of("anything"), 1U);
  Fleet fleet({{"tpu", 8}, {"h100", 2}});
  fleet.index.set_usual({{{of_gpus(1, {"tpu"}), 10}, {of_gpus(8), 1}}, {{"h100", 8}}});
  EXPECT_EQ(fleet.chosen(wants(1)), 1U) << "the whole host is kept for 8";
  EXPECT_EQ(fleet.chosen(wants(1, {"tpu"})), 0U);
}

TEST(FillPotential, MoreTypesThanAreToldApartAreAsOne) {
  Usual usual;
  for (std::size_t i = 0; i < kPopularTypesMax; ++i) {
    const std::string type = "t" + std::to_string(100 + i);
    usual.gpus[type] = 8;
    usual.requests[of_gpus(2, {type})] = 1;
  }
  const FillPotential potential(usual);
  EXPECT_EQ(potential.type_of("t162"), 62U);
  EXPECT_EQ(potential.type_of("t163"), 63U);
  Fleet fleet({{"t163", 8}, {"t163", 1}, {"t162", 8}});
  fleet.index.set_usual(usual);
  EXPECT_EQ(fleet.chosen(wants(1)), 1U) << "nobody asks for its type";
}

TEST(FillPotential, RequestsWithoutGpusDoNotHideTheOthers) {
  const PopularRequest ranks{0, 0, 1000, {}};
  Fleet fleet({{"h100", 2}, {"h100", 3}});
  fleet.index.set_usual({{{of_gpus(2), 95}, {of_gpus(1), 5}, {ranks, 1'000'000}}, {{"h100", 16}}});
  EXPECT_EQ(fleet.chosen(wants(1)), 1U) << "pairs are usual";
  fleet.index.set_usual({{{ranks, 100}}, {{"h100", 16}}});
  EXPECT_EQ(fleet.chosen(wants(1)), 0U) << "the fullest: nothing of GPUs is usual";
}

TEST(FillPotential, RanksWithoutGpusTakeCpusWhereTheyAreMissedLeast) {
  // Each GPU wants a CPU. One host has CPUs to spare.
  CapacityIndex index;
  for (const std::uint32_t cpus : {8'000U, 12'500U}) {
    HostSpace space;
    space.kind = index.kind(HostKind{"h100", {}, true, 1000, 0, 1000, 0});
    space.islands = {8};
    space.cpus = cpus;
    const auto number = static_cast<HostNumber>(cpus == 8'000 ? 0 : 1);
    index.seat(number, {});
    index.set(number, space);
  }
  Shape ranks = wants(4);
  ranks.share = 0;
  ranks.cpus = 1000;
  EXPECT_EQ(index_of(index.choose(ranks).front().host), 0U) << "the fewest CPUs left";
  PopularRequest request = of_gpus(1);
  request.cpus = 1000;
  index.set_usual({{{request, 10}}, {{"h100", 16}}});
  EXPECT_EQ(index_of(index.choose(ranks).front().host), 1U);
}

TEST(FillPotential, AHostOfManyGpusIsTakenForOneOfAsManyAsAreSeen) {
  Fleet fleet({{"h100", 40}, {"h100", 20}});
  fleet.index.set_usual({{{of_gpus(1), 10}, {of_gpus(20), 1}}, {{"h100", 60}}});
  EXPECT_EQ(fleet.chosen(wants(20)), 1U) << "the tie is the fullest";
}

}  // namespace
}  // namespace muster::scheduler
