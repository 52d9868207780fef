// What jobs ask of hosts, through the log: what is placed is as it was asked for, the log takes it,
// and the capacity that is kept says what one says that is made anew.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <map>
#include <set>

#include "gossip/base/rng.h"
#include "scheduler/placement/capacity.h"
#include "scheduler/why/explain.h"
#include "scheduler/why/impossible.h"
#include "tests/scheduler/leader/cluster.h"

namespace muster::scheduler {
namespace {

using namespace testing;  // NOLINT: the fixture's verbs
using namespace std::chrono_literals;

constexpr int kFleets = 300;
constexpr int kSteps = 60;

entry::Register machine(std::uint64_t host, std::uint32_t gpus, std::uint32_t cpus,
                        std::uint64_t memory_mb, const std::string& rack = "") {
  entry::Register fact = registration(host, gpus);
  fact.cpus = cpus;
  fact.memory_mb = memory_mb;
  fact.traits.rack = rack;
  return fact;
}

JobSpec asking(const Request& request) {
  JobSpec spec = spec_of(1);
  spec.request = request;
  return spec;
}

/// A log and the capacity that is kept beside it.
class Fleet {
 public:
  ApplyResult apply(const Entry& entry) {
    ApplyResult result = log.apply(entry);
    for (const HostId& host : result.hosts_changed) {
      capacity.on_changed(log.state, host);
    }
    for (const HostId& host : result.holdings_changed) {
      capacity.on_held(log.state, host);
    }
    return result;
  }
  JobId submit(const Request& request) {
    return apply(entry::Submit{std::to_string(++keys_), asking(request), "alice"}).job;
  }
  const Job& job(JobId id) const { return *log.state.job(id); }
  std::optional<Placement> place(JobId id) { return capacity.place(log.state, job(id)); }
  /// True: it was placed, and the log took it.
  bool start(JobId id) {
    const std::optional<Placement> placement = place(id);
    return placement.has_value() && decide(id, placement->members).rejected.empty();
  }
  ApplyResult decide(JobId id, const std::vector<Member>& members) {
    return apply(entry::Decide{id, job(id).attempts + 1, members, 120s, 10s, 10s});
  }
  std::string why_not(const Request& request) {
    return why_impossible(log.state, capacity, asking(request));
  }

  Log log;
  Capacity capacity{log.state};

 private:
  std::uint64_t keys_ = 0;
};

class RandomFleet : public Fleet {
 public:
  explicit RandomFleet(std::uint64_t seed) : rng_(seed) {
    for (std::uint64_t host = 1; host <= 5; ++host) {
      enter(host);
    }
  }
  void change() {
    const std::uint64_t draw = rng_.below(10);
    if (draw == 0) {
      enter(1 + rng_.below(5));
    } else if (draw == 1) {
      entry::Observe fact{host_id(1 + rng_.below(5)), {}, {}, {}, {}, {}};
      fact.start = log.state.host(fact.host)->start;
      fact.verdict = rng_.below(2) == 0 ? Verdict::kAlive : Verdict::kSilent;
      apply(fact);
    } else if (draw < 4 && !log.state.live().empty()) {
      apply(entry::Abort{*log.state.live().begin(), Cause::kCancelled, HostId()});
    } else if (draw == 4) {
      apply(entry::Tick{1min});
    } else {
      try_one();
    }
    ASSERT_TRUE(capacity.is_right(log.state));
  }
  int placed = 0;

 private:
  void enter(std::uint64_t host) {
    entry::Register fact = machine(host, static_cast<std::uint32_t>(rng_.below(5)),
                                   static_cast<std::uint32_t>(rng_.below(9)), rng_.below(9) * 1000,
                                   rng_.below(3) == 0 ? "" : std::to_string(rng_.below(2)));
    fact.start = pair_of(++generation_);
    fact.gpu_type = rng_.below(3) == 0 ? "A100" : "H100";
    if (rng_.below(2) == 0) {
      fact.traits.labels = {"fast"};
    }
    for (std::size_t i = 0; i < fact.gpus.size(); ++i) {
      fact.traits.islands.push_back(i < 2 ? 0 : 1);
    }
    apply(fact);
  }

  Request draw() {
    Request request;
    if (rng_.below(4) == 0) {
      request.gpus = 0;
      request.ranks = static_cast<std::uint32_t>(1 + rng_.below(6));
    } else {
      request.gpus = static_cast<std::uint32_t>(1 + rng_.below(6));
    }
    if (rng_.below(3) == 0) {
      const auto each = static_cast<std::uint32_t>(1 + rng_.below(3));
      (request.gpus != 0 ? request.gpus_per_host : request.ranks_per_host) = each;
      (request.gpus != 0 ? request.gpus : request.ranks) = each * (rng_.below(2) == 0 ? 1 : 2);
      if (request.gpus != 0) {
        request.ranks_per_host = static_cast<std::uint32_t>(rng_.below(2));
      }
    }
    if (rng_.below(2) == 0) {
      request.cpus = static_cast<std::uint32_t>(rng_.below(4) * 700);
    }
    if (rng_.below(2) == 0) {
      request.memory_mb = rng_.below(4) * 800;
    }
    if (rng_.below(3) == 0) {
      request.gpu_types = {"a100", "h100"};
      request.gpu_types.resize(1 + rng_.below(2));
    }
    if (rng_.below(4) == 0) {
      (rng_.below(2) == 0 ? request.labels : request.not_labels) = {"fast"};
    }
    if (rng_.below(5) == 0) {
      (rng_.below(2) == 0 ? request.hosts : request.not_hosts) = {"host1", "host3"};
    }
    request.pack = static_cast<Pack>(rng_.below(4));
    if (request.pack == Pack::kHost && request.units_per_host() != 0) {
      request.pack = Pack::kRack;
    }
    request.pack_wait = rng_.below(2) == 0 ? Duration(0) : 3min;
    return request;
  }

  void try_one() {
    const Request request = draw();
    const JobId id = submit(request);
    ASSERT_NE(id, JobId()) << validate(request).error().text;
    const std::optional<Placement> placement = place(id);
    if (!placement.has_value()) {
      return;
    }
    ++placed;
    for (const Member& member : placement->members) {
      expect_as_asked(request, member);
    }
    expect_packed(request, placement->members);
    const ApplyResult result = decide(id, placement->members);
    EXPECT_EQ(result.rejected, "");
  }

  void expect_as_asked(const Request& request, const Member& member) {
    const HostRecord& host = *log.state.host(member.host);
    const bool is_named = host.name == "host1" || host.name == "host3";
    EXPECT_TRUE(request.hosts.empty() || is_named);
    EXPECT_TRUE(request.not_hosts.empty() || !is_named);
    EXPECT_EQ(request.labels.empty() || !host.traits.labels.empty(), true);
    EXPECT_EQ(request.not_labels.empty() || host.traits.labels.empty(), true);
    EXPECT_TRUE(
        request.gpu_types.empty() ||
        std::count(request.gpu_types.begin(), request.gpu_types.end(), folded(host.gpu_type)) == 1);
    const std::size_t units = request.gpus != 0 ? member.gpus.size() : member.rank_count();
    if (request.cpus.has_value()) {
      EXPECT_EQ(member.cpus, *request.cpus * units);
    } else if (request.gpus != 0) {
      EXPECT_EQ(member.cpus, host.cpus * 1000 / host.gpus.size() * units) << "its share";
    }
    EXPECT_TRUE(!request.memory_mb.has_value() || member.memory_mb == *request.memory_mb * units);
  }

  void expect_packed(const Request& request, const std::vector<Member>& members) {
    std::set<std::string> racks;
    for (const Member& member : members) {
      const HostRecord& host = *log.state.host(member.host);
      racks.insert(host.traits.rack);
      std::set<std::uint32_t> islands;
      for (const GpuSlot& gpu : member.gpus) {
        const auto at = std::find(host.gpus.begin(), host.gpus.end(), gpu.uuid);
        islands.insert(host.traits.islands[static_cast<std::size_t>(at - host.gpus.begin())]);
      }
      EXPECT_TRUE(request.pack != Pack::kIsland || islands.size() <= 1);
    }
    EXPECT_TRUE(request.pack != Pack::kHost || members.size() == 1);
    EXPECT_TRUE(request.pack != Pack::kRack || members.size() == 1 ||
                (racks.size() == 1 && !racks.begin()->empty()));
  }

  Rng rng_;
  std::uint64_t generation_ = 0;
};

TEST(Requests, WhatIsPlacedIsAsItWasAskedForAndTheLogTakesIt) {
  int placed = 0;
  for (std::uint64_t seed = 1; seed <= kFleets && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomFleet fleet(seed);
    for (int i = 0; i < kSteps && !::testing::Test::HasFailure(); ++i) {
      fleet.change();
    }
    placed += fleet.placed;
  }
  EXPECT_GT(placed, kFleets * 5) << "the fleets hold too little";
}

/// What is left of the state when these jobs ended.
State without(const State& state, const std::set<JobId>& ended) {
  State copy = State::decode(state.encode()).value();
  LogIndex index = copy.applied();
  for (const Token& token : std::set<Token>(copy.live())) {
    if (ended.contains(copy.attempt(token)->job)) {
      index = index.next();
      copy.apply(index, entry::Abort{token, Cause::kCancelled, HostId()});
    }
  }
  return copy;
}

bool fits(const State& state, const Job& job) {
  return Capacity(state).place(state, job).has_value();
}

/// The fewest jobs whose end makes it fit, over all sets of them; 0 = none does.
std::size_t fewest_ends(const State& state, const Job& job) {
  std::set<JobId> all;
  for (const Token& token : state.live()) {
    all.insert(state.attempt(token)->job);
  }
  const std::vector<JobId> jobs(all.begin(), all.end());
  std::size_t fewest = 0;
  for (std::uint32_t set = 1; set < std::uint32_t{1} << jobs.size(); ++set) {
    const auto count = static_cast<std::size_t>(std::popcount(set));
    if (fewest != 0 && count >= fewest) {
      continue;
    }
    std::set<JobId> ended;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if ((set >> i & 1) != 0) {
        ended.insert(jobs[i]);
      }
    }
    fewest = fits(without(state, ended), job) ? count : fewest;
  }
  return fewest;
}

constexpr std::uint32_t kUnitsByHand = 40;

/// How many units would fit, asked one number after the other; at most kUnitsByHand.
std::uint32_t largest_by_hand(const State& state, Job job) {
  Request& request = job.spec.request;
  const std::uint32_t step = std::max(1U, request.units_per_host());
  std::uint32_t largest = 0;
  for (std::uint32_t units = step; units <= kUnitsByHand; units += step) {
    (request.gpus != 0 ? request.gpus : request.ranks) = units;
    largest = fits(state, job) ? units : largest;
  }
  return largest;
}

/// Ranks that ask for no CPU and no memory fit without end.
std::uint32_t bounded(std::uint32_t units, const Job& job) {
  const std::uint32_t step = std::max(1U, job.spec.request.units_per_host());
  return std::min(units, kUnitsByHand / step * step);
}

void expect_why_is_right(const State& state, Capacity& capacity, JobId id) {
  const Job& job = *state.job(id);
  const Why answer = *why(state, capacity, id);
  EXPECT_EQ(answer.fits_now, fits(state, job));
  EXPECT_EQ(bounded(answer.largest_now, job), largest_by_hand(state, job));
  std::uint32_t hosts = answer.open_hosts;
  for (const Filtered& filtered : answer.filtered) {
    hosts += filtered.hosts;
  }
  EXPECT_EQ(hosts, state.hosts().size());
  std::uint32_t open = 0;
  for (const auto& [host, record] : state.hosts()) {
    const auto& named = job.spec.request.hosts;
    Job alone = job;
    Request& request = alone.spec.request;
    (request.gpus != 0 ? request.gpus : request.ranks) = std::max(1U, request.units_per_host());
    request.hosts = {record.name};
    const bool is_named = named.empty() || std::count(named.begin(), named.end(), record.name) == 1;
    open += is_named && fits(state, alone) ? 1 : 0;
  }
  EXPECT_EQ(answer.open_hosts, open);
  for (const auto& [pack, units] : answer.largest) {
    Job packed = job;
    packed.spec.request.pack = pack;
    packed.is_relaxed = false;
    EXPECT_EQ(bounded(units, job), largest_by_hand(state, packed)) << text_of(pack);
  }
  EXPECT_EQ(answer.smallest_end.size(), answer.fits_now ? 0 : fewest_ends(state, job));
  const std::set<JobId> ended(answer.smallest_end.begin(), answer.smallest_end.end());
  EXPECT_TRUE(ended.empty() || fits(without(state, ended), job));
  EXPECT_FALSE(answer.text().empty());
}

TEST(Why, SaysWhatBruteForceSays) {
  const char* wanted = std::getenv("MUSTER_WHY_STATES");
  const int states = wanted == nullptr ? 300 : std::atoi(wanted);
  int asked = 0;
  for (std::uint64_t seed = 1; asked < states && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomFleet fleet(seed + 1'000'000);
    for (int i = 0; i < kSteps && !::testing::Test::HasFailure(); ++i) {
      fleet.change();
      const State& state = fleet.log.state;
      if (i % 10 == 9 && !state.queue().empty() && state.live().size() <= 6) {
        ++asked;
        expect_why_is_right(state, fleet.capacity, std::prev(state.queue().end())->job);
      }
    }
  }
}

TEST(Requests, AGpuTakesItsShareOfTheHost) {
  Fleet fleet;
  fleet.apply(machine(1, 4, 10, 4000));
  ASSERT_TRUE(fleet.start(fleet.submit({.gpus = 3})));
  EXPECT_EQ(fleet.log.state.held_on(host_id(1)), (HeldAmounts{1, 7500, 3000}));
  EXPECT_TRUE(fleet.place(fleet.submit({.gpus = 1})).has_value());
  EXPECT_FALSE(fleet.place(fleet.submit({.gpus = 1, .cpus = 2501})).has_value());
  EXPECT_TRUE(fleet.place(fleet.submit({.gpus = 0, .ranks = 2})).has_value());
  EXPECT_FALSE(fleet.place(fleet.submit({.gpus = 0, .ranks = 3})).has_value()) << "1 CPU a rank";
}

/// A number is free again with its last offer; here while a leader still asks for it.
TEST(Requests, ANumberOfAGpuThatIsGivenAnewWhileItIsAskedForIsFreeAgain) {
  Fleet fleet;
  fleet.apply(registration(1, 2));
  Request two;
  two.gpus = 2;
  const JobId first = fleet.submit(two);
  const JobId second = fleet.submit(two);
  fleet.capacity.ask(fleet.log.state, first, fleet.place(first).value());
  const auto number = fleet.log.state.gpus().number_of(uuid_of(1, 0));
  fleet.apply(registration(1, 0, 2));
  fleet.apply(registration(2, 2));
  ASSERT_TRUE(number == fleet.log.state.gpus().number_of(uuid_of(2, 0)) ||
              number == fleet.log.state.gpus().number_of(uuid_of(2, 1)));
  EXPECT_FALSE(fleet.place(second).has_value()) << "the numbers are still asked for";
  fleet.capacity.settle(fleet.log.state, first);
  EXPECT_TRUE(fleet.capacity.is_right(fleet.log.state));
  EXPECT_TRUE(fleet.start(second));
}

TEST(Requests, TheLogRejectsMoreThanTheHostHas) {
  Fleet fleet;
  fleet.apply(machine(1, 4, 10, 4000));
  const JobId job = fleet.submit({.gpus = 2, .cpus = 5000});
  std::vector<Member> members = fleet.place(job)->members;
  members[0].cpus = 10'001;
  EXPECT_FALSE(fleet.decide(job, members).rejected.empty());
  members[0].cpus = 10'000;
  members[0].memory_mb = 4001;
  EXPECT_FALSE(fleet.decide(job, members).rejected.empty());
  members[0].memory_mb = 4000;
  EXPECT_EQ(fleet.decide(job, members).rejected, "");
}

TEST(Requests, NoHostAndNoJobIsTakenThatCannotBe) {
  Fleet fleet;
  const auto rejects = [&](entry::Register fact) {
    return !fleet.apply(fact).rejected.empty() && fleet.log.state.hosts().empty();
  };
  entry::Register fact = machine(1, 4, kHostCpusMax + 1, 0);
  EXPECT_TRUE(rejects(fact));
  fact = machine(1, 4, 1, kMemoryMbMax + 1);
  EXPECT_TRUE(rejects(fact));
  fact = machine(1, 4, 1, 1);
  fact.traits.islands = {0, 0, 1};
  EXPECT_TRUE(rejects(fact)) << "of four GPUs";
  fact.traits.islands.clear();
  fact.traits.labels = {"b", "a"};
  EXPECT_TRUE(rejects(fact)) << "not sorted";
  const auto is_taken = [&](Request request) { return fleet.submit(request) != JobId(); };
  EXPECT_TRUE(is_taken({.gpus = 4, .gpus_per_host = 2, .ranks_per_host = 1}));
  EXPECT_FALSE(is_taken({.gpus = 0}));
  EXPECT_FALSE(is_taken({.gpus = 5, .gpus_per_host = 2}));
  EXPECT_FALSE(is_taken({.gpus = 4, .ranks = 1}));
  EXPECT_FALSE(is_taken({.gpus = 4, .ranks_per_host = 1}));
  EXPECT_FALSE(is_taken({.gpus = kGangUnitsMax + 1}));
  EXPECT_FALSE(is_taken({.gpus = 1, .cpus = kCpusMax + 1}));
  EXPECT_FALSE(is_taken({.gpus = 1, .labels = {"b", "a"}}));
  EXPECT_FALSE(is_taken({.gpus = 1, .labels = {"a", "a"}}));
  EXPECT_FALSE(is_taken({.gpus = 4096, .gpus_per_host = 1, .ranks_per_host = 2}));
  EXPECT_FALSE(is_taken({.gpus = 1, .hosts = {""}}));
}

TEST(Requests, RanksWithoutGpusGoWhereCpusAreOffered) {
  Fleet fleet;
  fleet.apply(machine(1, 0, 0, 0));
  EXPECT_FALSE(fleet.place(fleet.submit({.gpus = 0, .ranks = 1})).has_value());
  EXPECT_FALSE(fleet.place(fleet.submit({.gpus = 0, .ranks = 1, .cpus = 0})).has_value());
  fleet.apply(machine(2, 0, 1, 0));
  for (std::uint32_t i = 0; i < kHostGrantsMax; ++i) {
    ASSERT_TRUE(fleet.start(fleet.submit({.gpus = 0, .ranks = 1, .cpus = 0}))) << i;
  }
  EXPECT_FALSE(fleet.place(fleet.submit({.gpus = 0, .ranks = 1, .cpus = 0})).has_value())
      << "its agent keeps so many grants";
}

TEST(Requests, AHostThatShrankStillGivesWhatItHas) {
  Fleet fleet;
  fleet.apply(machine(1, 2, 8, 0));
  ASSERT_TRUE(fleet.start(fleet.submit({.gpus = 1, .cpus = 8000})));
  entry::Register less = machine(1, 2, 4, 0);
  less.start = pair_of(1);
  fleet.apply(less);
  EXPECT_TRUE(fleet.start(fleet.submit({.gpus = 1, .cpus = 0})));
}

TEST(Requests, AJobThatIsAsideIsTriedAgainWhenARackIsNamed) {
  Fleet fleet;
  fleet.apply(machine(1, 2, 0, 0));
  fleet.apply(machine(2, 2, 0, 0));
  fleet.capacity.take_gains();
  entry::Register named = machine(1, 2, 0, 0, "r1");
  fleet.apply(named);
  EXPECT_FALSE(fleet.capacity.take_gains().has_value()) << "all is to be tried again";
}

TEST(Requests, OneRankAHostHasAllOfItsGpus) {
  Fleet fleet;
  fleet.apply(machine(1, 4, 0, 0));
  fleet.apply(machine(2, 4, 0, 0));
  const JobId job = fleet.submit({.gpus = 6, .gpus_per_host = 3, .ranks_per_host = 1});
  const std::optional<Placement> placement = fleet.place(job);
  ASSERT_TRUE(placement.has_value());
  ASSERT_EQ(placement->members.size(), 2U);
  EXPECT_EQ(placement->members[1].gpus.size(), 3U);
  EXPECT_EQ(placement->members[1].rank_count(), 1U);
  EXPECT_EQ(placement->members[1].first_rank, 1U);
}

TEST(Requests, APackIsRelaxedAfterItsWait) {
  Fleet fleet;
  fleet.apply(machine(1, 2, 0, 0, "r1"));
  fleet.apply(machine(2, 2, 0, 0, "r2"));
  Request in_one_rack{.gpus = 4};
  in_one_rack.pack = Pack::kRack;
  const JobId never = fleet.submit(in_one_rack);
  in_one_rack.pack_wait = 90s;
  const JobId later = fleet.submit(in_one_rack);
  fleet.apply(entry::Tick{89s});
  EXPECT_FALSE(fleet.place(later).has_value());
  const ApplyResult result = fleet.apply(entry::Tick{1s});
  EXPECT_EQ(result.jobs_moved, std::vector<JobId>{later});
  ASSERT_FALSE(result.events.empty());
  EXPECT_EQ(result.events.back().name, "job_pack_relaxed");
  EXPECT_FALSE(fleet.place(never).has_value());
  EXPECT_TRUE(fleet.start(later));
  EXPECT_EQ(fleet.job(later).history[1].cause, "pack rack relaxed");
  fleet.log.state.check_everything();
  Result<State> copy = State::decode(fleet.log.state.encode());
  ASSERT_TRUE(copy.has_value());
  EXPECT_TRUE(copy->job(later)->is_relaxed);
}

TEST(Requests, WhatCanNeverBeIsSaidWithTheReason) {
  Fleet fleet;
  entry::Register labelled = machine(1, 8, 64, 64'000, "r1");
  labelled.traits.labels = {"zone=a"};
  fleet.apply(labelled);
  fleet.apply(machine(2, 8, 64, 64'000, "r2"));
  const auto says = [&](const Request& request, const std::string& text) {
    const std::string why = fleet.why_not(request);
    EXPECT_NE(why.find(text), std::string::npos) << why;
  };
  Request request{.gpus = 1};
  EXPECT_EQ(fleet.why_not(request), "");
  request.gpu_types = {"B200"};
  says(request, "no host has GPUs of type B200; there are: H100");
  request.gpu_types = {"h100", "B200"};
  EXPECT_EQ(fleet.why_not(request), "");
  request.labels = {"zone=b"};
  says(request, "no host has the label zone=b; there are: zone=a");
  request.labels = {"zone=a"};
  request.gpus = 9;
  says(request,
       "the job asks for 9 h100,B200 GPUs, and the largest that could ever run has 8 GPUs");
  request = Request{.gpus = 16};
  request.pack = Pack::kRack;
  says(request, "16 GPUs in one rack, and the largest has 8 GPUs; --pack any would be possible");
  request.pack_wait = 1min;
  EXPECT_EQ(fleet.why_not(request), "") << "it is relaxed some day";
  request = Request{.gpus = 32, .gpus_per_host = 16};
  says(request, "no host has 16 GPUs; the most is 8 (host host1)");
  request = Request{.gpus = 8, .cpus = 9000};
  EXPECT_EQ(fleet.why_not(request), "");
  request.gpus = 16;
  says(request, "16 GPUs with 9 CPUs each, and the hosts could ever hold 14 of them");
  request = Request{.gpus = 1, .memory_mb = 64'001};
  says(request, "no host has 64001M for each GPU; the most is 64000M (host host1)");
  request.memory_mb = 65'537;
  says(request, "no host has 64G for each GPU; the most is 62.5G (host host1)");
  request = Request{.gpus = 4, .gpus_per_host = 4, .memory_mb = 20'480};
  says(request, "no host has 20G for each of 4 GPUs; the most is 15.6G (host host1)");
  request = Request{.gpus = 1, .cpus = 100'500};
  says(request, "no host has 100.5 CPUs for each GPU; the most is 64 CPUs (host host1)");
  request.memory_mb = 65'537;
  says(request, "no host has 100.5 CPUs for each GPU; the most is 64 CPUs (host host1)");
  request = Request{.gpus = 17, .cpus = 100'500};
  says(request, "17 GPUs, and the largest that could ever run has 16 GPUs");
  request = Request{.gpus = 2, .cpus = 40'000, .memory_mb = 20'000};
  request.pack = Pack::kHost;
  says(request, "2 GPUs in one host, and the largest has 1 GPU; --pack any would be possible");
  request = Request{.gpus = 1};
  request.hosts = {"host3"};
  says(request, "no host is called host3");
}

}  // namespace
}  // namespace muster::scheduler
