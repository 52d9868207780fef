// Real supervisors with real ranks: how they end is told whole, nothing outlives its grant, and a
// supervisor outlives its agent. Nothing here sleeps: every wait is for an event, with a deadline.

#include "agent/edge/supervisor/rank_supervisor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <thread>

#include "agent/edge/supervisor/rank_output.h"
#include "agent/edge/supervisor/supervise.h"
#include "gossip/edge/boot_clock.h"

namespace muster::agent {
namespace {

using scheduler::RankResult;
using Kind = RankResult::Kind;

constexpr Duration kPatience = std::chrono::seconds(20);
constexpr int kRemoveTriesMax = 1000;
const HostId kHost = HostId::from_bytes("0123456789abcdef");

class RankSupervisor : public testing::Test {
 protected:
  RankSupervisor() {
    char path[] = "/tmp/muster-ranks-XXXXXX";
    data_ = mkdtemp(path);
    restart();
  }
  ~RankSupervisor() override {
    if (agent_ != nullptr) {
      agent_->carry_out(Terminate{token_, Duration(0), "test over"});
    }
    agent_.reset();
    // A supervisor told to end writes its last marks meanwhile.
    std::error_code error;
    for (int tries = 0; tries < kRemoveTriesMax; ++tries) {
      std::filesystem::remove_all(data_, error);
      if (!error) {
        return;
      }
    }
    ADD_FAILURE() << data_ << ": " << error.message();
  }

  /// A new agent: the old one's descriptors are gone, its supervisors are not.
  void restart() {
    agent_.reset();
    inputs_.clear();
    RankSupervisorsOptions options;
    options.data_directory = data_;
    options.kept = kept_;
    options.reserve = reserve_;
    options.address = gossip::Endpoint::ipv4(127, 0, 0, 1, 0);
    agent_ = std::make_unique<RankSupervisors>(options);
    ASSERT_TRUE(agent_->adopt());
  }

  /// The first input of type T, or null after kPatience.
  template <class T>
  std::optional<T> wait_for() {
    const Instant deadline = boot_now() + kPatience;
    while (boot_now() < deadline) {
      for (GangAgentInput& input : agent_->take_inputs()) {
        inputs_.push_back(std::move(input));
      }
      for (const GangAgentInput& input : inputs_) {
        if (const T* found = std::get_if<T>(&input)) {
          return *found;
        }
      }
      turn(deadline);
    }
    return std::nullopt;
  }

  /// Overdue answers are noticed by asking, so it looks around at least every kTurnMax.
  void turn(Instant deadline) {
    static constexpr Duration kTurnMax = std::chrono::milliseconds(100);
    deadline = std::min(deadline, boot_now() + kTurnMax);
    std::vector<pollfd> set;
    for (const int fd : agent_->fds()) {
      set.push_back({fd, POLLIN, 0});
    }
    poll(set.data(), set.size(), static_cast<int>(to_ms(deadline - boot_now())));
    for (const pollfd& entry : set) {
      if (entry.revents != 0) {
        agent_->on_readable(entry.fd);
      }
    }
  }

  void prepare(Duration hold = std::chrono::minutes(1)) {
    agent_->carry_out(Prepare{token_, true, hold});
    const auto prepared = wait_for<SupervisorPrepared>();
    ASSERT_TRUE(prepared.has_value());
    master_ = prepared->master;
  }

  void launch(std::vector<std::string> argv, std::uint32_t ranks = 1) {
    Launch launch;
    launch.record.token = token_;
    launch.record.job = JobId(7);
    launch.record.spec.argv = std::move(argv);
    launch.record.spec.directory = directory_;
    launch.record.spec.grace = grace_;
    launch.member.host = kHost;
    for (std::uint32_t i = 0; i < ranks; ++i) {
      launch.member.gpus.push_back({"GPU-" + std::to_string(i), 0});
    }
    launch.record.members = {launch.member};
    launch.master = master_;
    launch.hold_until = boot_now() + hold_;
    agent_->carry_out(launch, {"alpha"});
  }

  void run(const std::string& script, std::uint32_t ranks = 1) {
    prepare();
    launch({"sh", "-c", script}, ranks);
  }

  std::vector<RankResult> results() {
    const auto ended = wait_for<AllRanksEnded>();
    return ended.has_value() ? ended->results : std::vector<RankResult>();
  }

  /// Results of a run whose one rank is told.
  RankResult result_of(const std::string& script) {
    run(script);
    const std::vector<RankResult> all = results();
    EXPECT_EQ(all.size(), 1U);
    return all.empty() ? RankResult() : all.front();
  }

  std::string log(std::uint32_t rank = 0) const {
    return read_file(agent_->directory_of(token_) + "/rank-" + std::to_string(rank) + ".log")
        .value_or("");
  }

  /// A pipe whose write end the ranks inherit by name: it reads end-of-file once every process that
  /// opened it is gone.
  struct Fifo {
    std::string path;
    Fd reader;
  };
  Fifo make_fifo() const {
    Fifo fifo{data_ + "/fifo", {}};
    EXPECT_EQ(mkfifo(fifo.path.c_str(), 0600), 0);
    fifo.reader = Fd(open(fifo.path.c_str(), O_RDONLY | O_NONBLOCK));
    return fifo;
  }
  /// What was written until "." arrives or every writer is gone.
  static bool wait_for_line(const Fifo& fifo) {
    pollfd entry{fifo.reader.get(), POLLIN, 0};
    char byte = 0;
    return poll(&entry, 1, static_cast<int>(to_ms(kPatience))) > 0 &&
           read(fifo.reader.get(), &byte, 1) == 1;
  }
  static bool wait_for_end(const Fifo& fifo) {
    const Instant deadline = boot_now() + kPatience;
    char bytes[64];
    while (boot_now() < deadline) {
      pollfd entry{fifo.reader.get(), POLLIN, 0};
      poll(&entry, 1, static_cast<int>(to_ms(deadline - boot_now())));
      if (read(fifo.reader.get(), bytes, sizeof bytes) == 0) {
        return true;
      }
    }
    return false;
  }

  std::string data_;
  std::string directory_ = "/tmp";
  KeptLimits kept_;
  DiskReserve reserve_;
  Token token_{1, 42};
  Duration hold_ = std::chrono::minutes(1);
  Duration grace_ = std::chrono::milliseconds(200);
  gossip::Endpoint master_;
  std::unique_ptr<RankSupervisors> agent_;
  std::vector<GangAgentInput> inputs_;
};

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

TEST_F(RankSupervisor, AMissingCommandIs127) {
  prepare();
  launch({"no-such-command-anywhere"});
  const std::vector<RankResult> all = results();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].kind, Kind::kNotStarted);
  EXPECT_EQ(all[0].code, 127);
  EXPECT_NE(all[0].detail.find("no-such-command-anywhere"), std::string::npos);
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

TEST_F(RankSupervisor, OutputBeyondTheCapIsDroppedAndTheLogSaysSo) {
  static constexpr std::uint64_t kTooMuch = kRankOutputBytesMax + (1 << 20);
  run("head -c " + std::to_string(kTooMuch) + " /dev/zero; echo the end; exit 3");
  const std::vector<RankResult> all = results();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].code, 3) << "the program does not feel it";
  const std::string path = agent_->directory_of(token_) + "/rank-0.log";
  const std::uint64_t size = std::filesystem::file_size(path);
  EXPECT_EQ(all[0].output_bytes, size);
  EXPECT_GT(size, kRankOutputBytesMax);
  EXPECT_LT(size, kRankOutputBytesMax + 100);
  std::string last(100, '\0');
  const Fd log(open(path.c_str(), O_RDONLY));
  ASSERT_GT(pread(log.get(), last.data(), last.size(), static_cast<off_t>(size - last.size())), 0);
  EXPECT_NE(last.find("the rest of it is dropped\n"), std::string::npos);
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

TEST_F(RankSupervisor, TheOldestOutputGoesFirstWhenThereIsTooMuch) {
  kept_.count = 2;
  for (const std::uint64_t index : {7, 8, 9}) {
    const std::string old = data_ + "/grants/" + Token{1, index}.text();
    std::filesystem::create_directories(old);
    std::ofstream(old + "/rank-0.log") << "old";
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
  EXPECT_EQ(agent_->take_events().at(0).name, "disk_low");
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
  if (argc > 1 && std::string_view(argv[1]) == "supervise") {
    return muster::agent::supervise_main(argc, argv);
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
