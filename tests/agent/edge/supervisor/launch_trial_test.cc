// A launch that fails for the host's sake: it says that it starts nothing, and a trial with a real
// supervisor says when one works again. Every wait is for an event, with a deadline.

#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>

#include <filesystem>
#include <optional>
#include <string_view>
#include <variant>

#include "agent/edge/ranks/supervise.h"
#include "agent/edge/supervisor/rank_supervisor.h"
#include "gossip/edge/boot_clock.h"

namespace muster::agent {
namespace {

constexpr Duration kPatience = std::chrono::seconds(20);
constexpr Duration kTurnMax = std::chrono::milliseconds(100);
constexpr Token kToken{1, 42};

class LaunchTrial : public ::testing::Test {
 protected:
  LaunchTrial() {
    char path[] = "/tmp/muster-trial-XXXXXX";
    data_ = mkdtemp(path);
    RankSupervisorsOptions options;
    options.data_directory = data_;
    options.address = gossip::Endpoint::ipv4(127, 0, 0, 1, 0);
    options.executable = data_ + "/program";
    options.reserve = {0, 0, 0};
    options.users.is_shared = true;
    options.trial_pause = std::chrono::milliseconds(1);
    agent_.emplace(options);
  }
  ~LaunchTrial() override {
    agent_.reset();
    std::filesystem::remove_all(data_);
  }
  void install() const {
    std::filesystem::create_symlink(std::filesystem::read_symlink("/proc/self/exe"),
                                    data_ + "/program");
  }
  /// The next word to the agent about things that the host lacks.
  std::optional<std::string> shortage_told() {
    std::optional<std::string> told;
    wait_until([&] {
      for (const GangAgentInput& input : agent_->take_inputs()) {
        const auto* changed = std::get_if<ShortageChanged>(&input);
        told = changed != nullptr ? std::optional(changed->shortage) : told;
      }
      return told.has_value();
    });
    return told;
  }
  template <class Condition>
  bool wait_until(Condition condition) {
    const Instant deadline = boot_now() + kPatience;
    while (!condition()) {
      if (boot_now() >= deadline) {
        return false;
      }
      turn();
    }
    return true;
  }

  std::string data_;
  std::optional<RankSupervisors> agent_;

 private:
  void turn() {
    std::vector<pollfd> set;
    for (const int fd : agent_->fds()) {
      set.push_back({fd, POLLIN, 0});
    }
    poll(set.data(), set.size(), static_cast<int>(to_ms(kTurnMax)));
    for (const pollfd& entry : set) {
      if (entry.revents != 0) {
        agent_->on_readable(entry.fd);
      }
    }
  }
};

TEST_F(LaunchTrial, SaysThatNothingStartsAndWhenSomethingDoesAgain) {
  ASSERT_TRUE(agent_->adopt());
  agent_->carry_out(Prepare{kToken, true, std::chrono::minutes(1)});
  const auto lacks = shortage_told();
  ASSERT_TRUE(lacks.has_value());
  EXPECT_NE(lacks->find("No such file"), std::string::npos) << *lacks;
  install();
  EXPECT_EQ(shortage_told(), "");
  const auto is_gone = [this] {
    agent_->take_inputs();
    return !std::filesystem::exists(agent_->directory_of(kTrial));
  };
  EXPECT_TRUE(wait_until(is_gone)) << "a trial leaves nothing";
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
