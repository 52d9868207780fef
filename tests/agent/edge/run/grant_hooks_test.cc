// Goal: programs of a site run before and behind a grant, and what waits for them goes on. Method:
// real programs in a folder; the commands and reports of a Node and of supervisors by hand.

#include "agent/edge/run/grant_hooks.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "agent/edge/grant/supervise_protocol.h"
#include "gossip/edge/boot_clock.h"

namespace muster::agent {
namespace {

constexpr Token kFirst{1, 5};
constexpr Token kSecond{1, 9};
constexpr JobId kJob(7);

class GrantHooksTest : public testing::Test {
 protected:
  GrantHooksTest() {
    char path[] = "/var/tmp/muster-grant-hooks-XXXXXX";
    folder_ = mkdtemp(path);
    begin();
  }
  ~GrantHooksTest() override { std::filesystem::remove_all(folder_); }

  /// Another life of the agent.
  void begin() {
    hooks_.reset();
    hooks_.emplace(folder_ + "/hooks", folder_ + "/epilogs");
  }
  void add(const std::string& name, const std::string& script, mode_t mode = 0755) const {
    const std::string path = folder_ + "/hooks/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
    chmod(path.c_str(), mode);
  }
  /// Notes its input in the file `name`.
  void add_note(const std::string& hook, const std::string& name) const {
    add(hook, "cat >> " + folder_ + "/" + name);
  }
  std::string text_in(const std::string& name) const {
    return read_file(folder_ + "/" + name).value_or("");
  }

  /// True if it is kept. Without `job` each grant has a job of its own, kFirst has kJob.
  bool prepare(Token token, const std::string& gpu = "GPU-a", JobId job = JobId()) {
    scheduler::Member member;
    member.gpus = {{gpu, 0}};
    return hooks_->keeps(boot_now(), Prepare{token, false, Duration(0), "Änn \"x\\", member, "",
                                             job != JobId()    ? job
                                             : token == kFirst ? kJob
                                                               : JobId(100 + token.index)});
  }
  bool look(const std::string& gpu = "GPU-a") {
    return hooks_->keeps(boot_now(), gpus::Command(gpus::CleanLook{gpu, kFirst}));
  }
  void ranks_end(Token token) { hooks_->hear(boot_now(), AllRanksEnded{token, {}}); }

  /// With a clock that runs `ahead`, until `is_done` or 20 s.
  template <class Condition>
  bool run_until(Condition is_done, Duration ahead = Duration(0)) {
    const Instant end = boot_now() + std::chrono::seconds(20);
    while (boot_now() < end) {
      std::vector<pollfd> polled;
      for (const int fd : hooks_->fds()) {
        polled.push_back({fd, POLLIN, 0});
      }
      poll(polled.data(), polled.size(), 20);
      for (const pollfd& one : polled) {
        if (one.revents != 0) {
          hooks_->on_readable(boot_now() + ahead, one.fd);
        }
      }
      hooks_->on_time(boot_now() + ahead);
      take();
      if (is_done()) {
        return true;
      }
    }
    return false;
  }
  void take() {
    for (const Prepare& command : hooks_->take_commands()) {
      prepared_.push_back(command.token);
    }
    for (const LaunchFailed& failed : hooks_->take_reports()) {
      EXPECT_TRUE(failed.is_refusal);
      refusals_.push_back(failed.text);
    }
    for (const gpus::Input& fact : hooks_->take_facts()) {
      if (const auto* clean = std::get_if<gpus::ToClean>(&fact)) {
        looks_.push_back(clean->why);
      } else {
        failures_.push_back(std::get<health::EpilogFailed>(std::get<health::Input>(fact)).why);
      }
    }
    for (const Event& event : hooks_->take_events()) {
      EXPECT_EQ(event.name, "hook_failed");
    }
  }
  bool has_prepared() {
    return run_until([&] { return !prepared_.empty(); });
  }

  std::string folder_;
  std::optional<GrantHooks> hooks_;
  std::vector<Token> prepared_;
  std::vector<std::string> refusals_;
  std::vector<std::string> looks_;     ///< Why they wait; "" = for nothing.
  std::vector<std::string> failures_;  ///< Of epilogs.
};

TEST_F(GrantHooksTest, WithoutProgramsNothingIsKept) {
  EXPECT_FALSE(prepare(kFirst));
  ranks_end(kFirst);
  EXPECT_FALSE(look());
  EXPECT_EQ(hooks_->next_deadline(), kNever);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/epilogs"));
}

TEST_F(GrantHooksTest, ProgramsAreToldTheGrantBeforeAndBehindIt) {
  add_note("prolog/10-note", "before");
  add_note("epilog/10-note", "behind");
  EXPECT_TRUE(prepare(kFirst));
  EXPECT_TRUE(prepare(kFirst)) << "the same again";
  ASSERT_TRUE(has_prepared());
  EXPECT_EQ(text_in("before"),
            R"({"hook":"prolog","token":"1.5","job":"7","user":"Änn \"x\\","gpus":["GPU-a"]})"
            "\n");
  EXPECT_FALSE(look()) << "no epilog is due yet";
  EXPECT_EQ(text_in("behind"), "");
  ranks_end(kFirst);
  EXPECT_TRUE(look());
  ASSERT_TRUE(run_until([&] { return !looks_.empty() && looks_.back().empty(); }));
  EXPECT_EQ(text_in("behind"),
            R"({"hook":"epilog","token":"1.5","job":"7","user":"Änn \"x\\","gpus":["GPU-a"]})"
            "\n");
  EXPECT_FALSE(look());
  hooks_->keeps(boot_now(), Forget{kFirst});
  EXPECT_EQ(hooks_->next_deadline(), kNever) << "one epilog a grant";
  EXPECT_TRUE(failures_.empty());
}

TEST_F(GrantHooksTest, APrologThatFailsRefusesTheGrantAndHasAnEpilog) {
  add("prolog/10-mount", "echo no such share; exit 1");
  add_note("epilog/10-note", "behind");
  EXPECT_TRUE(prepare(kFirst));
  ASSERT_TRUE(run_until([&] { return !refusals_.empty(); }));
  EXPECT_EQ(refusals_[0], "prolog 10-mount: no such share");
  EXPECT_TRUE(prepared_.empty());
  EXPECT_FALSE(hooks_->keeps(boot_now(), Forget{kFirst}));
  ASSERT_TRUE(run_until([&] { return !text_in("behind").empty(); }));
}

TEST_F(GrantHooksTest, APrologThatHangsOrThatOthersMayWriteRefusesTheGrant) {
  add("prolog/10-hang", "sleep 600 & echo $! > " + folder_ + "/child; wait");
  EXPECT_TRUE(prepare(kFirst));
  ASSERT_TRUE(run_until([&] { return !text_in("child").empty(); }));
  ASSERT_TRUE(run_until([&] { return !refusals_.empty(); }, Hooks::kGrantLimit));
  EXPECT_EQ(refusals_[0], "prolog 10-hang did not end in time");
  const pid_t child = std::stoi(text_in("child"));
  EXPECT_TRUE(run_until([&] { return kill(child, 0) != 0; })) << "killed with its parent";
  refusals_.clear();
  add("prolog/10-hang", "exit 0", 0777);
  EXPECT_TRUE(prepare(kSecond, "GPU-b"));
  ASSERT_TRUE(run_until([&] { return !refusals_.empty(); }));
  EXPECT_NE(refusals_[0].find("may be written by others"), std::string::npos) << refusals_[0];
}

TEST_F(GrantHooksTest, AnEndedAttemptEndsItsProlog) {
  add("prolog/10-slow", "echo $$ > " + folder_ + "/pid; sleep 600");
  EXPECT_TRUE(prepare(kFirst));
  ASSERT_TRUE(run_until([&] { return !text_in("pid").empty(); }));
  EXPECT_FALSE(hooks_->keeps(boot_now(), Forget{kFirst}));
  const pid_t pid = std::stoi(text_in("pid"));
  EXPECT_TRUE(run_until([&] { return kill(pid, 0) != 0; })) << "killed and reaped";
  EXPECT_TRUE(prepared_.empty());
  EXPECT_TRUE(refusals_.empty());
}

TEST_F(GrantHooksTest, AGpuWaitsForTheEpilogAndIsTakenOutIfItFails) {
  add("epilog/10-wipe",
      "while [ ! -e " + folder_ + "/go ]; do sleep 0.02; done; echo dirty; exit 1");
  EXPECT_TRUE(prepare(kFirst));
  ASSERT_TRUE(has_prepared());
  ranks_end(kFirst);
  EXPECT_TRUE(look());
  ASSERT_TRUE(run_until([&] { return !looks_.empty(); }));
  EXPECT_EQ(looks_.back(), "the epilog of job 7 runs");
  EXPECT_FALSE(look("GPU-b")) << "another GPU does not wait";
  looks_.clear();
  ASSERT_TRUE(run_until([&] { return !looks_.empty(); }, GrantHooks::kTellAgain)) << "again";
  EXPECT_EQ(looks_.back(), "the epilog of job 7 runs");
  EXPECT_TRUE(prepare(kSecond)) << "the next grant on it waits, too";
  EXPECT_EQ(prepared_.size(), 1U);
  std::ofstream(folder_ + "/go") << "";
  ASSERT_TRUE(run_until([&] { return looks_.back().empty() && !refusals_.empty(); }));
  ASSERT_EQ(failures_.size(), 1U);
  EXPECT_EQ(failures_[0], "epilog 10-wipe: dirty (job 7)");
  EXPECT_EQ(refusals_[0], "a GPU is out of use: epilog 10-wipe: dirty (job 7)");
  EXPECT_EQ(prepared_.size(), 1U);
}

TEST_F(GrantHooksTest, AGrantWaitsForTheEpilogOnItsGpuAndForTheAttemptBeforeIt) {
  add("epilog/10-wipe", "while [ ! -e " + folder_ + "/go ]; do sleep 0.02; done");
  EXPECT_TRUE(prepare(kFirst));
  ASSERT_TRUE(has_prepared());
  ranks_end(kFirst);
  EXPECT_TRUE(prepare({1, 10}));
  EXPECT_TRUE(prepare({1, 11}, "GPU-b", kJob));
  EXPECT_TRUE(prepare({1, 12}, "GPU-c"));
  ASSERT_TRUE(run_until([&] { return prepared_.size() == 2; }));
  EXPECT_EQ(prepared_[1], (Token{1, 12})) << "neither its GPU nor its job waits for the epilog";
  std::ofstream(folder_ + "/go") << "";
  ASSERT_TRUE(run_until([&] { return prepared_.size() == 4; }));
}

TEST_F(GrantHooksTest, AGrantThatEndsWhileItWaitsHasNoEpilog) {
  add("epilog/10-wipe",
      "cat >> " + folder_ + "/behind; while [ ! -e " + folder_ + "/go ]; do sleep 0.02; done");
  EXPECT_TRUE(prepare(kFirst));
  ASSERT_TRUE(has_prepared());
  ranks_end(kFirst);
  for (std::uint64_t i = 0; i < 40; ++i) {  // Each is aborted before its turn.
    EXPECT_TRUE(prepare({1, 10 + i}));
    EXPECT_FALSE(hooks_->keeps(boot_now(), Forget{{1, 10 + i}}));
  }
  std::ofstream(folder_ + "/go") << "";
  EXPECT_TRUE(look());
  ASSERT_TRUE(run_until([&] { return !look(); }));
  EXPECT_TRUE(std::filesystem::is_empty(folder_ + "/epilogs"));
  EXPECT_EQ(text_in("behind").find("1.10"), std::string::npos);
  EXPECT_EQ(prepared_.size(), 1U);
}

TEST_F(GrantHooksTest, AGrantThatIsForgottenIsNotPrepared) {
  add_note("epilog/10-note", "behind");
  EXPECT_TRUE(prepare(kFirst));
  EXPECT_FALSE(hooks_->keeps(boot_now(), Forget{kFirst}));
  EXPECT_TRUE(hooks_->take_commands().empty());
  ASSERT_TRUE(run_until([&] { return !text_in("behind").empty(); }));
}

TEST_F(GrantHooksTest, AnotherLifeOfTheAgentRunsTheEpilogsThatAreOwed) {
  add("epilog/10-wipe", "cat >> " + folder_ + "/behind; sleep 600");
  EXPECT_TRUE(prepare(kFirst));
  EXPECT_TRUE(prepare(kSecond, "GPU-b"));
  ASSERT_TRUE(run_until([&] { return prepared_.size() == 2; }));
  ranks_end(kFirst);
  ASSERT_TRUE(run_until([&] { return !text_in("behind").empty(); }));
  begin();  // Its death cut that one off.
  add_note("epilog/10-wipe", "again");
  hooks_->hear(boot_now(), SupervisorAdopted{kSecond, true, kNever, {}});
  hooks_->hear(boot_now(), SupervisorsScanned{});
  EXPECT_TRUE(look());
  ASSERT_TRUE(run_until([&] { return !look(); }));
  EXPECT_NE(text_in("again").find(R"("token":"1.5")"), std::string::npos);
  EXPECT_EQ(text_in("again").find(R"("token":"1.9")"), std::string::npos) << "its ranks run";
  hooks_->hear(boot_now(), SupervisorGone{kSecond, std::nullopt});
  ASSERT_TRUE(
      run_until([&] { return text_in("again").find(R"("token":"1.9")") != std::string::npos; }));
  begin();
  hooks_->hear(boot_now(), SupervisorsScanned{});
  EXPECT_FALSE(look()) << "both had theirs";
}

TEST_F(GrantHooksTest, ANoteThatCannotBeReadIsRemoved) {
  std::filesystem::create_directories(folder_ + "/epilogs");
  std::ofstream(folder_ + "/epilogs/1.5") << "torn";
  std::ofstream(folder_ + "/epilogs/x") << "";
  begin();
  hooks_->hear(boot_now(), SupervisorsScanned{});
  EXPECT_FALSE(look());
  EXPECT_TRUE(std::filesystem::is_empty(folder_ + "/epilogs"));
}

TEST_F(GrantHooksTest, SoManyRunAtOnceAndTheOthersWait) {
  add("prolog/10-slow",
      "echo x >> " + folder_ + "/began; while [ ! -e " + folder_ + "/go ]; do sleep 0.05; done");
  const std::size_t all = GrantHooks::kAtOnceMax + 3;
  for (std::uint64_t i = 0; i < all; ++i) {
    EXPECT_TRUE(prepare({1, 100 + i}, "GPU-" + std::to_string(i)));
  }
  ASSERT_TRUE(run_until([&] { return text_in("began").size() == 2 * GrantHooks::kAtOnceMax; }));
  EXPECT_TRUE(prepared_.empty());
  std::ofstream(folder_ + "/go") << "";
  EXPECT_TRUE(run_until([&] { return prepared_.size() == all; }));
}

}  // namespace
}  // namespace muster::agent
