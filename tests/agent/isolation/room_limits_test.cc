// The limits of a grant: how the plan holds ranks to them, on hosts that can and that cannot, and
// how an end by one is told.

#include "agent/isolation/room_limits.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "scheduler/protocol/codec.h"

namespace muster::agent {
namespace {

using Kind = RoomStep::Kind;

RoomHost host_that_can(std::initializer_list<Ability> abilities) {
  RoomHost host;
  for (const Ability ability : abilities) {
    host.abilities.add(ability);
  }
  host.group_root = "/cg";
  host.memory_mb = 1000;
  return host;
}

RoomRequest share() {
  RoomRequest asked;
  asked.token = "1.7";
  asked.memory_mb = 64;
  asked.milli_cpus = 2000;
  asked.cpus = {2, 3};
  return asked;
}

/// The steps that limit something.
std::vector<std::string> limits_in(const RoomPlan& plan) {
  std::vector<std::string> lines;
  for (const RoomStep& step : plan.steps) {
    if (step.kind == Kind::kControl || step.kind >= Kind::kAffinity) {
      lines.push_back(text_of(step));
    }
  }
  return lines;
}

TEST(RoomLimits, ControlGroupsHoldRanksAndNotTheirSupervisor) {
  const RoomPlan plan =
      plan_of_room(share(), host_that_can({Ability::kMemory, Ability::kCpu, Ability::kPids}));
  EXPECT_EQ(
      limits_in(plan),
      (std::vector<std::string>{
          "write +memory +cpu +cpuset +pids to "
          "/cg/1.7/cgroup.subtree_control",
          "write 67108864 to /cg/1.7/ranks/memory.max", "write 0 to /cg/1.7/ranks/memory.swap.max",
          "write 1 to /cg/1.7/ranks/memory.oom.group", "write 200 to /cg/1.7/cpu.weight",
          "write 2-3 to /cg/1.7/ranks/cpuset.cpus", "write 6144 to /cg/1.7/ranks/pids.max"}));
  EXPECT_EQ(plan.steps.back().kind, Kind::kRanks) << "no rank begins before its limits";
  EXPECT_EQ(plan.held,
            "memory 64 MiB, by control group; processors 2-3, by control group; processes 6144, by "
            "control group; devices not held");
  RoomLimits limits;
  limits.memory_bytes = 64 << 20;
  limits.processes = 6144;
  limits.group = "/cg/1.7/ranks";
  limits.cpus = {2, 3};
  EXPECT_EQ(limits_of(plan), limits);
}

TEST(RoomLimits, RanksThatAreRootAreNotSaidToBeHeld) {
  RoomRequest asked = share();
  asked.are_ranks_root = true;
  const RoomHost host = host_that_can({Ability::kMemory, Ability::kCpu, Ability::kPids});
  const RoomPlan plan = plan_of_room(asked, host);
  EXPECT_EQ(plan.held,
            plan_of_room(share(), host).held + "; ranks are root, who may leave all of it");
  EXPECT_EQ(plan.steps, plan_of_room(share(), host).steps) << "it still keeps them from mistakes";
}

TEST(RoomLimits, WhereTheyLackTheSupervisorLooksItself) {
  const RoomPlan plan = plan_of_room(share(), host_that_can({Ability::kMounts}));
  EXPECT_EQ(limits_in(plan), (std::vector<std::string>{"start ranks on processors 2-3",
                                                       "end the grant above 64 MiB of memory",
                                                       "end the grant above 6144 processes"}));
  EXPECT_EQ(plan.held,
            "memory 64 MiB, watched each 250 ms; processors 2-3, by affinity; processes 6144, "
            "counted each 250 ms; devices by /dev alone");
  const RoomLimits limits = limits_of(plan);
  EXPECT_TRUE(limits.is_memory_watched && limits.are_processes_counted);
  EXPECT_EQ(limits.affinity, (CpuList{2, 3}));
  EXPECT_EQ(limits.files, (std::vector<std::string>{"/dev/shm", "/tmp"}));
}

TEST(RoomLimits, EachAbilityHasItsOwnFallback) {
  const RoomPlan plan = plan_of_room(share(), host_that_can({Ability::kPids}));
  EXPECT_EQ(
      limits_in(plan),
      (std::vector<std::string>{
          "write +pids to /cg/1.7/cgroup.subtree_control", "write 6144 to /cg/1.7/ranks/pids.max",
          "start ranks on processors 2-3", "end the grant above 64 MiB of memory"}));
}

TEST(RoomLimits, AJobWithoutASizeHasNoLimit) {
  RoomRequest asked = share();
  asked.memory_mb = asked.milli_cpus = 0;
  asked.cpus.clear();
  for (const auto& host :
       {host_that_can({}), host_that_can({Ability::kMemory, Ability::kCpu, Ability::kPids})}) {
    const RoomPlan plan = plan_of_room(asked, host);
    EXPECT_EQ(limits_of(plan).memory_bytes, 0U);
    EXPECT_TRUE(limits_of(plan).cpus.empty());
    EXPECT_EQ(limits_of(plan).processes, kProcessesBase);
    EXPECT_TRUE(plan.held.starts_with("memory not limited; processors shared")) << plan.held;
  }
}

TEST(RoomLimits, ALimitInWhichNoShellStartsIsRaised) {
  RoomRequest asked = share();
  asked.memory_mb = 1;
  for (const auto& host : {host_that_can({}), host_that_can({Ability::kMemory})}) {
    EXPECT_EQ(limits_of(plan_of_room(asked, host)).memory_bytes, kMemoryLimitMinMb << 20);
  }
}

TEST(RoomLimits, AnAbilityWithoutAGroupToUseItInIsNotUsed) {
  RoomHost host = host_that_can({Ability::kMemory, Ability::kCpu, Ability::kPids});
  host.group_root = "";
  EXPECT_TRUE(limits_of(plan_of_room(share(), host)).is_memory_watched);
}

TEST(RoomLimits, TheWeightStaysWithinThoseOfTheKernel) {
  for (const auto& [milli_cpus, weight] :
       {std::pair<std::uint64_t, std::string>{5, "1"}, {2'000'000, "10000"}}) {
    RoomRequest asked = share();
    asked.milli_cpus = milli_cpus;
    const std::vector<std::string> lines =
        limits_in(plan_of_room(asked, host_that_can({Ability::kCpu})));
    EXPECT_NE(std::find(lines.begin(), lines.end(), "write " + weight + " to /cg/1.7/cpu.weight"),
              lines.end())
        << milli_cpus;
  }
}

TEST(MemoryEnd, NamesLimitPeakAndTheBiggest) {
  const std::uint64_t megabyte = 1 << 20;
  EXPECT_EQ(text_of(MemoryEnd{64 * megabyte,
                              71 * megabyte - 1,
                              9 * megabyte,
                              {{"python3", 12, 60 * megabyte}, {"sh", 11, 1}}}),
            "out of memory: 71M of 64M; python3[12] 60M, sh[11] 1M, files 9M");
  EXPECT_EQ(text_of(MemoryEnd{64 * megabyte}), "out of memory: the limit is 64M");
  EXPECT_EQ(text_of(MemoryEnd{64 * megabyte, 65 * megabyte, 64 * megabyte}),
            "out of memory: 65M of 64M; files 64M");
}

TEST(MemoryEnd, FitsIntoADetailWhateverIsIn) {
  MemoryEnd end{UINT64_MAX, UINT64_MAX, UINT64_MAX, {}};
  end.biggest.assign(5, {"a name\nof some length", INT32_MAX, UINT64_MAX});
  const std::string text = text_of(end);
  EXPECT_LE(text.size(), scheduler::kDetailBytesMax);
  EXPECT_NE(text.find("a?name?of?some?"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with(", files 17592186044416M")) << text;
}

TEST(ProcessesEnd, SaysHowManyWereThere) {
  EXPECT_EQ(processes_end_text(4096, 5000), "too many processes: 5000 of 4096");
  EXPECT_EQ(processes_end_text(4096, 0), "too many processes: the limit is 4096");
}

TEST(RefusedForks, CountForAWhileAfterTheLastOfThem) {
  const Instant begin{};
  const Duration soon = RefusedForks::kRecent / 2;
  RefusedForks refused;
  refused.saw(0, begin);
  EXPECT_FALSE(refused.are_recent(begin));
  refused.saw(3, begin + soon);
  refused.saw(3, begin + 2 * soon);
  EXPECT_TRUE(refused.are_recent(begin + 3 * soon));
  EXPECT_FALSE(refused.are_recent(begin + 4 * soon)) << "no new one since";
  refused.saw(4, begin + 4 * soon);
  EXPECT_TRUE(refused.are_recent(begin + 4 * soon));
}

}  // namespace
}  // namespace muster::agent
