// Goal: facts about the host are told once, and only if they are so. Method: a folder in the place
// of /proc, and a real file system that is read-only.

#include "agent/edge/run/host_facts.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace muster::agent {
namespace {

class HostFactsTest : public testing::Test {
 protected:
  HostFactsTest() {
    char path[] = "/tmp/muster-facts-XXXXXX";
    folder_ = mkdtemp(path);
    facts_.emplace(folder_, folder_);
  }
  ~HostFactsTest() override { std::filesystem::remove_all(folder_); }

  /// A process as the kernel shows it.
  void show(int pid, const std::string& state, const std::string& pending,
            const std::string& started = "4711") const {
    const std::string folder = folder_ + "/" + std::to_string(pid);
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/stat")
        << pid << " (a) D (b) " << state << " 1 1 1 0 -1 4194304 1 0 0 0 1 1 0 0 20 0 1 0 "
        << started << " 1 1\n";
    std::ofstream(folder + "/status")
        << "Name:\ta\nSigPnd:\t" << pending << "\nShdPnd:\t0000000000000100\n";
  }
  /// Looks at pids 70 to 79, 10 s later; the news of stuck processes, "-" if there is no news.
  std::string look() {
    now_ += HostFacts::kLookEvery;
    std::string news = "-";
    for (const health::HostFact& fact : facts_->look(now_, {70, 71, 72, 73, 74, 75, 76, 77})) {
      news = fact.cause == HostCause::kStuckProcesses ? fact.why : news;
    }
    return news;
  }

  std::string folder_;
  std::optional<HostFacts> facts_;
  Instant now_{std::chrono::hours(1)};
};

constexpr const char* kKilled = "0000000000000100";
constexpr int kNoMounts = 77;
constexpr const char* kNotKilled = "0000000000004000";

TEST_F(HostFactsTest, TheSpaceOfTheDataIsThatOfTheLastLook) {
  EXPECT_EQ(facts_->space().size_bytes, 0U);
  look();
  const std::filesystem::space_info space = std::filesystem::space(folder_);
  EXPECT_EQ(facts_->space().size_bytes, space.capacity);
  EXPECT_GT(facts_->space().free_bytes, 0U);
  EXPECT_LE(facts_->space().free_bytes, facts_->space().size_bytes);
  std::filesystem::remove_all(folder_);
  look();
  EXPECT_EQ(facts_->space().size_bytes, 0U) << "not known any more";
}

TEST_F(HostFactsTest, AKilledProcessThatHangsForThreeLooksIsTold) {
  show(77, "D", kKilled);
  EXPECT_EQ(look(), "-");
  EXPECT_EQ(look(), "-");
  EXPECT_EQ(look(), "killed processes hang in the kernel: pid 77 (a) D (b)");
  EXPECT_EQ(look(), "-") << "once";
  show(77, "Z", kKilled);
  EXPECT_EQ(look(), "") << "it is over";
  EXPECT_EQ(look(), "-");
}

TEST_F(HostFactsTest, AProcessThatWasNotKilledOrThatRunsIsNot) {
  show(70, "D", kNotKilled);
  show(71, "S", kKilled);
  EXPECT_EQ(look(), "-");
  EXPECT_EQ(look(), "-");
  EXPECT_EQ(look(), "");
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(look(), "-");
  }
}

TEST_F(HostFactsTest, AnotherProcessOfTheSameNumberCountsAgain) {
  show(77, "D", kKilled);
  look();
  look();
  show(77, "D", kKilled, "4712");
  EXPECT_EQ(look(), "");
  EXPECT_EQ(look(), "-");
  EXPECT_NE(look().find("pid 77"), std::string::npos);
}

TEST_F(HostFactsTest, FewAreNamed) {
  for (int pid = 70; pid < 78; ++pid) {
    show(pid, "D", kKilled);
  }
  look();
  look();
  const std::string why = look();
  EXPECT_NE(why.find("pid 73"), std::string::npos) << why;
  EXPECT_EQ(why.find("pid 74"), std::string::npos) << why;
}

TEST_F(HostFactsTest, AReadOnlyDiskIsTold) {
  const auto told = [&](const std::string& data) {
    const auto facts = HostFacts(data, folder_).look(now_, {});
    return facts.size() == 1 && facts[0].cause == HostCause::kDiskReadOnly ? facts[0].why : "?";
  };
  EXPECT_EQ(told(folder_), "");
  EXPECT_EQ(told("/nonexistent"), "");
  const pid_t child = fork();
  if (child == 0) {  // In mounts of its own.
    const bool is_mounted =
        unshare(geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) == 0 &&
        mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
        mount("tmpfs", folder_.c_str(), "tmpfs", MS_RDONLY, nullptr) == 0;
    const bool is_told = told(folder_) == "the file system of " + folder_ + " is read-only";
    _exit(is_mounted ? (is_told ? 0 : 1) : kNoMounts);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == kNoMounts) {
    GTEST_SKIP() << "this user may not mount anything here";
  }
  EXPECT_EQ(status, 0);
}

TEST_F(HostFactsTest, ItLooksEveryTenSeconds) {
  EXPECT_EQ(facts_->look(now_, {}).size(), 1U);
  EXPECT_EQ(facts_->next_deadline(), now_ + HostFacts::kLookEvery);
  show(77, "D", kKilled);
  for (int i = 0; i < 9; ++i) {
    EXPECT_TRUE(facts_->look(now_ + std::chrono::seconds(i), {77}).empty());
  }
}

TEST_F(HostFactsTest, TheDriversProcessesAndThoseOfGroupsAreWatched) {
  MachineReading reading;
  reading.gpus.resize(2);
  reading.gpus[0].processes.emplace();
  reading.gpus[0].processes->resize(1);
  reading.gpus[0].processes->front().pid = 5;
  std::filesystem::create_directories(folder_ + "/1.2/ranks");
  std::ofstream(folder_ + "/1.2/ranks/cgroup.procs") << "7\n6\n";
  EXPECT_EQ(watched_processes(reading, folder_), (std::set<std::uint32_t>{5, 6, 7}));
  EXPECT_EQ(watched_processes(reading, ""), (std::set<std::uint32_t>{5}));
  std::ofstream many(folder_ + "/1.2/ranks/cgroup.procs");
  for (std::size_t pid = 1; pid < 3 * HostFacts::kProcessesMax; ++pid) {
    many << pid << "\n";
  }
  many.close();
  EXPECT_EQ(watched_processes(reading, folder_).size(), HostFacts::kProcessesMax);
}

}  // namespace
}  // namespace muster::agent
