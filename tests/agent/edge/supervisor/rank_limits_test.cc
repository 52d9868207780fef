// Real ranks that pass a limit, where no control group holds them: the whole grant ends, and its
// results say by what. Ranks within their limits run to their end.

#include <sched.h>

#include <algorithm>
#include <filesystem>

#include "tests/agent/edge/supervisor/rank_supervisor_desk.h"

namespace muster::agent {
namespace {

using namespace testing;  // NOLINT: the fixture's verbs

/// Letters into the variable `x` of the shell itself.
constexpr char kFill[] = "fill() { x=$(head -c $1 /dev/zero | tr '\\0' x); }; ";

class RankLimits : public RankSupervisor {
 protected:
  void limit(std::uint64_t memory_mb, std::uint64_t processes = kProcessesBase) {
    share_.memory_mb = memory_mb;
    room_.processes_base = processes;
    restart();
  }

  static bool is_killed(const RankResult& result) {
    return result.kind == Kind::kSignalled && result.code == SIGKILL && !result.signalled_by_us;
  }
};

TEST_F(RankLimits, ARankThatUsesTooMuchMemoryEndsAndIsNamed) {
  limit(64);
  const RankResult result = result_of(std::string(kFill) + "fill 90000000; sleep 60");
  EXPECT_TRUE(is_killed(result)) << result.code;
  EXPECT_TRUE(result.detail.starts_with("out of memory: ")) << result.detail;
  EXPECT_NE(result.detail.find("M of 64M; sh["), std::string::npos) << result.detail;
}

TEST_F(RankLimits, AChildCountsAndItsSiblingsEndWithIt) {
  limit(64);
  run("if [ $RANK = 0 ]; then { head -c 90000000 /dev/zero; sleep 60; } | tail -n 1; fi; sleep 60",
      2);
  const std::vector<RankResult> all = results();
  ASSERT_EQ(all.size(), 2U);
  for (const RankResult& result : all) {
    EXPECT_TRUE(is_killed(result)) << result.code;
    EXPECT_NE(result.detail.find("; tail["), std::string::npos) << result.detail;
  }
}

TEST_F(RankLimits, PagesThatProcessesShareCountOnce) {
  limit(200);
  const RankResult result = result_of(
      std::string(kFill) +
      "fill 50000000; for i in 1 2 3 4 5 6; do (sleep 0.7; true) & done; wait; echo ${#x}");
  EXPECT_TRUE(result.is_success()) << result.detail;
  EXPECT_EQ(log(), "50000000\n");
}

TEST_F(RankLimits, FilesOnADiskCountForNobody) {
  limit(16);
  char path[] = "/var/tmp/muster-limits-XXXXXX";
  directory_ = mkdtemp(path);
  const RankResult result =
      result_of("head -c 100000000 /dev/zero > file && sleep 0.6 && cat file > /dev/null");
  std::filesystem::remove_all(directory_);
  EXPECT_TRUE(result.is_success()) << result.detail;
}

TEST_F(RankLimits, FilesInItsOwnTmpCount) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "only root makes rooms of mounts under this agent";
  }
  room_.abilities.add(Ability::kMounts);
  room_.memory_mb = 1000;
  room_.data_directory = data_;
  directory_ = "/";
  limit(64);
  const RankResult result = result_of(
      "head -c 40000000 /dev/zero > /tmp/a; head -c 40000000 /dev/zero > /dev/shm/b; sleep 60");
  EXPECT_TRUE(is_killed(result)) << result.code;
  EXPECT_TRUE(result.detail.ends_with("files 77M")) << result.detail;
}

TEST_F(RankLimits, TooManyProcessesEndTheGrant) {
  limit(0, 50);
  const RankResult result =
      result_of("i=0; while [ $i -lt 80 ]; do sleep 60 & i=$((i+1)); done; wait");
  EXPECT_TRUE(is_killed(result)) << result.code;
  EXPECT_TRUE(result.detail.starts_with("too many processes: ")) << result.detail;
  EXPECT_TRUE(result.detail.ends_with(" of 50")) << result.detail;
}

TEST_F(RankLimits, AKillBySomebodyElseIsNoLimit) {
  limit(64);
  const RankResult result = result_of("kill -9 $$");
  EXPECT_TRUE(is_killed(result)) << result.code;
  EXPECT_EQ(result.detail, "");
}

TEST_F(RankLimits, RanksStayOnTheProcessorsOfTheirGrant) {
  share_.cpus = 1000;
  restart();
  cpu_set_t here;
  ASSERT_EQ(sched_getaffinity(0, sizeof here, &here), 0);
  int first = 0;
  while (!CPU_ISSET(first, &here)) {
    ++first;
  }
  prepare();
  const std::vector<Event> events = agent_->take_events();
  const auto told = std::find_if(events.begin(), events.end(), [](const Event& event) {
    return event.name == "ranks_of_grant_are_held";
  });
  ASSERT_NE(told, events.end());
  EXPECT_NE(told->field("detail").find("; processors " + std::to_string(first) + ", by affinity"),
            std::string_view::npos);
  launch(
      {"sh", "-c", "sed -n 's/^Cpus_allowed_list:.//p' /proc/self/status; echo $OMP_NUM_THREADS"},
      2);
  ASSERT_EQ(results().size(), 2U);
  EXPECT_EQ(log(1), std::to_string(first) + "\n1\n");
}

}  // namespace
}  // namespace muster::agent

int main(int argc, char** argv) {
  return muster::agent::testing::main_of_ranks(argc, argv);
}
