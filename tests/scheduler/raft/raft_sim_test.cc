// Goal: Raft keeps its promises under random faults. Method: a slice of seeded schedules, every
// checker on each. MUSTER_SEED=N replays one schedule, MUSTER_SCHEDULES=N runs N of them.

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/scheduler/raft/raft_sim.h"

namespace muster::scheduler::sim {
namespace {

constexpr std::uint64_t kSchedules = 300;

TEST(RaftSim, SchedulesViolateNothing) {
  const char* pinned = std::getenv("MUSTER_SEED");
  const std::uint64_t first = pinned != nullptr ? std::strtoull(pinned, nullptr, 10) : 1;
  const char* wanted = std::getenv("MUSTER_SCHEDULES");
  const std::uint64_t count = wanted != nullptr   ? std::strtoull(wanted, nullptr, 10)
                              : pinned != nullptr ? 1
                                                  : kSchedules;
  const std::uint64_t last = first + count - 1;
  Outcome sum;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    const Outcome outcome = RaftSim(seed).run();
    ASSERT_EQ(outcome.checker, "")
        << outcome.text << "\nseed=" << seed << "\nreplay: MUSTER_SEED=" << seed
        << " raft_sim_test --gtest_filter=RaftSim.SchedulesViolateNothing";
    sum.events += outcome.events;
    sum.committed += outcome.committed;
    sum.elections += outcome.elections;
    sum.crashes += outcome.crashes;
    sum.reads += outcome.reads;
    sum.snapshots += outcome.snapshots;
    sum.reconfigurations += outcome.reconfigurations;
    sum.transfers += outcome.transfers;
    sum.lost_disks += outcome.lost_disks;
    sum.quorums_lost += outcome.quorums_lost;
  }
  std::printf(
      "schedules=%lu events=%lu committed=%lu elections=%lu crashes=%lu reads=%lu "
      "snapshots=%lu reconfigurations=%lu transfers=%lu lost_disks=%lu quorums_lost=%lu\n",
      last - first + 1, sum.events, sum.committed, sum.elections, sum.crashes, sum.reads,
      sum.snapshots, sum.reconfigurations, sum.transfers, sum.lost_disks, sum.quorums_lost);
  if (count >= kSchedules) {
    EXPECT_GT(sum.elections, kSchedules);
    EXPECT_GT(sum.crashes, kSchedules);
    EXPECT_GT(sum.reads, kSchedules);
    EXPECT_GT(sum.snapshots, 0U);
    EXPECT_GT(sum.reconfigurations, kSchedules);
    EXPECT_GT(sum.transfers, kSchedules / 4);
    EXPECT_GT(sum.lost_disks, 0U);
  }
}

TEST(RaftSim, SameSeedSameEvents) {
  const Outcome first = RaftSim(7).run();
  const Outcome second = RaftSim(7).run();
  EXPECT_EQ(first.hash, second.hash);
  EXPECT_NE(first.hash, RaftSim(8).run().hash);
}

}  // namespace
}  // namespace muster::scheduler::sim
