#pragma once
// GangAgent: one host's share of attempts, as a pure machine. It keeps the promise that makes gangs
// safe: ranks run here only under a durable token that nothing higher has superseded, between a
// logged Start and the end of the hold. What it hears and says is words.h.
//
// The life of a grant, and what is durable before each step:
//   Assign -> [fence and READY persisted, supervisor prepared, older ranks gone] -> Ready
//   Start  -> [STARTING persisted] -> Launch -> running
//   Stop, isolation, revocation -> Terminate -> ranks gone
//   ranks gone -> [ENDED with results persisted] -> Finish until FinishAck -> Forget
//   READY and: Stop, lapse of the hold, a higher token, a restart -> [ABORTED persisted]
// ABORTED and ENDED are never left. The fence stays when a record goes.
//
// Owner: agent/node. The edge carries out the commands (rank_supervisor) and reports facts.
// At start the edge reports what it found of every supervisor, then SupervisorsScanned; hello is
// not sent before that, and not before every verdict about an interrupted grant is durable. A
// supervisor that does not answer, or an orphan that does not die, costs its GPUs, not the host.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/gang/fence.h"
#include "agent/gang/grant.h"
#include "agent/gang/words.h"
#include "crdt/disk/write_batch.h"
#include "gossip/base/event.h"
#include "gossip/base/ids.h"
#include "gossip/base/rng.h"
#include "gossip/base/time.h"
#include "scheduler/protocol/agent_messages.h"

namespace muster::agent {

class GangAgent {
 public:
  using Input = GangAgentInput;
  using Output = GangAgentOutput;

  /// `records` is Environment::kId as recovered; other tables in it are ignored.
  GangAgent(GangAgentOptions options, AgentIdentity identity, const crdt::Records& records,
            Inventory inventory, Rng rng, Instant now);

  void step(Instant now, Input input);
  void tick(Instant now);
  Instant next_deadline() const;
  Output take_output();
  void check_invariants() const;

  bool is_registered() const { return registered_; }
  const Inventory& inventory() const { return inventory_; }
  /// GPUs of the inventory whose fence is known: what hello offers.
  std::vector<std::string> offered_gpus() const;
  /// Not yet forgotten, by token.
  std::vector<GrantView> grants() const;
  /// The record behind a token, or nothing. Valid until the next step.
  const GrantRecord* find(Token token) const;
  /// Messages that named an unknown token, another pair or no type of ours.
  std::uint64_t dropped_count() const { return dropped_count_; }

 private:
  struct Grant {
    GrantRecord record;
    std::optional<scheduler::GrantState> durable;  ///< Nothing: not on disk yet.
    scheduler::GrantState state() const { return record.state; }
    /// Not ABORTED and not ENDED.
    bool is_live() const;
    /// Processes may exist under it.
    bool has_ranks() const;
    /// Its leader has to say Start, or say it again: what an earlier life of this agent heard was
    /// never obeyed.
    bool waits_for_start() const;
    bool is_durable() const { return durable == record.state; }

    bool prepared = false;    ///< Its supervisor is there.
    bool ready_sent = false;  ///< The hold runs since the first send.
    bool launch_sent = false;
    bool start_seen = false;     ///< A Start named it in this life of the agent.
    bool finish_wanted = false;  ///< Aborted: somebody asked.
    bool is_stuck = false;
    bool is_silent = false;       ///< Its supervisor does not answer: ranks may run.
    Instant hold_until = kNever;  ///< kNever before the first send of Ready.
    Instant stuck_at = kNever;    ///< When a terminated one counts as stuck.
    Instant finish_at = kNever;
    Duration finish_delay{0};
    gossip::Endpoint master;
    std::vector<Nonce> finish_nonces;          ///< Of the last word, as sent; bounded.
    std::vector<scheduler::RankResult> early;  ///< First failure, reported before the end.
  };
  struct Renewal {
    Instant sent;
    std::vector<Token> tokens;
  };
  struct Write {
    Token token;  ///< None: a write that nobody waits for.
    scheduler::GrantState state = scheduler::GrantState::kReady;
    bool is_floor = false;
  };

  void on(Instant now, LeaderMessage input);
  void on(Instant now, LeaderChanged input);
  void on(Instant now, EpochObeyed input);
  void on(Instant now, const LeaveBegun& input);
  void on(Instant now, Persisted input);
  void on(Instant now, SupervisorAdopted input);
  void on(Instant now, SupervisorSilent input);
  void on(Instant now, SupervisorGone input);
  void on(Instant now, SupervisorsScanned input);
  void on(Instant now, SupervisorPrepared input);
  void on(Instant now, LaunchFailed input);
  void on(Instant now, RanksStarted input);
  void on(Instant now, RankFailedEarly input);
  void on(Instant now, AllRanksEnded input);
  void on(Instant now, InventoryChanged input);

  void on_hello_reply(Instant now, Nonce nonce, const scheduler::HelloReply& reply);
  void on_assign(Instant now, scheduler::Assign assign);
  void on_repeated_assign(Instant now, Grant& grant);
  void on_start(Instant now, const scheduler::Start& start);
  void on_stop(Instant now, const scheduler::Stop& stop);
  void on_finish_ack(Nonce nonce, const scheduler::FinishAck& ack);
  void on_renew_ack(Nonce nonce, const scheduler::RenewAck& ack);

  std::optional<std::string> reason_to_refuse(const scheduler::Assign& assign,
                                              const scheduler::Member& member) const;
  void accept(Instant now, scheduler::Assign assign, const scheduler::Member& member);
  void revoke_older(Instant now, Token newer, const scheduler::Member& member);
  enum class Way { kFree, kBlocked, kStuck };
  Way way_for(const Grant& grant) const;
  void advance(Instant now, Grant& grant);
  void advance_all(Instant now);
  void send_ready(Instant now, Grant& grant);
  void launch(Grant& grant);
  void abort(Grant& grant, const std::string& reason);
  void terminate(Instant now, Grant& grant, Duration grace, const std::string& reason);
  void end(Instant now, Grant& grant, std::vector<scheduler::RankResult> results);
  void answer_with_finish(Instant now, Grant& grant);
  void send_finish(Instant now, Grant& grant);
  /// Acknowledgements of this Finish count from now on.
  static void note_finish(std::vector<Nonce>& nonces, Nonce nonce);
  void forget(Token token);
  void raise_floor(Instant now, Token floor);
  void kill(Instant now, Token token);
  void restart_finishes(Instant now);
  void want_hello(Instant at);
  std::vector<std::string> stuck_gpus() const;
  void watch_stuck(Instant now);
  void end_orphan(Instant now, Token token);
  void give_up_orphans(Instant now);
  void recheck_stuck(Instant now);

  void recover(const crdt::Records& records);
  void settle_interrupted(Instant now);
  bool may_hello() const;
  scheduler::GrantReport report_of(const Grant& grant) const;
  void send_hello(Instant now);
  void send_renewals(Instant now);
  void on_time(Instant now, Grant& grant);
  Instant deadline_of(const Grant& grant) const;

  Grant* grant_of(Token token);
  /// The grant when it exists and `start` names this start; a drop otherwise.
  Grant* addressed(Token token, AgentStart start, std::string_view what);
  const scheduler::Member& member_of(const Grant& grant) const;
  void store(Grant& grant, crdt::WriteBatch batch = {});
  void persist(crdt::WriteBatch batch, Write write);
  Nonce send(scheduler::AgentMessage message);
  void refuse(Token token, const std::string& reason);
  void drop(std::string_view what, Token token);
  void emit(Severity severity, std::string_view name, Token token, const std::string& detail = {});

  GangAgentOptions options_;
  AgentIdentity identity_;
  Inventory inventory_;
  Rng rng_;
  Fence fence_;
  std::map<Token, Grant> grants_;
  std::set<Token> orphans_;         ///< Supervisors of no live grant, being ended before hello.
  Instant orphans_until_ = kNever;  ///< When hello waits for them no longer.
  /// Those that did not end, and the GPUs that may be theirs.
  std::map<Token, std::vector<std::string>> stuck_orphans_;
  std::vector<std::string> withheld_;  ///< stuck_gpus() as the leader was last told.
  Instant recheck_at_ = kNever;
  std::map<std::uint64_t, Write> writes_;
  std::uint64_t last_write_ = 0;

  HostId leader_;
  std::uint64_t epoch_ = 1;  ///< The counter that is obeyed.
  bool scanned_ = false;
  bool registered_ = false;
  bool is_known_ = false;  ///< Some leader has registered what a hello would say now.
  bool leaving_ = false;
  bool halted_ = false;       ///< raise_to was emitted.
  std::string told_refusal_;  ///< Why a leader does not register this host, as last told.
  Instant hello_at_ = kNever;
  std::vector<Nonce> hellos_;  ///< To the present leader, unanswered; at most kHellosMax.
  std::map<Nonce, Renewal> renewals_;
  std::vector<Nonce> early_nonces_;  ///< Of Finish with last = false: their ack ends nothing.
  Instant renew_at_ = kNever;
  std::uint64_t dropped_count_ = 0;
  Instant latest_{};  ///< Of all steps: time never runs backwards.
  Output output_;
};

}  // namespace muster::agent
