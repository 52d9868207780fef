#pragma once
// The leader's driver, and on every voter the keeper of the replicated state (design 8). It applies
// what the log commits; while it leads it turns the gossiped view into Observe entries, decides,
// and talks with the agents. Owned by agent/node, which connects it with Raft and the transport.
//
// Every message to an agent is a function of applied, committed state: nothing that must survive a
// change of leader is kept outside of State. What is kept beside it only delays or repeats:
// re-send times, proposals on their way, requests that wait for an answer, expire timers (each
// voter's own, begun when it applies a Condemn).
//
// Obligations of the caller: every committed entry above the snapshot arrives once, in order;
// LeadershipChanged{leads} as Raft says it, again with own_term_applied once this term's first
// entry has been given to Applied; a MajorityRound only for a round begun after its request. When
// Output::halted is not empty the process must end: the log holds what this version cannot apply.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "gossip/base/time.h"
#include "scheduler/leader/client_ledger.h"
#include "scheduler/leader/expire_timers.h"
#include "scheduler/leader/inputs.h"
#include "scheduler/leader/member_key.h"
#include "scheduler/leader/outputs.h"
#include "scheduler/leader/proposals.h"
#include "scheduler/leader/resends.h"
#include "scheduler/leader/scheduler_config.h"
#include "scheduler/leader/seen_hosts.h"
#include "scheduler/leader/turn.h"
#include "scheduler/placement/placement.h"
#include "scheduler/protocol/agent_messages.h"
#include "scheduler/protocol/entry.h"
#include "scheduler/state/state.h"

namespace muster::scheduler {

/// Bounds of what waits beside the state, each with what happens beyond it.
inline constexpr std::size_t kRoundWaitersMax = 65'536;  ///< Later ones are dropped, agents repeat.
inline constexpr std::size_t kRefusedHellosMax = 1024;       ///< More are told of more often.
inline constexpr Duration kRefusalToldAgain = std::chrono::minutes(1);
inline constexpr std::size_t kDecidesMax = 64;           ///< Proposed in one go.
inline constexpr std::size_t kObservesMax = 512;         ///< On their way at once.

/// The reason of a Refuse that quarantines the GPUs it is about (rule 11).
inline constexpr std::string_view kReasonStuck = "stuck";

class Scheduler {
 public:
  using Input = std::variant<input::Applied, input::Restored, input::LeadershipChanged,
                             input::AgentMessageReceived, input::HostViewChanged,
                             input::StormChanged, input::VotersQuiet, input::MajorityRound,
                             input::ClientSubmit, input::ClientOrder>;
  using Output = SchedulerOutput;

  Scheduler(SchedulerConfig config, State state, Instant now);

  void step(Instant now, Input input);
  void tick(Instant now);
  Instant next_deadline() const;
  Output take_output();
  void check_invariants() const;

  /// The replicated state: read model of the CLI and content of snapshots (State::encode).
  const State& state() const { return state_; }
  /// Leads and applied its own-term entry: it may speak and decide.
  bool is_ready() const { return leads_ && own_term_applied_; }
  bool is_halted() const { return halted_; }
  /// Hosts that a leader places nothing on, for what it sees of its voters; and why, for people.
  std::map<HostId, std::string> left_out() const { return seen_.left_out(); }
  /// Messages and facts dropped as stale or hostile.
  std::uint64_t dropped_count() const { return dropped_; }

 private:
  struct Waiter {
    HostId host;
    Nonce nonce;
    std::variant<Renew, Hello> message;
    HostId relay = {};  ///< Who brought it and carries the answer back; zero = the host itself.
  };

  Turn turn(Instant now) {
    return Turn{now, config_, state_, seen_, expire_timers_, output_};
  }
  void on(Instant now, input::Applied& fact);
  void on(Instant now, input::Restored& fact);
  void on(Instant now, input::LeadershipChanged& fact);
  void on(Instant now, input::AgentMessageReceived& fact);
  void on(Instant now, input::HostViewChanged& fact);
  void on(Instant now, input::StormChanged& fact);
  void on(Instant now, input::VotersQuiet& fact);
  void on(Instant now, input::MajorityRound& fact);
  void on(Instant now, input::ClientSubmit& fact);
  void on(Instant now, input::ClientOrder& fact);

  // scheduler_agents.cc: what agents say.
  void hear(Instant now, const HostId& from, Nonce nonce, Hello& hello);
  void hear_unknown(const HostId& from, Nonce nonce, const Finish& finish);
  bool adopt(Instant now, const HostId& host, const Hello& hello);
  void hear(Instant now, const HostId& from, const Ready& ready);
  void hear(Instant now, const HostId& from, const Refuse& refuse);
  void hear(Instant now, const HostId& from, Nonce nonce, const Finish& finish);
  void acknowledge(const entry::Finish& finish);
  void hear(Instant now, std::vector<Waiter> renewals);
  void wait_for_round(Waiter waiter);
  void ask_round(Instant now);
  void answer(Instant now, const Waiter& waiter, const Hello& hello);
  void answer(Instant now, const Waiter& waiter, const Renew& renew);
  void say_relayed_acks();
  void refuse_pair(Instant now, const Waiter& waiter, const Hello& hello, Generation raise_to);
  void forgive(Instant now, const HostId& host, const std::vector<Token>& tokens);
  void report_ended(Instant now, const HostId& host, const Hello& hello);
  void quarantine(Instant now, const HostId& from, const MemberRecord& record);

  void drive_all(Instant now);
  void drive(Instant now, const Token& token);

  // scheduler_decide.cc: what the leader proposes.
  void decide(Instant now);
  bool propose(Instant now, const Entry& entry);
  void observe_hosts(Instant now);
  std::optional<entry::Observe> wanted_observe(const HostRecord& record) const;
  /// Hosts that get nothing now: what is still to be observed is not decided upon.
  std::set<HostId> unplaceable() const;
  void place_queue(Instant now);
  void judge_attempts(Instant now);
  bool fits_without(const HostId& gone, const Attempt& attempt, const Job& job) const;
  void judge_reserved(Instant now, const Attempt& attempt, const Job& job);
  void judge_started(Instant now, const Attempt& attempt, const Job& job);
  static Cause ordered_cause(const Job& job);
  Cause stop_cause(Instant now, const Attempt& attempt, const Job& job);
  bool is_lost_past_patience(Instant now, const Attempt& attempt, const Job& job);
  void judge_hosts(Instant now);
  void expire_due(Instant now);
  void tick_cluster_time(Instant now);
  Instant unreachable_since(const HostRecord& record) const;
  void wake_at(Instant when);

  void follow_applied(Instant now, const Entry& entry, const ApplyResult& result);
  void lose_leadership();

  SchedulerConfig config_;
  State state_;
  Output output_;
  bool leads_ = false;
  bool own_term_applied_ = false;
  bool halted_ = false;
  std::uint64_t dropped_ = 0;
  Instant ready_since_;    ///< When this leader applied its own-term entry.
  Instant last_tick_;      ///< Up to when cluster time has been proposed.
  Instant wake_ = kNever;  ///< The earliest moment at which time alone changes a judgement.

  // Every voter.
  SeenHosts seen_;
  ExpireTimers expire_timers_;

  // While it leads; forgotten with the leadership.
  Proposals proposals_;
  Resends resends_;
  ClientLedger clients_;
  std::set<HostId> unobserved_;              ///< Hosts whose view and log record may differ.
  bool placing_wanted_ = false;
  std::set<Token> unjudged_;                 ///< Attempts something happened to.
  std::map<Token, Instant> reserved_since_;  ///< This leader's own count of the deadline.
  std::map<HostId, Instant> renewed_at_;  ///< By its registered pair, a round confirming it.
  std::vector<Waiter> waiting_;                             ///< For the next round.
  std::vector<Waiter> in_round_;                            ///< For the round asked for.
  std::map<HostId, std::vector<RelayedAck>> relayed_acks_;  ///< By relay, within one step.
  std::uint64_t round_context_ = 0;
  std::optional<Instant> round_asked_;
  /// Finish on its way, last or early -> nonce of the message, which its FinishAck echoes.
  std::map<std::pair<MemberKey, bool>, Nonce> finish_nonces_;
  std::map<HostId, Waiter> hellos_;                            ///< Waiting for their Register.
  struct RefusedHello {
    std::string why;
    Instant again_at;
  };
  std::map<HostId, RefusedHello> refused_hellos_;  ///< As last told of in an event.
};

}  // namespace muster::scheduler
