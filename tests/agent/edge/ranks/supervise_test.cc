// One supervisor process and the agents it hears one after the other, played by the test on real
// sockets: an agent's last word counts before the next agent is heard. Every wait is for an event.

#include "agent/edge/ranks/supervise.h"

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <linux/keyctl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "agent/edge/grant/supervise_protocol.h"
#include "gossip/edge/boot_clock.h"
#include "scheduler/protocol/host_fault.h"

namespace muster::agent {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using Phase = SupervisorStatus::Phase;

constexpr Duration kPatience = 20s;
constexpr uid_t kPlainUser = 65534;

/// A supervisor of an agent that is not root.
int supervise_plainly(int argc, char** argv) {
  if (geteuid() == 0 &&
      (setgroups(0, nullptr) != 0 || setresgid(kPlainUser, kPlainUser, kPlainUser) != 0 ||
       setresuid(kPlainUser, kPlainUser, kPlainUser) != 0 || prctl(PR_SET_DUMPABLE, 1) != 0)) {
    return 1;
  }
  return supervise_main(argc, argv);
}

/// An agent's end of a connection.
struct Agent {
  Fd socket;
  std::string buffer;

  void say(const SupervisorFrame& order) const {
    ASSERT_TRUE(send_all(socket.get(), encode_frame(order)));
  }
  /// The next status; nullopt if the supervisor hung up or `patience` passed.
  std::optional<SupervisorStatus> hear(Duration patience = kPatience) {
    const Instant deadline = boot_now() + patience;
    while (boot_now() < deadline) {
      Result<std::optional<SupervisorFrame>> frame = take_frame(buffer);
      if (frame && frame->has_value()) {
        return std::get<SupervisorStatus>(**frame);
      }
      pollfd entry{socket.get(), POLLIN, 0};
      poll(&entry, 1, static_cast<int>(to_ms(deadline - boot_now())));
      if (!frame || (entry.revents != 0 && !receive_some(socket.get(), buffer))) {
        return std::nullopt;
      }
    }
    return std::nullopt;
  }
};

class Supervise : public testing::Test {
 protected:
  Supervise() {
    char path[] = "/tmp/muster-supervise-XXXXXX";
    directory_ = mkdtemp(path);
  }
  ~Supervise() override {
    // Its pidfd is readable when all that it started is gone too: nothing writes here any more.
    if (pidfd_.is_open()) {
      syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0);
      pollfd gone{pidfd_.get(), POLLIN, 0};
      poll(&gone, 1, static_cast<int>(to_ms(kPatience)));
    }
    std::filesystem::remove_all(directory_);
  }

  void start(Duration hold = 1min, const char* verb = "supervise") {
    int ends[2] = {-1, -1};
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    first_.socket = Fd(ends[0]);
    const Fd theirs(ends[1]);

    std::vector<std::string> words = {
        "muster", verb, directory_, "3", std::to_string(hold.count()), "-", "agent", ""};
    std::vector<char*> argv;
    for (std::string& word : words) {
      argv.push_back(word.data());
    }
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, theirs.get(), 3);
    pid_t starter = 0;
    ASSERT_EQ(posix_spawn(&starter, "/proc/self/exe", &actions, nullptr, argv.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    ASSERT_EQ(waitpid(starter, nullptr, 0), starter);
    const auto status = first_.hear();
    ASSERT_TRUE(status.has_value());
    ASSERT_EQ(status->phase, Phase::kPrepared);
    pid_ = std::atoi(read_file(directory_ + "/pid").value_or("0").c_str());
    pidfd_ = Fd(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
    ASSERT_TRUE(pidfd_.is_open());
  }

  Agent connect_agent() const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::snprintf(address.sun_path, sizeof address.sun_path, "%s/sock", directory_.c_str());
    Agent agent{Fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)), {}};
    EXPECT_EQ(connect(agent.socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address),
              0);
    return agent;
  }

  static LaunchOrder order(const std::string& script, Duration hold = 1min) {
    LaunchOrder launch;
    launch.argv = {"/bin/sh", "-c", script};
    launch.directory = "/tmp";
    launch.ranks = {{0, {}}};
    launch.grace = 100ms;
    launch.hold_until = boot_now() + hold;
    return launch;
  }

  /// Of the only one, once it has ended; -1 if the supervisor hung up before.
  int code_of_the_rank() {
    std::optional<SupervisorStatus> told = first_.hear();
    while (told.has_value() && told->results.empty()) {
      told = first_.hear();
    }
    return told.has_value() ? told->results.front().code : -1;
  }

  std::string directory_;
  pid_t pid_ = 0;
  Fd pidfd_;
  Agent first_;
};

TEST_F(Supervise, TheLastOrderOfADeadAgentIsObeyedBeforeTheNextAgentIsHeard) {
  start();
  kill(pid_, SIGSTOP);
  LaunchOrder launch = order("sleep 1000");
  launch.environment = {"LONG=" + std::string(100'000, 'x')};  // More than one read.
  first_.say(launch);
  first_.socket.reset();
  Agent second = connect_agent();
  kill(pid_, SIGCONT);
  const auto status = second.hear();
  ASSERT_TRUE(status.has_value());
  EXPECT_NE(status->phase, Phase::kPrepared) << "told the next agent that nothing was launched";
  EXPECT_EQ(status->rank_count, 1U);
}

TEST_F(Supervise, AnAgentIsHeardOnlyWhenTheOneBeforeHungUp) {
  start();
  Agent second = connect_agent();
  second.say(TerminateOrder{0ms, "the second agent's"});
  first_.say(order("exit 3"));
  std::optional<SupervisorStatus> told = first_.hear();
  while (told.has_value() && told->results.empty()) {
    told = first_.hear();
  }
  ASSERT_TRUE(told.has_value()) << "the second agent ended what the first had not let go of";
  EXPECT_EQ(told->results.front().code, 3);
  EXPECT_FALSE(told->results.front().signalled_by_us);
}

TEST_F(Supervise, AnAgentThatNeverHangsUpIsLetGo) {
  start();
  Agent second = connect_agent();
  EXPECT_TRUE(second.hear().has_value());
  EXPECT_FALSE(first_.hear().has_value());
  second.say(order("exit 4"));
  std::optional<SupervisorStatus> told = second.hear();
  while (told.has_value() && told->results.empty()) {
    told = second.hear();
  }
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(told->results.front().code, 4);
}

TEST_F(Supervise, ADismissalEndsWhatWasLaunchedRightBeforeIt) {
  start();
  kill(pid_, SIGSTOP);
  first_.say(order("sleep 1000"));
  first_.say(DismissOrder{});
  kill(pid_, SIGCONT);
  std::optional<SupervisorStatus> told = first_.hear();
  while (told.has_value() && told->phase != Phase::kEnded) {
    told = first_.hear();
  }
  ASSERT_TRUE(told.has_value()) << "ranks that nobody wants run on";
  EXPECT_TRUE(told->results.at(0).signalled_by_us);
}

TEST_F(Supervise, RanksThatWereGivenLongGoSoonerWhenToldAgain) {
  start();
  const std::string deaf = directory_ + "/deaf";
  first_.say(order("trap '' TERM; : > " + deaf + "; while :; do sleep 1; done"));
  const Instant deadline = boot_now() + kPatience;
  while (!std::filesystem::exists(deaf) && boot_now() < deadline) {
    sched_yield();
  }
  first_.say(TerminateOrder{1h, "stop"});
  first_.say(TerminateOrder{0ms, "stuck"});
  std::optional<SupervisorStatus> told = first_.hear();
  while (told.has_value() && told->phase != Phase::kEnded) {
    told = first_.hear();
  }
  EXPECT_TRUE(told.has_value());
}

TEST_F(Supervise, ARenewalThatLayUnreadInAPauseCountsBeforeTheHoldIsJudged) {
  start(1s);
  first_.say(order("sleep 1000", 1s));
  const Instant lapse = boot_now() + 1s;
  std::optional<SupervisorStatus> told = first_.hear();
  while (told.has_value() && told->phase != Phase::kRunning) {
    told = first_.hear();
  }
  ASSERT_TRUE(told.has_value());
  kill(pid_, SIGSTOP);
  const Instant renewed = boot_now() + 1min;
  first_.say(HoldOrder{renewed});
  first_.socket.reset();
  Agent second = connect_agent();
  while (boot_now() < lapse) {
    poll(nullptr, 0, static_cast<int>(to_ms(lapse - boot_now())) + 1);
  }
  kill(pid_, SIGCONT);
  told = second.hear();
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(told->phase, Phase::kRunning);
  EXPECT_EQ(told->hold_until, renewed);
}

TEST_F(Supervise, WhatCannotBeMarkedAsLaunchedIsNotLaunched) {
  std::filesystem::create_directory(directory_ + "/spec.new");  // In the way of the mark.
  start();
  const std::string ran = directory_ + "/ran";
  first_.say(order(": > " + ran));
  EXPECT_FALSE(first_.hear().has_value()) << "it goes on without its mark";
  pollfd gone{pidfd_.get(), POLLIN, 0};
  ASSERT_EQ(poll(&gone, 1, static_cast<int>(to_ms(kPatience))), 1);
  EXPECT_FALSE(std::filesystem::exists(ran));
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/spec"));
}

TEST_F(Supervise, WithoutTheMarkRanksAreKilledAndLostNotAskedToEnd) {
  std::filesystem::create_directory(directory_ + "/signalled");  // In the way of the mark.
  start();
  const std::string runs = directory_ + "/runs";
  const std::string asked = directory_ + "/asked";
  first_.say(order("trap ': > " + asked + "; exit 0' TERM; : > " + runs +
                   "; while :; do sleep 0.01; done"));
  const Instant deadline = boot_now() + kPatience;
  while (!std::filesystem::exists(runs) && boot_now() < deadline) {
    sched_yield();
  }
  first_.say(TerminateOrder{1h, "stop"});
  std::optional<SupervisorStatus> told = first_.hear();
  while (told.has_value() && told->phase != Phase::kEnded) {
    told = first_.hear();
  }
  ASSERT_TRUE(told.has_value());
  ASSERT_EQ(told->results.size(), 1U);
  EXPECT_EQ(told->results[0].kind, scheduler::RankResult::Kind::kLost);
  EXPECT_TRUE(told->results[0].signalled_by_us);
  EXPECT_EQ(told->results[0].detail, "signalled: Is a directory");
  EXPECT_FALSE(std::filesystem::exists(asked));
}

TEST_F(Supervise, RanksHaveSharedMemoryOfTheirOwn) {
  if (!can_make_pid_namespace(false)) {
    GTEST_SKIP() << "namespaces are denied here";
  }
  start();
  const std::string ours = std::filesystem::read_symlink("/proc/self/ns/ipc");
  first_.say(order("[ \"$(readlink /proc/self/ns/ipc)\" != \"" + ours + "\" ]"));
  EXPECT_EQ(code_of_the_rank(), 0);
}

/// The number of the key in the keyring of this session; -1 if it has none of that name.
long key_of_session(const char* name) {
  return syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, "user", name, 0);
}

TEST_F(Supervise, RanksDoNotHaveTheKeysOfWhatStartedTheAgent) {
  if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr) < 0) {
    GTEST_SKIP() << "keys are denied here";
  }
  ASSERT_GE(syscall(SYS_add_key, "user", "muster-test", "x", 1, KEY_SPEC_SESSION_KEYRING), 0);
  ASSERT_GE(key_of_session("muster-test"), 0);
  start();
  LaunchOrder launch = order("");
  launch.argv = {"/proc/self/exe", "has-key", "muster-test"};
  first_.say(launch);
  EXPECT_EQ(code_of_the_rank(), 1);
}

TEST_F(Supervise, TheDirectoryOfAJobLeadsToNoDirectoryOfItsGrant) {
  start();
  LaunchOrder launch = order("[ \"$(pwd -P)\" = / ]");
  launch.directory = "/proc/self/cwd";
  first_.say(launch);
  EXPECT_EQ(code_of_the_rank(), 0);
}

TEST_F(Supervise, TheDirectoryOfAJobLeadsToNoDirectoryOfASupervisorWithoutRights) {
  if (geteuid() == 0) {
    ASSERT_EQ(chown(directory_.c_str(), kPlainUser, kPlainUser), 0);
  }
  start(1min, "supervise-plainly");
  LaunchOrder launch = order("exit 0");
  launch.directory = "/proc/1/cwd";
  first_.say(launch);
  EXPECT_EQ(code_of_the_rank(), 126) << "it went into " << directory_;
}

/// A disk of its own below the supervisor, which can be filled up.
class SuperviseOnAFullDisk : public Supervise {
 protected:
  void SetUp() override {
    if (mount("none", directory_.c_str(), "tmpfs", 0, "size=256k") != 0) {
      GTEST_SKIP() << "needs root: cannot mount a disk of its own";
    }
    is_mounted_ = true;
  }
  void TearDown() override {
    if (is_mounted_) {
      umount2(directory_.c_str(), MNT_DETACH);
    }
  }
  void fill() const {
    const Fd file(open((directory_ + "/filler").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    const std::string chunk(4096, 'x');
    while (write(file.get(), chunk.data(), chunk.size()) > 0) {
    }
    ASSERT_EQ(errno, ENOSPC);
  }
  /// A script that begins with `before`, says so by an empty file and waits for the file that is
  /// returned.
  std::string start_waiting(const std::string& before) {
    const std::string base = "/tmp/muster-supervise-go-" + std::to_string(pid_);
    first_.say(order(before + ": > " + base + ".runs; while [ ! -e " + base +
                     ".go ]; do sleep 0.01; done; exit 0"));
    const Instant deadline = boot_now() + kPatience;
    while (!std::filesystem::exists(base + ".runs") && boot_now() < deadline) {
      sched_yield();
    }
    std::filesystem::remove(base + ".runs");
    return base + ".go";
  }
  SupervisorStatus last_word() {
    std::optional<SupervisorStatus> told = first_.hear();
    while (told.has_value() && told->phase != Phase::kEnded) {
      told = first_.hear();
    }
    EXPECT_TRUE(told.has_value()) << "it ended without evidence";
    return told.value_or(SupervisorStatus());
  }

  bool is_mounted_ = false;
};

TEST_F(SuperviseOnAFullDisk, ASuccessIsNoLoss) {
  start();
  const std::string go = start_waiting("");
  fill();
  const Fd file(open(go.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  const SupervisorStatus told = last_word();
  std::filesystem::remove(go);
  ASSERT_EQ(told.results.size(), 1U);
  EXPECT_TRUE(told.results[0].is_success());
  const auto left = decode_results(read_file(directory_ + "/evidence").value_or(""));
  ASSERT_TRUE(left.has_value());
  EXPECT_EQ(*left, told.results);
}

TEST_F(SuperviseOnAFullDisk, RanksAreStillAskedToEnd) {
  start();
  const std::string go = start_waiting("trap 'exit 7' TERM; ");
  fill();
  first_.say(TerminateOrder{1h, "stop"});
  const SupervisorStatus told = last_word();
  ASSERT_EQ(told.results.size(), 1U);
  EXPECT_EQ(told.results[0].kind, scheduler::RankResult::Kind::kExited);
  EXPECT_EQ(told.results[0].code, 7);
  EXPECT_TRUE(told.results[0].signalled_by_us);
}

TEST_F(SuperviseOnAFullDisk, OutputThatItDoesNotTakeIsCountedAndTheRankFeelsNothing) {
  static constexpr std::uint64_t kWritten = 1'000'000;
  start();
  first_.say(order("head -c " + std::to_string(kWritten) + " /dev/zero"));
  std::optional<SupervisorStatus> told = first_.hear();
  while (told.has_value() && told->dropped.empty()) {
    told = first_.hear();
  }
  ASSERT_TRUE(told.has_value()) << "it is not told while the rank runs";
  const SupervisorStatus last = told->phase == Phase::kEnded ? *told : last_word();
  ASSERT_EQ(last.results.size(), 1U);
  const scheduler::RankResult& result = last.results[0];
  EXPECT_TRUE(result.is_success());
  EXPECT_EQ(last.dropped, (std::vector<DroppedOutput>{{0, result.lost_bytes, 0}}));
  const std::string log = read_file(directory_ + "/rank-0.log").value_or("");
  EXPECT_EQ(log.find_first_not_of('\0') + result.lost_bytes, kWritten);
  EXPECT_EQ(log.size(), result.output_bytes);
  const auto left = decode_results(read_file(directory_ + "/evidence").value_or(""));
  ASSERT_TRUE(left.has_value());
  EXPECT_EQ(*left, last.results);
}

TEST_F(SuperviseOnAFullDisk, NothingIsLaunchedWhoseEndCouldNotBeTold) {
  start();
  fill();
  const std::string ran = directory_ + ".ran";
  first_.say(order(": > " + ran));
  EXPECT_FALSE(first_.hear().has_value()) << "it launches what it could not testify for";
  EXPECT_FALSE(std::filesystem::exists(ran));
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/spec"));
}

TEST_F(Supervise, AnUnwritableLogIsTheHostsFault) {
  std::filesystem::create_directory(directory_ + "/rank-0.log");
  start();
  first_.say(order("true"));
  std::optional<SupervisorStatus> told = first_.hear();
  while (told.has_value() && told->results.empty()) {
    told = first_.hear();
  }
  ASSERT_TRUE(told.has_value());
  EXPECT_TRUE(scheduler::is_host_fault(told->results[0]));
  EXPECT_NE(told->results[0].detail.find("rank-0.log"), std::string::npos);
}

}  // namespace
}  // namespace muster::agent

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "supervise") {
    return muster::agent::supervise_main(argc, argv);
  }
  if (argc > 1 && std::string_view(argv[1]) == "supervise-plainly") {
    return muster::agent::supervise_plainly(argc, argv);
  }
  if (argc > 2 && std::string_view(argv[1]) == "has-key") {
    return muster::agent::key_of_session(argv[2]) >= 0 ? 0 : 1;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
