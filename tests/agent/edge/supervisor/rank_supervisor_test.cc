// How ranks end is told whole, and nothing outlives its grant.

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "agent/edge/ranks/rank_output.h"
#include "tests/agent/edge/supervisor/rank_supervisor_desk.h"

namespace muster::agent {
namespace {

using namespace testing;  // NOLINT: the fixture's verbs

TEST_F(RankSupervisor, RanksRunToTheEndAndTheirOutputIsWhole) {
  run("i=0; while [ $i -lt 2000 ]; do echo line $i of $RANK; i=$((i+1)); done; echo end >&2", 3);
  const std::vector<RankResult> all = results();
  ASSERT_EQ(all.size(), 3U);
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(all[rank].rank, rank);
    EXPECT_TRUE(all[rank].is_success());
    EXPECT_EQ(all[rank].output_bytes, log(rank).size());
    EXPECT_NE(log(rank).find("line 1999 of " + std::to_string(rank) + "\nend\n"),
              std::string::npos);
  }
}

TEST_F(RankSupervisor, RanksSeeTheirPlaceInTheGang) {
  run("echo $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $NODE_RANK $MASTER_ADDR:$MASTER_PORT "
      "$CUDA_VISIBLE_DEVICES $MUSTER_JOB_ID $MUSTER_ATTEMPT $MUSTER_TOKEN $MUSTER_HOSTS",
      2);
  ASSERT_EQ(results().size(), 2U);
  EXPECT_EQ(log(1), "1/2 1/2 0 " + master_.text() + " GPU-0,GPU-1 7 1 1.42 alpha\n");
}

TEST_F(RankSupervisor, RanksOfARootAgentRunAsTheUserOfTheirJob) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "only root can become another user";
  }
  users_ = {.own_user = "root", .is_root = true};
  user_ = "nobody";
  restart();
  run("id -un; echo $USER; kill -0 1 2>&1; kill -0 $$ && echo own; echo told >/dev/stderr", 2);
  const std::vector<RankResult> all = results();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_TRUE(all[1].is_success()) << all[1].detail;
  EXPECT_NE(log(1).find("nobody\nnobody\n"), std::string::npos) << log(1);
  EXPECT_NE(log(1).find("not permitted"), std::string::npos) << "its supervisor is root's";
  EXPECT_NE(log(1).find("own\ntold\n"), std::string::npos) << log(1);
}

TEST_F(RankSupervisor, AUserThatTheHostDoesNotRunIsRefusedBeforeReady) {
  const struct {
    RankUserRule rule;
    std::string user;
    std::string why;
  } cases[] = {
      {{.own_user = "root", .is_root = true},
       "no-such-login",
       "user no-such-login is unknown on this host"},
      {{.own_user = "another name of root", .is_root = true},
       "root",
       "user root is root on this host: submit as another user"},
      {{.own_user = "ci"},
       "anna",
       "the agent runs as ci and takes no job of anna: run it as root, or share its user "
       "(shared_user = true)"},
      {{}, "", "the user of the job is no login name"},
  };
  for (const auto& one : cases) {
    users_ = one.rule;
    restart();
    agent_->carry_out(Prepare{token_, true, hold_, one.user});
    const auto failed = wait_for<LaunchFailed>();
    ASSERT_TRUE(failed.has_value()) << one.why;
    EXPECT_EQ(failed->text, one.why);
    EXPECT_TRUE(failed->is_refusal);
    EXPECT_FALSE(std::any_of(inputs_.begin(), inputs_.end(), [](const GangAgentInput& input) {
      return std::holds_alternative<ShortageChanged>(input) ||
             std::holds_alternative<SupervisorPrepared>(input);
    })) << "the host itself is well";
    agent_->carry_out(Forget{token_});
    ++token_.index;
  }
}

TEST_F(RankSupervisor, StdinIsAtItsEnd) {
  result_of("read line; echo $? \"$line\"");
  EXPECT_EQ(log(), "1 \n");
}

TEST_F(RankSupervisor, ExitStatusIsTold) {
  const RankResult result = result_of("exit 3");
  EXPECT_EQ(result.kind, Kind::kExited);
  EXPECT_EQ(result.code, 3);
}

TEST_F(RankSupervisor, DeathBySignalIsTold) {
  const RankResult result = result_of("kill -SEGV $$");
  EXPECT_EQ(result.kind, Kind::kSignalled);
  EXPECT_EQ(result.code, SIGSEGV);
  EXPECT_FALSE(result.signalled_by_us);
}

TEST_F(RankSupervisor, ARankFindsItselfInProc) {
  result_of("cat /proc/$$/comm; sh -c 'cat /proc/$PPID/comm; :'; ls -d /proc/1");
  for (const Event& event : agent_->take_events()) {
    if (event.name == "no_own_proc") {
      GTEST_SKIP() << "mounting /proc is denied here";
    }
  }
  EXPECT_EQ(log(), "sh\nsh\n/proc/1\n");
}

TEST_F(RankSupervisor, SignalsThatTheAgentIgnoresOrBlocksAreTheRanksAgain) {
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const auto was_quit = signal(SIGQUIT, SIG_IGN);
  const auto was_user = signal(SIGUSR2, SIG_IGN);
  const RankResult result =
      result_of("grep -E 'Sig(Blk|Ign)' /proc/self/status | tr -d '0\t\n'; kill -QUIT $$");
  signal(SIGQUIT, was_quit);
  signal(SIGUSR2, was_user);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(log(), "SigBlk:SigIgn:");
  EXPECT_EQ(result.kind, Kind::kSignalled);
  EXPECT_EQ(result.code, SIGQUIT);
}

TEST_F(RankSupervisor, UmaskAndSoftLimitsAreThoseOfTheSubmit) {
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  rlimit raised = before;
  raised.rlim_cur = raised.rlim_max;
  setrlimit(RLIMIT_NOFILE, &raised);  // As an agent raises its own.
  const mode_t mask = umask(0);
  shell_ = {027, 512, 4 << 20, 0};
  result_of("umask; ulimit -n; ulimit -s; ulimit -c");
  umask(mask);
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(log(), "0027\n512\n4096\n0\n");
}

TEST_F(RankSupervisor, AHardLimitOfTheHostBoundsWhatTheSubmitHad) {
  shell_.open_files = scheduler::SubmitShell::kNoLimit;
  result_of("[ $(ulimit -n) = $(ulimit -Hn) ] && echo same");
  EXPECT_EQ(log(), "same\n");
}

TEST_F(RankSupervisor, AMissingCommandIs127) {
  prepare();
  launch({"no-such-command-anywhere"});
  const std::vector<RankResult> all = results();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].kind, Kind::kNotStarted);
  EXPECT_EQ(all[0].code, 127);
  EXPECT_NE(all[0].detail.find("no-such-command-anywhere"), std::string::npos);
}

TEST_F(RankSupervisor, AScriptWithoutItsInterpreterIsNoMissingCommand) {
  directory_ = data_;
  const std::string script = data_ + "/win.sh";
  std::ofstream(script) << "#!/bin/sh\r\necho hi\r\n";
  ASSERT_EQ(chmod(script.c_str(), 0700), 0);
  prepare();
  launch({"./win.sh"});
  const std::vector<RankResult> all = results();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].kind, Kind::kNotStarted);
  EXPECT_EQ(all[0].code, 127);
  EXPECT_EQ(
      all[0].detail,
      "command ./win.sh: no interpreter '/bin/sh\\r'; a carriage return ends line 1: dos2unix");
}

TEST_F(RankSupervisor, AMissingDirectoryIsNamed) {
  directory_ = "/no/such/directory";
  const RankResult result = result_of("true");
  EXPECT_EQ(result.kind, Kind::kNotStarted);
  EXPECT_NE(result.detail.find("/no/such/directory"), std::string::npos);
}

TEST_F(RankSupervisor, TermEndsARankAndTheMarkIsKept) {
  const Fifo fifo = make_fifo();
  run("trap 'exit 0' TERM; exec 9>" + fifo.path + "; echo . >&9; while :; do sleep 0.01; done");
  ASSERT_TRUE(wait_for_line(fifo));
  grace_ = std::chrono::seconds(15);
  agent_->carry_out(Terminate{token_, grace_, "test"});
  const std::vector<RankResult> all = results();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].code, 0);
  EXPECT_TRUE(all[0].signalled_by_us);
  EXPECT_FALSE(all[0].is_success());
}

TEST_F(RankSupervisor, ARankThatIgnoresTermIsKilledAfterTheGrace) {
  const Fifo fifo = make_fifo();
  run("trap '' TERM; exec 9>" + fifo.path + "; echo . >&9; while :; do sleep 0.01; done");
  ASSERT_TRUE(wait_for_line(fifo));
  agent_->carry_out(Terminate{token_, grace_, "test"});
  const std::vector<RankResult> all = results();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].kind, Kind::kSignalled);
  EXPECT_EQ(all[0].code, SIGKILL);
}

/// The shell dies of TERM at once; what it runs has a checkpoint to write.
TEST_F(RankSupervisor, AProgramUnderAShellHasTheGraceThatTheShellDoesNotUse) {
  const Fifo fifo = make_fifo();
  run("sh -c 'trap \"while kill -0 $PPID; do :; done; echo saved; exit 0\" TERM; exec 9>" +
      fifo.path + "; echo . >&9; while :; do sleep 0.01; done' 2>/dev/null; echo after");
  ASSERT_TRUE(wait_for_line(fifo));
  agent_->carry_out(Terminate{token_, std::chrono::minutes(10), "test"});
  const std::vector<RankResult> all = results();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].kind, Kind::kSignalled);
  EXPECT_EQ(all[0].code, SIGTERM);
  EXPECT_EQ(log(), "saved\n");
  EXPECT_EQ(all[0].output_bytes, log().size());
}

TEST_F(RankSupervisor, TermReachesOtherSessionsAndDaemonsOfRanksThatEnded) {
  const Fifo fifo = make_fifo();
  const std::string daemon =
      "sleep 1000 & trap \"echo of $RANK; exit 0\" TERM; exec 9>" + fifo.path + "; echo . >&9; ";
  run("(setsid sh -c '" + daemon + "wait' &); [ $RANK = 1 ] || sleep 1000", 2);
  ASSERT_TRUE(wait_for_line(fifo));
  ASSERT_TRUE(wait_for_line(fifo));
  ASSERT_TRUE(wait_for_line(fifo));  // A line has two bytes: the third is of the second line.
  agent_->carry_out(Terminate{token_, std::chrono::minutes(10), "test"});
  ASSERT_EQ(results().size(), 2U);
  EXPECT_EQ(log(0), "of 0\n");
  EXPECT_EQ(log(1), "of 1\n");
}

TEST_F(RankSupervisor, AStoppedProcessIsWokenToEnd) {
  const Fifo fifo = make_fifo();
  run("trap 'echo woken; exit 0' TERM; exec 9>" + fifo.path +
      "; echo . >&9; kill -STOP $$; while :; do sleep 0.01; done");
  ASSERT_TRUE(wait_for_line(fifo));
  agent_->carry_out(Terminate{token_, std::chrono::minutes(10), "test"});
  ASSERT_EQ(results().size(), 1U);
  EXPECT_EQ(log(), "woken\n");
}

TEST_F(RankSupervisor, WhatForksAwayEndsWithTheGrant) {
  const Fifo fifo = make_fifo();
  run("exec 9>" + fifo.path +
      "; (setsid sh -c 'trap \"\" TERM; while :; do sleep 1; done' &) ; "
      "exit 0");
  ASSERT_EQ(results().size(), 1U);
  EXPECT_TRUE(wait_for_end(fifo));
}

TEST_F(RankSupervisor, TheFirstFailureIsToldWhileOthersRun) {
  const Fifo fifo = make_fifo();
  run("if [ $RANK = 1 ]; then exit 9; fi; exec 9>" + fifo.path + "; sleep 1000", 3);
  const auto early = wait_for<RankFailedEarly>();
  ASSERT_TRUE(early.has_value());
  EXPECT_EQ(early->result.rank, 1U);
  EXPECT_EQ(early->result.code, 9);
  agent_->carry_out(Terminate{token_, grace_, "first failure"});
  const std::vector<RankResult> all = results();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_TRUE(all[0].signalled_by_us);
  EXPECT_FALSE(all[1].signalled_by_us);
}

TEST_F(RankSupervisor, OutputBeyondTheCapIsDroppedAndTheLogSaysSo) {
  static constexpr std::uint64_t kTooMuch = kRankOutputBytesMax + (1 << 20);
  run("head -c " + std::to_string(kTooMuch) + " /dev/zero; echo the end; exit 3");
  const std::vector<RankResult> all = results();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].code, 3) << "the program does not feel it";
  const std::string path = agent_->directory_of(token_) + "/rank-0.log";
  const std::uint64_t size = std::filesystem::file_size(path);
  EXPECT_EQ(all[0].output_bytes, size);
  EXPECT_EQ(all[0].surplus_bytes, (1 << 20) + std::string("the end\n").size());
  EXPECT_EQ(all[0].lost_bytes, 0U);
  std::vector<bool> told;
  for (const GangAgentInput& input : inputs_) {
    if (const auto* dropped = std::get_if<OutputDropped>(&input)) {
      told.push_back(dropped->is_whole);
      EXPECT_LE(dropped->surplus_bytes, all[0].surplus_bytes);
    }
  }
  EXPECT_EQ(told, (std::vector{false, true}));
  EXPECT_GT(size, kRankOutputBytesMax);
  EXPECT_LT(size, kRankOutputBytesMax + 100);
  std::string last(100, '\0');
  const Fd log(open(path.c_str(), O_RDONLY));
  ASSERT_GT(pread(log.get(), last.data(), last.size(), static_cast<off_t>(size - last.size())), 0);
  EXPECT_NE(last.find("the rest of it is dropped\n"), std::string::npos);
}

TEST_F(RankSupervisor, TheOldestOutputGoesFirstWhenThereIsTooMuch) {
  kept_.rule.files = 8;  // With those of the run, of two in directories of no known job.
  for (const std::uint64_t index : {7, 8, 9}) {
    const std::string old = data_ + "/grants/" + Token{1, index}.text();
    std::filesystem::create_directories(old);
    std::ofstream(old + "/rank-0.log") << "old";
    std::ofstream(old + "/rank-0.marks") << "old";
  }
  restart();
  EXPECT_FALSE(std::filesystem::exists(agent_->directory_of({1, 7})));
  EXPECT_TRUE(std::filesystem::exists(agent_->directory_of({1, 8})));
  run("echo new");
  ASSERT_EQ(results().size(), 1U);
  agent_->carry_out(Forget{token_});
  const Instant deadline = boot_now() + kPatience;
  while (agent_->pid_of(token_).has_value() && boot_now() < deadline) {
    turn(deadline);
  }
  EXPECT_FALSE(std::filesystem::exists(agent_->directory_of({1, 8})));
  EXPECT_TRUE(std::filesystem::exists(agent_->directory_of({1, 9})));
  EXPECT_EQ(log(), "new\n");
}

TEST_F(RankSupervisor, AHostWhoseDiskIsNearlyFullTakesNothingNew) {
  reserve_ = {UINT64_MAX, 100};
  restart();
  agent_->carry_out(Prepare{token_, true, hold_});
  const auto failed = wait_for<LaunchFailed>();
  ASSERT_TRUE(failed.has_value());
  EXPECT_NE(failed->text.find("disk"), std::string::npos);
  const auto told = wait_for<ShortageChanged>();
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(told->shortage, failed->text);
}

TEST_F(RankSupervisor, RanksAreStoppedWhenTheHoldLapsesWithoutAnAgent) {
  const Fifo fifo = make_fifo();
  hold_ = std::chrono::milliseconds(1);
  prepare(std::chrono::seconds(2));
  launch({"sh", "-c", "trap '' TERM; exec 9>" + fifo.path + "; echo .>&9; sleep 1000"});
  ASSERT_TRUE(wait_for_line(fifo));
  agent_.reset();
  EXPECT_TRUE(wait_for_end(fifo));
  const Instant deadline = boot_now() + kPatience;
  const std::string evidence = data_ + "/grants/" + token_.text() + "/evidence";
  while (!std::filesystem::exists(evidence) && boot_now() < deadline) {
    sched_yield();
  }
  const auto results = decode_results(read_file(evidence).value_or(""));
  ASSERT_TRUE(results.has_value());
  EXPECT_TRUE(results->front().signalled_by_us);
}

TEST_F(RankSupervisor, RenewalsMoveTheHold) {
  prepare(std::chrono::milliseconds(500));
  agent_->carry_out(RenewHold{token_, boot_now() + std::chrono::minutes(1)});
  hold_ = Duration(0);
  launch({"sh", "-c", "sleep 1; exit 6"});
  const std::vector<RankResult> all = results();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].code, 6);
}

TEST_F(RankSupervisor, MasterPortIsHeldAndRankZeroCanListenOnIt) {
  prepare();
  ASSERT_NE(master_.port, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(master_.port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* raw = reinterpret_cast<sockaddr*>(&address);
  const Fd rude(socket(AF_INET, SOCK_STREAM, 0));
  EXPECT_NE(bind(rude.get(), raw, sizeof address), 0);
  const Fd polite(socket(AF_INET, SOCK_STREAM, 0));
  const int one = 1;
  setsockopt(polite.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  EXPECT_EQ(bind(polite.get(), raw, sizeof address), 0);
  EXPECT_EQ(listen(polite.get(), 1), 0);
}

}  // namespace
}  // namespace muster::agent

int main(int argc, char** argv) {
  return muster::agent::testing::main_of_ranks(argc, argv);
}
