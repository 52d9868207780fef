#pragma once
// GangAgent runs one host's share of attempts, as a pure machine. It keeps the promise that makes
// gangs safe: ranks run here only under a durable token that no higher one has superseded, between
// a logged Start and the end of the hold. Its inputs and outputs are in gang_interface.h.
//
// The life of a grant, and what is durable before each step:
//   Assign -> [fence and READY persisted, supervisor prepared, older ranks gone] -> Ready
//   Start  -> [STARTING persisted] -> Launch -> running
//   Stop, isolation, revocation -> Terminate -> ranks gone
//   ranks gone -> [ENDED with results persisted] -> Finish until FinishAck -> Forget
//   READY and: Stop, lapse of the hold, a higher token, a restart -> [ABORTED persisted]
// ABORTED and ENDED are never left. The fence stays when a record goes.
//
// Owned by Node. The edge carries out the commands (rank_supervisor) and reports facts. At the
// start the edge reports every supervisor that it found, then SupervisorsScanned. GangAgent sends
// no hello before that, and none before every verdict about an interrupted grant is durable. A
// supervisor that does not answer, or an orphan that does not die, costs its GPUs, not the host.
//
// It decides which messages count and in which order things happen. Its parts do the rest: Grants
// takes the steps above, Fence judges tokens, HelloExchange registers the host at the leader,
// Renewals renews its holds, StuckGpus withholds GPUs that are not clean, GangOutbox collects the
// output of all.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/gang/fence.h"
#include "agent/gang/gang_interface.h"
#include "agent/gang/gang_outbox.h"
#include "agent/gang/gpu_cleaning.h"
#include "agent/gang/grant_record.h"
#include "agent/gang/grants.h"
#include "agent/gang/hello_exchange.h"
#include "agent/gang/renewals.h"
#include "agent/gang/stuck_gpus.h"
#include "crdt/disk/write_batch.h"
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
  Output take_output() { return out_.take(); }
  void check_invariants() const;

  bool is_registered() const { return hello_exchange_.is_registered(); }
  const Inventory& inventory() const { return inventory_; }
  /// The reason, for people, that this host can start no grant now; "" = it can. The row of the
  /// host tells it, and GangAgent refuses every Assign.
  const std::string& shortage() const { return shortage_; }
  /// The GPUs that hello offers: those of the inventory whose fence is known.
  std::vector<std::string> offered_gpus() const;
  /// The GPUs of grants that are neither ABORTED nor ENDED.
  std::set<std::string> held_gpus() const { return grants_.held(); }
  /// The grants that are not forgotten, by token.
  std::vector<GrantView> grants() const;
  /// For checkers: the nonces of renewals that are not answered yet.
  std::vector<Nonce> renewals_under_way() const { return renewals_.under_way(); }
  /// The record of a token; nullptr if there is no grant. Valid until the next step.
  const GrantRecord* find(Token token) const;
  /// The last order of an operator about a GPU that this start has heard.
  Token order_heard() const { return order_heard_; }
  /// Messages of another type, for an unknown token or for another start of this host.
  std::uint64_t dropped_count() const { return dropped_count_; }

 private:
  GpuCleaning cleaning() { return GpuCleaning(inventory_, grants_, stuck_, hello_exchange_, out_); }
  void hear(Instant now, Input input);
  void on_leader_message(Instant now, LeaderMessage input);
  void on_leader_changed(Instant now, const LeaderChanged& input);
  void on_adopted(Instant now, const SupervisorAdopted& input);
  void on_silent(Instant now, Token token);
  void on_gone(SupervisorGone input);
  void on_scanned(Instant now);
  void on_prepared(Instant now, const SupervisorPrepared& input);
  void on_ranks_ended(AllRanksEnded input);
  void on_inventory(Instant now, Inventory inventory);
  void on_shortage(std::string shortage);

  void on_hello_reply(Instant now, Nonce nonce, const scheduler::HelloReply& reply);
  void on_assign(Instant now, scheduler::Assign assign);
  void on_start(Instant now, const scheduler::Start& start);
  void on_stop(Instant now, const scheduler::Stop& stop);
  void on_finish_ack(Nonce nonce, const scheduler::FinishAck& ack);
  void on_renew_ack(Nonce nonce, const scheduler::RenewAck& ack);

  std::optional<std::string> reason_to_refuse(const scheduler::Assign& assign,
                                              const scheduler::Member& member) const;
  void accept(Instant now, scheduler::Assign assign, const scheduler::Member& member);
  void raise_floor(Instant now, Token floor);
  bool may_hello() const;
  void send_hello(Instant now);
  /// The grant of `token` if `start` is this start. Otherwise nullptr, and it counts a drop.
  Grant* addressed(Token token, AgentStart start, std::string_view what);
  void drop(std::string_view what, Token token);

  AgentIdentity identity_;
  Inventory inventory_;
  std::string shortage_;
  std::set<std::string> unwell_;
  Fence fence_;
  GangOutbox out_;
  HelloExchange hello_exchange_;
  Renewals renewals_;
  Grants grants_;
  StuckGpus stuck_;
  bool scanned_ = false;  ///< The edge has reported all supervisors that it found at the start.
  bool leaving_ = false;
  Token order_heard_;  ///< Orders up to it are ignored.
  std::uint64_t dropped_count_ = 0;
  Instant latest_{};  ///< The time of the last step: time never runs backwards.
};

}  // namespace muster::agent
