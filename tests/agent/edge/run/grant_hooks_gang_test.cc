// Goal: a GangAgent says Ready after the prologs, and refuses with their reason. Method: both
// machines of an agent around real programs; the test plays the leader, disk and supervisors.

#include <poll.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "agent/edge/run/grant_hooks.h"
#include "gossip/edge/boot_clock.h"
#include "tests/agent/gang/gang_agent_desk.h"

namespace muster::agent {
namespace {

using namespace testing;  // NOLINT: the fixture's verbs

class GrantHooksGangTest : public GangAgentTest {
 protected:
  GrantHooksGangTest() {
    char path[] = "/var/tmp/muster-gang-hooks-XXXXXX";
    folder_ = mkdtemp(path);
    std::filesystem::create_directories(folder_ + "/prolog");
    std::filesystem::create_directories(folder_ + "/epilog");
    hooks_.emplace(folder_, folder_ + "/notes");
  }
  ~GrantHooksGangTest() override { std::filesystem::remove_all(folder_); }

  void add(const std::string& name, const std::string& script) const {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
    chmod(path.c_str(), 0755);
  }
  bool exists(const std::string& name) const {
    return std::filesystem::exists(folder_ + "/" + name);
  }
  /// Does the work of an agent's loop, until `is_done` or 20 s. A Prepare that comes through is
  /// answered.
  template <class Condition>
  bool run_until(Condition is_done) {
    const Instant end = boot_now() + std::chrono::seconds(20);
    while (boot_now() < end && !is_done()) {
      for (const SupervisorCommand& command : std::exchange(out_.commands, {})) {
        carry(command);
      }
      std::vector<pollfd> polled;
      for (const int fd : hooks_->fds()) {
        polled.push_back({fd, POLLIN, 0});
      }
      poll(polled.data(), polled.size(), 20);
      for (const pollfd& one : polled) {
        if (one.revents != 0) {
          hooks_->on_readable(boot_now(), one.fd);
        }
      }
      hooks_->on_time(boot_now());
      for (LaunchFailed& report : hooks_->take_reports()) {
        give(std::move(report));
      }
      for (const Prepare& command : hooks_->take_commands()) {
        give(SupervisorPrepared{command.token, {}});
      }
      sync();
    }
    return is_done();
  }
  void carry(const SupervisorCommand& command) {
    if (!hooks_->keeps(boot_now(), command) && std::holds_alternative<Prepare>(command)) {
      give(SupervisorPrepared{std::get<Prepare>(command).token, {}});
    }
  }

  std::string folder_;
  std::optional<GrantHooks> hooks_;
};

TEST_F(GrantHooksGangTest, ReadyIsSaidAfterThePrologs) {
  add("prolog/10-slow", "while [ ! -e " + folder_ + "/go ]; do sleep 0.02; done");
  join();
  say(assign(kOne));
  sync();
  const Instant until = boot_now() + std::chrono::milliseconds(200);
  run_until([&] { return boot_now() > until; });
  EXPECT_TRUE(sent<Ready>().empty());
  std::ofstream(folder_ + "/go") << "";
  EXPECT_TRUE(run_until([&] { return sent<Ready>().size() == 1; }));
}

TEST_F(GrantHooksGangTest, AFailureOfAPrologIsTheReasonOfTheRefusal) {
  add("prolog/10-mount", "grep -q '\"job\":\"' && echo no such share; exit 1");
  add("epilog/10-note", "touch " + folder_ + "/behind");
  join();
  say(assign(kOne));
  sync();
  ASSERT_TRUE(run_until([&] { return sent<Refuse>().size() == 1; }));
  EXPECT_EQ(sent<Refuse>()[0].reason, "prolog 10-mount: no such share");
  EXPECT_EQ(stored_state_of(kOne), GrantState::kAborted);
  EXPECT_TRUE(sent<Ready>().empty());
  EXPECT_TRUE(run_until([&] { return exists("behind"); })) << "its epilog ran";
}

}  // namespace
}  // namespace muster::agent
