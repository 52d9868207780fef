// "why" against brute force, on small clusters and on fleets.

#include "scheduler/why/explain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/placement/capacity.h"
#include "tests/scheduler/placement/logged_fleet.h"
#include "tests/scheduler/placement/random_cluster.h"
#include "tests/scheduler/policy/queue_of.h"
#include "tests/scheduler/state/cluster.h"

namespace muster::scheduler {
namespace {

using namespace testing;  // NOLINT: the fixture's verbs

std::optional<Why> why(const State& state, JobId job) {
  Capacity capacity(state);
  return scheduler::why(state, capacity, PendingIndex(state).queue(), job);
}

/// The smallest set of jobs whose end makes the waiting one fit: (count, GPUs), over all sets.
std::pair<std::size_t, std::size_t> brute_force_change(const RandomCluster& cluster,
                                                       const std::vector<Holder>& all) {
  std::pair<std::size_t, std::size_t> best{SIZE_MAX, SIZE_MAX};
  for (std::uint32_t subset = 1; subset < 1U << all.size(); ++subset) {
    std::set<JobId> ended;
    std::size_t gpus = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if ((subset >> i & 1) != 0) {
        ended.insert(all[i].job);
        gpus += all[i].gpus;
      }
    }
    if (fits(cluster.free(ended), cluster.job().spec.request.gpus)) {
      best = std::min(best, {ended.size(), gpus});
    }
  }
  return best;
}

/// All running jobs with the GPUs they hold on hosts that take work.
std::vector<Holder> running_jobs(const RandomCluster& cluster) {
  std::map<JobId, Holder> holders;
  for (const auto& [uuid, slots] : cluster.log.state.gpu_holders()) {
    const SlotHolder& held_by = slots.at(0);
    Holder& holder = holders[cluster.log.state.attempt(held_by.token)->job];
    holder.job = cluster.log.state.attempt(held_by.token)->job;
    holder.gpus += cluster.log.state.host(held_by.host)->takes_work() ? 1 : 0;
  }
  std::vector<Holder> list;
  for (auto& [id, holder] : holders) {
    list.push_back(holder);
  }
  return list;
}

TEST(Why, NamesTheSmallestChange) {
  int explained = 0;
  for (std::uint64_t seed = 1; seed <= kClusters; ++seed) {
    SCOPED_TRACE("seed=" + std::to_string(seed));
    RandomCluster cluster(seed);
    const std::optional<Why> answer = why(cluster.log.state, cluster.waiting);
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->fits_now, fits(cluster.free(), cluster.job().spec.request.gpus));
    EXPECT_TRUE(answer->largest_now == 0 || fits(cluster.free(), answer->largest_now));
    EXPECT_FALSE(fits(cluster.free(), answer->largest_now + 1));
    EXPECT_FALSE(answer->text().empty());
    const auto best = brute_force_change(cluster, running_jobs(cluster));
    if (answer->fits_now || best.first == SIZE_MAX) {
      EXPECT_TRUE(answer->smallest_end.empty());
      continue;
    }
    ++explained;
    EXPECT_EQ(answer->smallest_end.size(), best.first);
    const std::set<JobId> ended(answer->smallest_end.begin(), answer->smallest_end.end());
    EXPECT_TRUE(fits(cluster.free(ended), cluster.job().spec.request.gpus));
  }
  EXPECT_GT(explained, kClusters / 10) << "the clusters say too little";
}

TEST(Why, CountsTheGpusOfHostsWithoutNamespaces) {
  Log log;
  log.apply(registration(1, 2));
  entry::Register without = registration(2, 4);
  without.has_namespaces = false;
  log.apply(without);
  log.run(log.submit(2), {member_of(1, 0, 2)});
  EXPECT_NE(why(log.state, log.submit(1))
                ->text()
                .find("4 more GPUs accept only jobs with --isolation keep"),
            std::string::npos);
}

/// The state once these jobs ended.
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

bool fits_in(const State& state, const Job& job) {
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
    fewest = fits_in(without(state, ended), job) ? count : fewest;
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
    largest = fits_in(state, job) ? units : largest;
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
  const Why answer = *why(state, capacity, PendingIndex(state).queue(), id);
  EXPECT_EQ(answer.fits_now, fits_in(state, job));
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
    open += is_named && fits_in(state, alone) ? 1 : 0;
  }
  EXPECT_EQ(answer.open_hosts, open);
  for (const auto& [pack, units] : answer.largest) {
    Job packed = job;
    packed.spec.request.pack = pack;
    packed.life.is_relaxed = false;
    EXPECT_EQ(bounded(units, job), largest_by_hand(state, packed)) << text_of(pack);
  }
  EXPECT_EQ(answer.smallest_end.size(), answer.fits_now ? 0 : fewest_ends(state, job));
  const std::set<JobId> ended(answer.smallest_end.begin(), answer.smallest_end.end());
  EXPECT_TRUE(ended.empty() || fits_in(without(state, ended), job));
  EXPECT_FALSE(answer.text().empty());
}

TEST(Why, TheNeedIsInTheWordsOfTheRequest) {
  struct Case {
    std::uint32_t gpus, per_host, live;
    Pack pack;
    const char* text;
  };
  for (const Case& each : {
           Case{10, 0, 8, Pack::kAny, "needs 10 GPUs, and the suitable hosts that are up have 8"},
           Case{16, 0, 8, Pack::kRack,
                "needs 16 GPUs in one rack, and the suitable hosts that are up have at most 8 in "
                "one rack"},
           Case{10, 2, 8, Pack::kAny,
                "needs 2 GPUs on each of 5 hosts, and 4 of the suitable hosts that are up have so "
                "many"},
           Case{10, 2, 2, Pack::kRack,
                "needs 2 GPUs on each of 5 hosts in one rack, and at most 1 of the suitable hosts "
                "that are up has so many"},
           Case{8, 4, 4, Pack::kIsland,
                "needs 4 GPUs in one island on each of 2 hosts, and at most 1 of the suitable "
                "hosts that are up has so many"},
           Case{1, 1, 0, Pack::kAny,
                "needs 1 GPU on 1 host, and 0 of the suitable hosts that are up have so many"},
       }) {
    Job job;
    job.spec.request.gpus = each.gpus;
    job.spec.request.gpus_per_host = each.per_host;
    job.spec.request.pack = each.pack;
    EXPECT_EQ(need_text(job, each.live), each.text);
  }
  Job ranks;
  ranks.spec.request.gpus = 0;
  ranks.spec.request.ranks = 3;
  EXPECT_EQ(need_text(ranks, 1),
            "needs 3 ranks, and the suitable hosts that are up have room for 1");
}

TEST(Why, ALackIsNamedBesideTheChangeThatEndsIt) {
  Log log;
  log.apply(registration(1, 8));
  log.apply(registration(2, 8));
  log.run(log.submit(4), {member_of(1, 0, 4)});
  log.run(log.submit(4), {member_of(2, 0, 4)});
  entry::Submit together = submission("together", 8);
  together.spec.request.pack = Pack::kHost;
  const JobId job = log.apply(together).job;
  EXPECT_EQ(why(log.state, job)->text(),
            "it lacks room that is as close together: it would fit now with --pack any");
}

void set_queues(Log& log, std::vector<QueueNode> nodes) {
  entry::SetQueues fact;
  fact.expected = log.state.queues().version();
  fact.tree.nodes = std::move(nodes);
  ASSERT_EQ(log.apply(fact).rejected, "");
}

JobId submit_to(Log& log, const std::string& queue, const std::string& user, std::uint32_t gpus,
                std::vector<std::string> types = {}) {
  entry::Submit fact = submission("key" + std::to_string(log.index().value()), gpus);
  fact.spec.queue = queue;
  fact.spec.user = user;
  fact.spec.request.gpu_types = std::move(types);
  return log.apply(fact).job;
}

TEST(Why, AMaxOfAQueueIsNamed) {
  struct Case {
    QueueAmounts max;
    const char* text;
    const char* pool;
  };
  for (const Case& each :
       {Case{{{"h100", 2}}, "queue a is at its max of 2 H100", "H100"},
        Case{{{"gpus", 3}}, "queue a is at its max of 3 GPUs", "gpus"},
        Case{{{"h100", 3}, {"gpus", 3}}, "queue a is at its max of 3 H100", "H100"},
        Case{{{"h100", 4}}, "it fits and starts now", ""}}) {
    SCOPED_TRACE(each.text);
    Log log;
    log.apply(registration(1, 8));
    QueueNode parent;
    parent.path = "a";
    parent.max = each.max;
    QueueNode leaf;
    leaf.path = "a/x";
    set_queues(log, {parent, leaf});
    log.run(submit_to(log, "a/x", "ann", 2), {member_of(1, 0, 2)});
    const Why answer = *why(log.state, submit_to(log, "a/x", "ann", 2));
    EXPECT_EQ(answer.text(), each.text);
    EXPECT_EQ(answer.queue, "a/x");
    EXPECT_EQ(answer.tier, Tier::kStandard);
    EXPECT_EQ(answer.full_pool, each.pool);
    EXPECT_EQ(answer.full_queue, answer.full_pool.empty() ? "" : "a");
    EXPECT_TRUE(answer.fits_now);
  }
}

TEST(Why, AMaxInOnePoolIsNoReasonWhileAnotherPoolIsOpen) {
  Log log;
  log.apply(registration(1, 8));
  log.apply(registration(2, 8, 1, "A100"));
  QueueNode queue;
  queue.path = "a";
  queue.max = {{"h100", 2}};
  set_queues(log, {queue});
  log.run(submit_to(log, "a", "ann", 2, {"H100"}), {member_of(1, 0, 2)});
  EXPECT_EQ(why(log.state, submit_to(log, "a", "ann", 1, {"H100"}))->full_queue, "a");
  EXPECT_EQ(why(log.state, submit_to(log, "a", "bob", 1))->full_queue, "");
}

TEST(Why, OnlyJobsOfItsUserInItsPoolsAreAhead) {
  Log log;
  log.apply(registration(1, 8));
  log.apply(registration(2, 8, 1, "A100"));
  QueueNode queue;
  queue.path = "a";
  set_queues(log, {queue});
  const JobId ahead = submit_to(log, "a", "ann", 1);
  submit_to(log, "a", "ann", 1, {"A100"});
  submit_to(log, "a", "bob", 1);
  submit_to(log, "default", "zoe", 1, {"H100"});
  submit_to(log, "default", "zoe", 1, {"A100"});
  const JobId job = submit_to(log, "a", "ann", 1, {"h100"});
  const Why answer = *why(log.state, job);
  EXPECT_EQ(answer.ahead, std::vector<JobId>{ahead});
  EXPECT_EQ(answer.others_wait, 2U);
  EXPECT_EQ(answer.text(), "it would fit, but 1 job is ahead of it");
  EXPECT_EQ(why(log.state, ahead)->text(), "it fits and starts now");
}

/// Of eight H100 nlp holds some and vision one; each has a job that waits for one more.
struct SharedPool {
  SharedPool(std::vector<QueueNode> nodes, std::uint32_t nlp_holds) {
    log.apply(registration(1, 8));
    set_queues(log, std::move(nodes));
    log.run(submit_to(log, "research/nlp", "ann", nlp_holds), {member_of(1, 0, nlp_holds)});
    log.run(submit_to(log, "research/vision", "bob", 1), {member_of(1, 7, 1)});
    nlp = submit_to(log, "research/nlp", "ann", 1);
    vision = submit_to(log, "research/vision", "bob", 1);
  }
  Log log;
  JobId nlp;
  JobId vision;
};

std::vector<QueueNode> two_teams() {
  std::vector<QueueNode> nodes(2);
  nodes[0].path = "research/nlp";
  nodes[0].weight = 2;
  nodes[1].path = "research/vision";
  return nodes;
}

TEST(Why, TheTurnNamesBothSidesAndWhatDecided) {
  SharedPool pool(two_teams(), 4);
  const Why answer = *why(pool.log.state, pool.nlp);
  EXPECT_EQ(answer.turn.rule, TurnRule::kShare);
  EXPECT_EQ(answer.turn.first, pool.vision);
  EXPECT_EQ(answer.turn.pool, "h100");
  EXPECT_EQ(answer.text(),
            "it would fit, but research/vision is next in H100: it holds 1 for weight 1, "
            "research/nlp 4 for weight 2");
  EXPECT_EQ(why(pool.log.state, pool.vision)->turn.rule, TurnRule::kNext);
  EXPECT_EQ(answer.turn.next_with, "tier premium");
}

TEST(Why, AGuaranteeATierAndAMaxDecideATurn) {
  std::vector<QueueNode> nodes = two_teams();
  nodes[1].guaranteed = {{"h100", 2}};
  SharedPool owed(nodes, 1);
  const Turn guarantee = why(owed.log.state, owed.nlp)->turn;
  EXPECT_EQ(guarantee.rule, TurnRule::kGuarantee);
  EXPECT_EQ(guarantee.text(),
            "research/vision is next in H100: its guarantee covers its next job; it holds 1, "
            "research/nlp 1");
  EXPECT_EQ(guarantee.next_with, "");
  nodes = two_teams();
  nodes[0].max = {{"h100", 4}};
  SharedPool full(nodes, 4);
  const Turn max = why(full.log.state, full.nlp)->turn;
  EXPECT_EQ(max.rule, TurnRule::kFull);
  EXPECT_EQ(max.own.queue, "research/nlp");
  SharedPool tiers(two_teams(), 1);
  entry::Edit sooner{tiers.vision, 0, "alice"};
  sooner.tier = Tier::kInference;
  tiers.log.apply(sooner);
  const Turn tier = why(tiers.log.state, tiers.nlp)->turn;
  EXPECT_EQ(tier.rule, TurnRule::kTier);
  EXPECT_EQ(tier.text(),
            "research/vision is next in H100: its next job is of tier inference, that of "
            "research/nlp of tier standard");
}

TEST(Why, InALeafAPriorityIsTheSmallestChange) {
  SharedPool pool(two_teams(), 1);
  pool.log.apply(entry::Edit{pool.nlp, 3, "alice"});
  const JobId behind = submit_to(pool.log, "research/nlp", "ann", 1);
  const Why answer = *why(pool.log.state, behind);
  EXPECT_EQ(answer.turn.rule, TurnRule::kLeaf);
  EXPECT_EQ(answer.turn.text(), "");
  EXPECT_EQ(answer.turn.next_with, "priority 4");
  EXPECT_EQ(answer.text(), "it would fit, but 1 job is ahead of it");
}

TEST(Why, AUserIsNotNamed) {
  SharedPool pool(two_teams(), 4);
  pool.log.apply(entry::Cancel{pool.vision, "alice"});
  const JobId others = submit_to(pool.log, "research/nlp", "zoe", 1);
  const Turn turn = why(pool.log.state, pool.nlp)->turn;
  EXPECT_EQ(turn.first, others);
  EXPECT_EQ(turn.text(),
            "another user of research/nlp is next in H100: it holds 0 for weight 1, the user of "
            "this job 4 for weight 1");
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
      if (i % 10 == 9 && state.pending() != 0 && state.live().size() <= 6) {
        ++asked;
        expect_why_is_right(state, fleet.capacity, queue_of(state).back());
      }
    }
  }
}

}  // namespace
}  // namespace muster::scheduler
