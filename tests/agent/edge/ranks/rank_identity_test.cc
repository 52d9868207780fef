// A rank becomes its user in every respect, or it does not start: each step fails by injection, and
// as root the real drop is read back from /proc.

#include "agent/edge/ranks/rank_identity.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "agent/edge/ranks/supervise_rank.h"
#include "scheduler/protocol/host_fault.h"

namespace muster::agent {
namespace {

/// A kernel that does as it is told, but for one call that fails or lies.
struct FakeKernel {
  RankIdentity identity;
  std::optional<DropStep> fails{};
  std::string lie{};  ///< The thing that is not so afterwards.
  std::set<unsigned long> dropped{};
};
FakeKernel fake;

constexpr unsigned long kLastCapability = 40;

int denied(int error = EPERM) {
  errno = error;
  return -1;
}
int result_of(DropStep step) {
  return fake.fails == step ? denied() : 0;
}

int fake_prctl(int option, unsigned long argument, unsigned long /*second*/) {
  switch (option) {
    case PR_CAPBSET_READ:
      return argument > kLastCapability ? denied(EINVAL) : fake.dropped.contains(argument) ? 0 : 1;
    case PR_CAPBSET_DROP:
      if (fake.lie != "bounding" || argument != CAP_SYS_ADMIN) {
        fake.dropped.insert(argument);
      }
      return result_of(DropStep::kBounding);
    case PR_CAP_AMBIENT:
      return result_of(DropStep::kAmbient);
    case PR_SET_NO_NEW_PRIVS:
      return result_of(DropStep::kNoNewPrivileges);
    case PR_GET_NO_NEW_PRIVS:
      return fake.lie == "no_new_privs" ? 0 : 1;
    default:
      return denied(EINVAL);
  }
}
int fake_setgroups(std::size_t, const gid_t*) {
  return result_of(DropStep::kGroups);
}
int fake_setresgid(gid_t, gid_t, gid_t) {
  return result_of(DropStep::kGid);
}
int fake_setresuid(uid_t, uid_t, uid_t) {
  return result_of(DropStep::kUid);
}
int fake_capset(__user_cap_header_struct*, const __user_cap_data_struct*) {
  return result_of(DropStep::kCapabilities);
}
int fake_capget(__user_cap_header_struct*, __user_cap_data_struct* sets) {
  sets[1].inheritable = fake.lie == "capability" ? 1 : 0;
  return fake.fails == DropStep::kProof ? denied() : 0;
}
int fake_getresuid(uid_t* real, uid_t* effective, uid_t* saved) {
  *real = *effective = fake.identity.uid;
  *saved = fake.lie == "uid" ? 0 : fake.identity.uid;
  return 0;
}
int fake_getresgid(gid_t* real, gid_t* effective, gid_t* saved) {
  *real = *saved = fake.identity.gid;
  *effective = fake.lie == "gid" ? 0 : fake.identity.gid;
  return 0;
}
int fake_getgroups(int count, gid_t* groups) {
  std::vector<gid_t> all(fake.identity.groups.begin(), fake.identity.groups.end());
  if (fake.lie == "group") {
    all.back() = 0;
  } else if (fake.lie == "groups") {
    all.push_back(0);
  }
  std::sort(all.begin(), all.end());
  if (count > 0) {
    std::copy(all.begin(), all.end(), groups);
  }
  return static_cast<int>(all.size());
}
int fake_setuid(uid_t) {
  return fake.lie == "way back" ? 0 : denied();
}
const DropCalls kFakes = {fake_prctl,  fake_setgroups, fake_setresgid, fake_setresuid, fake_capset,
                          fake_capget, fake_getresuid, fake_getresgid, fake_getgroups, fake_setuid};

constexpr int kPatienceMs = 20'000;
const std::optional<RankIdentity> kNobody =
    RankIdentity{"nobody", 65534, 65534, {65534, 100}, "/nonexistent", "/bin/false"};
const RankIdentity kAnna{"anna", 1000, 100, {100, 27}, "/home/anna", "/bin/sh"};
constexpr DropStep kSteps[] = {
    DropStep::kBounding, DropStep::kAmbient,      DropStep::kGroups,          DropStep::kGid,
    DropStep::kUid,      DropStep::kCapabilities, DropStep::kNoNewPrivileges, DropStep::kProof};
constexpr const char* kLies[] = {"bounding", "no_new_privs", "capability", "uid",
                                 "gid",      "group",        "groups",     "way back"};

TEST(RankIdentity, AKernelThatDoesItAllMakesTheUser) {
  fake = {kAnna};
  EXPECT_FALSE(drop_to(kAnna, kFakes).has_value());
  EXPECT_EQ(fake.dropped.size(), kLastCapability + 1);
}

TEST(RankIdentity, EachStepThatFailsIsNamed) {
  for (const DropStep step : kSteps) {
    fake = {kAnna, step};
    const std::optional<DropFailure> failure = drop_to(kAnna, kFakes);
    ASSERT_TRUE(failure.has_value()) << text_of(step);
    EXPECT_EQ(failure->step, step);
    EXPECT_EQ(failure->code, EPERM);
    EXPECT_STRNE(text_of(step), "");
  }
}

TEST(RankIdentity, AnythingLeftOfRootFailsTheProof) {
  for (const char* lie : kLies) {
    fake = {kAnna, std::nullopt, lie};
    const std::optional<DropFailure> failure = drop_to(kAnna, kFakes);
    ASSERT_TRUE(failure.has_value()) << lie;
    EXPECT_EQ(failure->step, DropStep::kProof) << lie;
  }
  const RankIdentity root{"toor", 0, 0, {0}, "/", "/bin/sh"};
  fake = {root};
  EXPECT_TRUE(drop_to(root, kFakes).has_value()) << "uid 0 is no proof, even if it was asked for";
}

/// Ranks without a supervisor, in a directory of their own.
class RankOfUser : public testing::Test {
 protected:
  RankOfUser() : before_(std::filesystem::current_path()) {
    char path[] = "/tmp/muster-identity-XXXXXX";
    directory_ = mkdtemp(path);
    std::filesystem::current_path(directory_);
  }
  ~RankOfUser() override {
    std::filesystem::current_path(before_);
    std::filesystem::remove_all(directory_);
  }

  LaunchOrder order_of(const std::string& script) const {
    LaunchOrder order;
    order.argv = {"/bin/sh", "-c", script};
    order.directory = place_;
    order.environment = {"PATH=/usr/bin:/bin", "HOME=/root"};
    order.shell.umask = 022;
    order.shell.open_files = order.shell.stack_bytes = scheduler::SubmitShell::kNoLimit;
    return order;
  }
  /// Runs `script` to its end.
  scheduler::RankResult run(const std::string& script, const RankIdentity& identity,
                            const DropCalls& calls) {
    const std::optional<RankIdentity> become = identity;
    SupervisedRank rank;
    rank.start({0, {}}, order_of(script), {become, false, calls});
    int status = 0;
    EXPECT_EQ(waitpid(rank.pid(), &status, 0), rank.pid());
    rank.on_exit(status);
    rank.finish_output();
    return rank.result();
  }
  std::string log() const { return read_file(directory_ + "/rank-0.log").value_or(""); }

  std::string directory_;
  std::string place_ = "/";

 private:
  std::filesystem::path before_;
};

TEST_F(RankOfUser, NoStepThatFailsLetsARankStart) {
  const RankIdentity own{"anna", geteuid(), getegid(), {getegid()}, "/", "/bin/sh"};
  const std::string script = "echo ran > " + directory_ + "/ran";
  const auto expect_not_started = [&](const std::string& what) {
    const scheduler::RankResult result = run(script, own, kFakes);
    EXPECT_EQ(result.kind, scheduler::RankResult::Kind::kNotStarted) << what;
    EXPECT_TRUE(scheduler::is_host_fault(result)) << what;
    EXPECT_EQ(result.detail.find("cannot become user anna: "), 0U) << what << result.detail;
    EXPECT_FALSE(std::filesystem::exists(directory_ + "/ran")) << what;
  };
  for (const DropStep step : kSteps) {
    fake = {own, step};
    expect_not_started(text_of(step));
  }
  for (const char* lie : kLies) {
    fake = {own, std::nullopt, lie};
    expect_not_started(lie);
  }
}

TEST_F(RankOfUser, RootBecomesNobodyAndKeepsNothing) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "only root can become another user";
  }
  const scheduler::RankResult result = run(
      "cat /proc/self/status; echo to the file > /dev/stderr; echo $HOME $USER $LOGNAME $SHELL; "
      "ls " +
          directory_ + " 2>/dev/null || echo shut; exit 7",
      *kNobody, kernel_calls());
  EXPECT_EQ(result.kind, scheduler::RankResult::Kind::kExited) << result.detail;
  EXPECT_EQ(result.code, 7);
  for (const char* line :
       {"Uid:\t65534\t65534\t65534\t65534\n", "Gid:\t65534\t65534\t65534\t65534\n",
        "Groups:\t100 65534 \n", "CapInh:\t0000000000000000\n", "CapPrm:\t0000000000000000\n",
        "CapEff:\t0000000000000000\n", "CapBnd:\t0000000000000000\n", "CapAmb:\t0000000000000000\n",
        "NoNewPrivs:\t1\n", "to the file\n", "/nonexistent nobody nobody /bin/false\n", "shut\n"}) {
    EXPECT_NE(log().find(line), std::string::npos) << line << log();
  }
}

TEST_F(RankOfUser, ARankThatBecameAUserDiesWithItsSupervisor) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "only root can become another user";
  }
  int ends[2] = {-1, -1};
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const Fd read_end(ends[0]);
  const Fd write_end(ends[1]);
  const pid_t supervisor = fork();
  if (supervisor == 0) {
    SupervisedRank rank;
    rank.start({0, {}}, order_of("exec sleep 1000"), {kNobody, true});
    pollfd decided{rank.exec_pipe(), POLLIN, 0};
    poll(&decided, 1, -1);
    const pid_t pid = rank.pid();
    _exit(write(write_end.get(), &pid, sizeof pid) == sizeof pid && pause() < 0 ? 1 : 0);
  }
  pid_t pid = 0;
  ASSERT_EQ(read(read_end.get(), &pid, sizeof pid), static_cast<ssize_t>(sizeof pid));
  const Fd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  ASSERT_TRUE(pidfd.is_open());
  kill(supervisor, SIGKILL);
  waitpid(supervisor, nullptr, 0);
  pollfd gone{pidfd.get(), POLLIN, 0};
  EXPECT_EQ(poll(&gone, 1, kPatienceMs), 1);
}

TEST_F(RankOfUser, ADirectoryThatIsShutToTheUserIsNotEnteredAsRoot) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "only root can become another user";
  }
  place_ = directory_;
  const scheduler::RankResult result = run("true", *kNobody, kernel_calls());
  EXPECT_EQ(result.kind, scheduler::RankResult::Kind::kNotStarted);
  EXPECT_EQ(result.detail, "working directory " + directory_ + ": Permission denied");
}

}  // namespace
}  // namespace muster::agent
