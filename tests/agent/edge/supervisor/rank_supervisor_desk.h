#pragma once
// Real supervisors with real ranks, and the agent's handle on them. No test here sleeps: every wait
// is for an event, with a deadline. A test program of this is its own supervisor: its main() is
// main_of_ranks().

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/edge/ranks/supervise.h"
#include "agent/edge/supervisor/rank_supervisor.h"
#include "gossip/edge/boot_clock.h"

namespace muster::agent::testing {

using scheduler::RankResult;
using Kind = RankResult::Kind;

inline constexpr Duration kPatience = std::chrono::seconds(20);
inline constexpr int kRemoveTriesMax = 1000;
inline const HostId kHost = HostId::from_bytes("0123456789abcdef");

class RankSupervisor : public ::testing::Test {
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
    options.users = users_;
    options.room = room_;
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
    agent_->carry_out(Prepare{token_, true, hold, user_, share_});
    const auto prepared = wait_for<SupervisorPrepared>();
    ASSERT_TRUE(prepared.has_value());
    master_ = prepared->master;
  }

  void launch(std::vector<std::string> argv, std::uint32_t ranks = 1) {
    Launch launch;
    launch.record.token = token_;
    launch.record.job = JobId(7);
    launch.record.spec.command.argv = std::move(argv);
    launch.record.spec.command.directory = directory_;
    launch.record.spec.limits.grace = grace_;
    launch.record.spec.command.shell = shell_;
    launch.member = share_;
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
  /// The text written until "." arrives or every writer is gone.
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
  RankUserRule users_{.is_shared = true};
  std::string user_;  ///< Of the job.
  RoomHost room_;
  scheduler::Member share_;  ///< Of the host, beside its GPUs.
  Token token_{1, 42};
  Duration hold_ = std::chrono::minutes(1);
  Duration grace_ = std::chrono::milliseconds(200);
  scheduler::SubmitShell shell_;
  gossip::Endpoint master_;
  std::unique_ptr<RankSupervisors> agent_;
  std::vector<GangAgentInput> inputs_;
};

inline int main_of_ranks(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "supervise") {
    return supervise_main(argc, argv);
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

}  // namespace muster::agent::testing
