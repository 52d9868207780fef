// Laws of the counts of usual requests.

#include "scheduler/state/popularity.h"

#include <gtest/gtest.h>

#include "gossip/base/rng.h"

namespace muster::scheduler {
namespace {

PopularRequest of_gpus(std::uint32_t gpus) {
  return PopularRequest{gpus, 1000, std::nullopt, {}};
}

Request wants(std::uint32_t gpus) {
  Request request;
  request.gpus = gpus;
  return request;
}

TEST(Popularity, AGangIsSoManyRequestsAsItHasHosts) {
  Popularity popularity;
  popularity.note(wants(1), 1);
  popularity.note(wants(64), 1);
  Request exact = wants(12);
  exact.gpus_per_host = 4;
  popularity.note(exact, 2);
  popularity.note(wants(13), 1);
  EXPECT_EQ(
      popularity.counts(),
      (Popularity::Counts{{of_gpus(1), 1}, {of_gpus(8), 8 + 1}, {of_gpus(4), 6}, {of_gpus(5), 1}}));
  EXPECT_EQ(popularity.arrived(), 4U) << "submits";
}

TEST(Popularity, TypesAreOneWhateverTheirCaseAndOrder) {
  Popularity popularity;
  Request request = wants(1);
  request.gpu_types = {"H100", "a100"};
  popularity.note(request, 1);
  request.gpu_types = {"A100", "h100"};
  popularity.note(request, 1);
  PopularRequest both = of_gpus(1);
  both.types = {"a100", "h100"};
  EXPECT_EQ(popularity.counts(), (Popularity::Counts{{both, 2}}));
}

TEST(Popularity, RanksWithoutGpusAreCountedApart) {
  Popularity popularity;
  Request ranks = wants(0);
  ranks.ranks = 16;
  ranks.cpus = 2000;
  popularity.note(ranks, 1);
  EXPECT_EQ(popularity.counts(), (Popularity::Counts{{PopularRequest{0, 0, 2000, {}}, 2}}));
}

TEST(Popularity, OneSubmitHasABoundedWeight) {
  Popularity popularity;
  popularity.note(wants(1), 100);
  popularity.note(wants(2), 1'000'000);
  Request wide = wants(4096);
  wide.gpus_per_host = 1;
  wide.gpu_types = {"h100"};
  popularity.note(wide, 1'000'000);
  PopularRequest of_type = of_gpus(1);
  of_type.types = {"h100"};
  EXPECT_EQ(popularity.counts(),
            (Popularity::Counts{
                {of_gpus(1), 100}, {of_gpus(2), kPopularWeightMax}, {of_type, kPopularWeightMax}}));
  EXPECT_EQ(popularity.arrived(), 3U);
}

TEST(Popularity, WhoNamesManyTypesIsNotCounted) {
  Popularity popularity;
  Request request = wants(1);
  for (std::size_t i = 0; i <= kPopularNamedMax; ++i) {
    request.gpu_types.push_back("type" + std::to_string(i));
  }
  popularity.note(request, 1);
  EXPECT_TRUE(popularity.counts().empty());
  request.gpu_types.pop_back();
  popularity.note(request, 1);
  EXPECT_EQ(popularity.counts().size(), 1U);
}

TEST(Popularity, IsLookedAtWheneverTwiceAsMuchCameAndAtLastRegularly) {
  Popularity popularity;
  std::vector<std::uint64_t> looks;
  for (std::uint64_t i = 1; i <= 4 * kPopularLast; ++i) {
    popularity.note(wants(1), 1);
    if (popularity.is_due()) {
      looks.push_back(i);
      popularity.look({{"h100", 8}});
    }
  }
  std::vector<std::uint64_t> expected;
  for (std::uint64_t at = kPopularFirst; at <= kPopularLast; at *= 2) {
    expected.push_back(at);
  }
  for (std::uint64_t i = 2; i <= 4; ++i) {
    expected.push_back(i * kPopularLast);
  }
  EXPECT_EQ(looks, expected);
  EXPECT_EQ(popularity.usual().gpus, (std::map<std::string, std::uint64_t>{{"h100", 8}}));
}

TEST(Popularity, WhatCameLongAgoLosesItsWeight) {
  Popularity popularity;
  for (std::uint64_t i = 1; i <= 20 * kPopularLast; ++i) {
    popularity.note(wants(i <= kPopularLast ? 1 : 2), 1);
    if (popularity.is_due()) {
      popularity.look({});
      popularity.check();
    }
  }
  EXPECT_EQ(popularity.usual().requests.count(of_gpus(1)), 0U);
  EXPECT_EQ(popularity.usual().requests.count(of_gpus(2)), 1U);
}

/// Section 3 of the paper: a request that makes up more than 1/kPopularMax of all is not missed,
/// and no count is too low.
TEST(Popularity, WhatIsFrequentIsCounted) {
  Rng rng(5);
  Popularity popularity;
  std::map<std::uint32_t, std::uint64_t> truth;
  std::uint64_t all = 0;
  for (int i = 0; i < 100'000; ++i) {
    const auto which =
        static_cast<std::uint32_t>(rng.below(2) == 0 ? 1 + rng.below(20) : 100 + rng.below(3000));
    popularity.note(PopularRequest{1, 1000, which, {}});
    ++truth[which];
    ++all;
    ASSERT_LE(popularity.counts().size(), kPopularMax);
  }
  popularity.check();
  for (const auto& [which, count] : truth) {
    const auto counted = popularity.counts().find(PopularRequest{1, 1000, which, {}});
    ASSERT_TRUE(counted != popularity.counts().end() || count <= all / kPopularMax) << which;
    if (counted != popularity.counts().end()) {
      EXPECT_GE(counted->second, count);
      EXPECT_LE(counted->second, count + all / kPopularMax);
    }
  }
}

}  // namespace
}  // namespace muster::scheduler
