#pragma once
// The simulated host's supervisors and ranks: what really runs, whatever any machine believes.
// Supervisors outlive the agent; a power loss ends everything but the evidence on disk. Checkers
// ask here which GPUs are occupied, never a machine.
//
// A simulated program is its argv: {"sim", "run_ms=3000", "exit=0", "exit_on_term=0",
// "ignore_term=1", "fail_rank=3"}; unknown words are ignored.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/gang/gang_interface.h"
#include "gossip/base/rng.h"
#include "gossip/base/time.h"

namespace muster::sim {

/// Something physical that happened, for checkers.
struct FarmFact {
  enum class Kind { kLaunched, kRankEnded, kGone };
  Kind kind = Kind::kLaunched;
  Token token;
  JobId job;
  std::uint32_t attempt = 0;
  scheduler::Member member;
  std::uint32_t ranks_of_job = 0;
  scheduler::RankResult result;  ///< kRankEnded
};

class RankFarm {
 public:
  explicit RankFarm(Rng rng) : rng_(rng) {}

  /// Carries out one command of the agent.
  void command(Instant now, const agent::SupervisorCommand& command);
  /// Ranks that end, timers that fire. Call at next_deadline().
  void advance(Instant now);
  Instant next_deadline() const;

  /// The inputs of a restarted agent, SupervisorsScanned last.
  std::vector<agent::GangAgentInput> scan(Instant now);
  /// Reports for the agent since the last call; lost when no agent is there to hear them.
  std::vector<agent::GangAgentInput> take_reports();
  std::vector<FarmFact> take_facts();

  void lose_power();
  /// One live supervisor dies; the kernel ends its ranks. False if no supervisor lives.
  bool kill_some_supervisor(Instant now);
  /// No grant can be started.
  void set_full(bool is_full);
  bool is_idle() const;
  /// Everything that is due later is moved by this much: the host was frozen.
  void freeze(Duration duration);

 private:
  struct Rank {
    std::uint32_t number = 0;
    Instant ends_at = kNever;
    scheduler::RankResult result;
    bool is_running = true;
  };
  struct Supervisor {
    bool is_alive = true;
    bool is_launched = false;
    bool is_terminating = false;
    Instant hold_until = kNever;
    gossip::Endpoint master;
    agent::GrantRecord record;
    scheduler::Member member;
    std::vector<Rank> ranks;
    std::optional<std::vector<scheduler::RankResult>> evidence;
  };

  void on(Instant now, const agent::Prepare& prepare);
  void on(Instant now, const agent::Launch& launch);
  void on(Instant now, const agent::Terminate& terminate);
  void on(Instant now, const agent::RenewHold& renew);
  void on(Instant now, const agent::Forget& forget);
  void start_rank(Instant now, Supervisor& supervisor, std::uint32_t number);
  void end_ranks(Instant now, Token token, Supervisor& supervisor);
  void signal_ranks(Instant now, Supervisor& supervisor, Duration grace);
  void fact(FarmFact::Kind kind, Token token, const Supervisor& supervisor,
            scheduler::RankResult result = {});

  std::map<Token, Supervisor> supervisors_;
  std::vector<agent::GangAgentInput> reports_;
  std::vector<FarmFact> facts_;
  bool is_full_ = false;
  Rng rng_;
};

}  // namespace muster::sim
