// A supervisor outlives its agent, which finds it again, or finds that it is gone.

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <thread>

#include "tests/agent/edge/supervisor/rank_supervisor_desk.h"

namespace muster::agent {
namespace {

using namespace testing;  // NOLINT: the fixture's verbs

TEST_F(RankSupervisor, RanksEndWhenTheirSupervisorIsKilled) {
  const Fifo fifo = make_fifo();
  run("exec 9>" + fifo.path + "; trap '' TERM; (setsid sleep 1000 &); sleep 1000");
  ASSERT_TRUE(wait_for<RanksStarted>().has_value());
  for (const Event& event : agent_->take_events()) {
    if (event.name == "no_pid_namespace") {
      GTEST_SKIP() << "PID namespaces are denied here";
    }
  }
  ASSERT_TRUE(agent_->pid_of(token_).has_value());
  kill(*agent_->pid_of(token_), SIGKILL);
  const auto gone = wait_for<SupervisorGone>();
  ASSERT_TRUE(gone.has_value());
  EXPECT_FALSE(gone->results.has_value());
  char byte = 0;
  ssize_t left = 0;
  while ((left = read(fifo.reader.get(), &byte, 1)) > 0) {
  }
  EXPECT_EQ(left, 0) << "a process of the grant outlived the report of its end";
}

TEST_F(RankSupervisor, ASupervisorOutlivesItsAgentAndIsAdopted) {
  const Fifo fifo = make_fifo();
  run("trap 'echo got it; exit 4' TERM; exec 9>" + fifo.path +
      "; echo . >&9; while :; do sleep 0.01; done");
  ASSERT_TRUE(wait_for_line(fifo));
  restart();
  const auto adopted = wait_for<SupervisorAdopted>();
  ASSERT_TRUE(adopted.has_value());
  EXPECT_TRUE(adopted->launched);
  EXPECT_EQ(adopted->master, master_);
  EXPECT_TRUE(wait_for<SupervisorsScanned>().has_value());
  agent_->carry_out(Terminate{token_, kPatience, "test"});
  const std::vector<RankResult> all = results();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].code, 4);
  EXPECT_NE(log().find("got it\n"), std::string::npos);
}

TEST_F(RankSupervisor, WithoutDescriptorsNoSupervisorIsTakenForDead) {
  const Fifo fifo = make_fifo();
  run("trap 'exit 4' TERM; exec 9>" + fifo.path + "; echo . >&9; while :; do sleep 0.01; done");
  ASSERT_TRUE(wait_for_line(fifo));
  for (const int free_count : {1, 2, 3}) {
    agent_.reset();
    inputs_.clear();
    RankSupervisorsOptions options;
    options.data_directory = data_;
    options.users = users_;
    agent_ = std::make_unique<RankSupervisors>(options);
    rlimit limit{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
    const int lowest = dup(0);
    close(lowest);
    const rlimit low{static_cast<rlim_t>(lowest + free_count), limit.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
    const bool has_adopted = static_cast<bool>(agent_->adopt());
    for (GangAgentInput& input : agent_->take_inputs()) {
      inputs_.push_back(std::move(input));
    }
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    EXPECT_TRUE(has_adopted) << free_count;
    EXPECT_TRUE(wait_for<SupervisorAdopted>().has_value()) << free_count;
    EXPECT_FALSE(std::any_of(inputs_.begin(), inputs_.end(), [](const GangAgentInput& input) {
      return std::holds_alternative<SupervisorGone>(input);
    })) << free_count;
  }
  agent_->carry_out(Terminate{token_, kPatience, "test"});
  const std::vector<RankResult> all = results();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].code, 4);
}

TEST_F(RankSupervisor, ANumberThatIsAThreadsByNowIsNoSupervisor) {
  std::promise<int> number;
  std::promise<void> over;
  std::thread stranger([&] {
    number.set_value(static_cast<int>(syscall(SYS_gettid)));
    over.get_future().wait();
  });
  const std::filesystem::path grant = std::filesystem::path(data_) / "grants" / "1.77";
  std::filesystem::create_directories(grant);
  std::ofstream(grant / "lock").flush();
  std::ofstream(grant / "pid") << number.get_future().get() << " 5\n";
  restart();
  const auto gone = wait_for<SupervisorGone>();
  EXPECT_TRUE(gone.has_value());
  EXPECT_TRUE(wait_for<SupervisorsScanned>().has_value());
  over.set_value();
  stranger.join();
}

TEST_F(RankSupervisor, AFrozenSupervisorIsReportedAndAdoptedWhenItThaws) {
  static constexpr int kRestarts = 8;  // More than its backlog takes.
  const Fifo fifo = make_fifo();
  run("exec 9>" + fifo.path + "; echo . >&9; sleep 1000");
  ASSERT_TRUE(wait_for_line(fifo));
  const int pid = agent_->pid_of(token_).value();
  ASSERT_EQ(kill(pid, SIGSTOP), 0);
  const Instant begun = boot_now();
  for (int i = 0; i < kRestarts; ++i) {
    restart();
  }
  EXPECT_LT(boot_now() - begun, kSupervisorPatience) << "a full backlog held the agent up";
  EXPECT_TRUE(wait_for<SupervisorsScanned>().has_value());
  EXPECT_TRUE(wait_for<SupervisorSilent>().has_value());
  agent_->carry_out(Terminate{token_, grace_, "told while frozen"});
  kill(pid, SIGCONT);
  const auto adopted = wait_for<SupervisorAdopted>();
  ASSERT_TRUE(adopted.has_value());
  EXPECT_TRUE(adopted->launched);
}

TEST_F(RankSupervisor, AFrozenSupervisorWhoseRanksMustGoAtOnceIsKilled) {
  const Fifo fifo = make_fifo();
  run("exec 9>" + fifo.path + "; echo . >&9; sleep 1000");
  ASSERT_TRUE(wait_for_line(fifo));
  ASSERT_EQ(kill(agent_->pid_of(token_).value(), SIGSTOP), 0);
  restart();
  ASSERT_TRUE(wait_for<SupervisorSilent>().has_value());
  agent_->carry_out(Terminate{token_, Duration(0), "stuck"});
  const auto gone = wait_for<SupervisorGone>();
  ASSERT_TRUE(gone.has_value());
  EXPECT_FALSE(gone->results.has_value());
  EXPECT_TRUE(wait_for_end(fifo));
}

TEST_F(RankSupervisor, ALaunchThatLeftNoMarkIsReportedAsNotBegun) {
  prepare();
  std::filesystem::create_directory(agent_->directory_of(token_) + "/spec.new");
  launch({"true"});
  EXPECT_TRUE(wait_for<LaunchFailed>().has_value());
}

TEST_F(RankSupervisor, OutputGoesOnWithoutAnAgent) {
  const Fifo fifo = make_fifo();
  run("exec 9>" + fifo.path +
      "; echo . >&9; i=0; while [ $i -lt 300 ]; do head -c 1000 /dev/zero; " + "i=$((i+1)); done");
  ASSERT_TRUE(wait_for_line(fifo));
  agent_.reset();
  EXPECT_TRUE(wait_for_end(fifo));
  const Instant deadline = boot_now() + kPatience;
  const std::string evidence = data_ + "/grants/" + token_.text() + "/evidence";
  while (!std::filesystem::exists(evidence) && boot_now() < deadline) {
    sched_yield();
  }
  restart();
  const auto gone = wait_for<SupervisorGone>();
  ASSERT_TRUE(gone.has_value() && gone->results.has_value());
  EXPECT_EQ(log().size(), 300'000U);
}

TEST_F(RankSupervisor, EvidenceWaitsForTheNextAgentUntilItIsForgotten) {
  EXPECT_EQ(result_of("exit 5").code, 5);
  restart();
  const auto gone = wait_for<SupervisorGone>();
  ASSERT_TRUE(gone.has_value());
  ASSERT_TRUE(gone->results.has_value());
  EXPECT_EQ(gone->results->front().code, 5);
  ASSERT_TRUE(wait_for<SupervisorsScanned>().has_value());
  agent_->carry_out(Forget{token_});
  restart();
  ASSERT_TRUE(wait_for<SupervisorsScanned>().has_value());
  EXPECT_EQ(inputs_.size(), 1U) << "a forgotten grant is not found again";
  EXPECT_TRUE(std::filesystem::exists(agent_->directory_of(token_) + "/rank-0.log"));
}

TEST_F(RankSupervisor, AForgottenPreparedSupervisorEndsAndLeavesNothing) {
  prepare();
  agent_->carry_out(Forget{token_});
  const Instant deadline = boot_now() + kPatience;
  while (agent_->pid_of(token_).has_value() && boot_now() < deadline) {
    turn(deadline);
  }
  EXPECT_FALSE(std::filesystem::exists(agent_->directory_of(token_)));
}

TEST_F(RankSupervisor, ASecondLaunchOfATokenFindsTheFirst) {
  const Fifo fifo = make_fifo();
  run("echo once; exec 9>" + fifo.path + "; echo . >&9; sleep 1000");
  ASSERT_TRUE(wait_for_line(fifo));
  agent_->carry_out(Prepare{token_, true, hold_});
  launch({"sh", "-c", "echo twice"});
  agent_->carry_out(Terminate{token_, grace_, "test"});
  ASSERT_EQ(results().size(), 1U);
  EXPECT_EQ(log(), "once\n");
}

}  // namespace
}  // namespace muster::agent

int main(int argc, char** argv) {
  return muster::agent::testing::main_of_ranks(argc, argv);
}
