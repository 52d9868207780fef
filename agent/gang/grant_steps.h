#pragma once
// GrantSteps takes one step of a grant's life: it changes the state, writes it, orders the
// supervisor and tells the leader. The grant is an argument and changes. Owned by Grants, which
// decides when a step is taken.
//
// Invariants
// - A state counts as durable from the report of its own write. RUNNING and STOPPING are never
//   written: the supervisor tells them from STARTING.
// - Each step CHECKs the state it starts from. From outside it takes only results and texts.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/gang/gang_interface.h"
#include "agent/gang/gang_outbox.h"
#include "agent/gang/grant.h"
#include "agent/gang/recent_nonces.h"
#include "crdt/disk/write_batch.h"
#include "gossip/base/ids.h"
#include "gossip/base/time.h"
#include "scheduler/protocol/agent_messages.h"

namespace muster::agent {

class GrantSteps {
 public:
  /// A write of a grant's state.
  struct Write {
    Token token;
    scheduler::GrantState state = scheduler::GrantState::kReady;
  };

  GrantSteps(GangAgentOptions options, HostId self, AgentStart start);

  HostId self() const { return self_; }
  AgentStart start() const { return start_; }
  /// The member of this host.
  const scheduler::Member& member_of(const Grant& grant) const;

  /// Writes the record as it is now, together with `batch`.
  void store(const Grant& grant, crdt::WriteBatch batch, GangOutbox& out);
  /// Takes the write that was reported as persisted; nullopt if no grant waits for it.
  std::optional<Write> take_persisted(std::uint64_t id);

  /// From a durable READY: sends the first Ready; the hold begins.
  void begin_hold(Instant now, Grant& grant, GangOutbox& out) const;
  /// Sends Ready, for the first time or again; the hold goes on.
  void say_ready(const Grant& grant, GangOutbox& out) const;
  /// From a durable STARTING: starts the ranks.
  void launch(Grant& grant, GangOutbox& out) const;
  /// To RUNNING by `event`; durable at once, for the supervisor knows it.
  static void run(Grant& grant, GrantEvent event);
  /// A grant without ranks, to ABORTED. If it had heard Start, the leader waits for an answer.
  void abort(Grant& grant, const std::string& reason, GangOutbox& out);
  /// A grant with ranks, to STOPPING. If it is stopping already, the first order holds.
  void terminate(Instant now, Grant& grant, Duration grace, const std::string& reason,
                 GangOutbox& out) const;
  /// A live grant, to ENDED: no rank is left.
  void end(Grant& grant, std::vector<scheduler::RankResult> results, GangOutbox& out);
  /// A live grant, to ENDED: every rank has the result `kind` and `detail`, for no more is known.
  void end_all(Grant& grant, scheduler::RankResult::Kind kind, const std::string& detail,
               GangOutbox& out);

  /// Sends Finish with the results that are known; the next one follows after a pause.
  void send_finish(Instant now, Grant& grant, GangOutbox& out);
  /// Sends the first Finish of a durable ENDED; later ones repeat it.
  void begin_finish(Instant now, Grant& grant, GangOutbox& out);
  /// Sends Finish of a durable ABORTED, if the leader wants it.
  void answer_if_wanted(Grant& grant, GangOutbox& out) const;
  /// The leader asks about a grant that is over: it gets Finish, as soon as the end is durable.
  void answer_with_finish(Instant now, Grant& grant, GangOutbox& out);
  /// Repeats an end that is not acknowledged at once, for another leader.
  void restart_finish(Instant now, Grant& grant) const;
  /// Reports a first failure at once.
  void begin_early(Instant now, Grant& grant, scheduler::RankResult first) const;
  /// True if an early Finish of any grant went under `nonce`.
  bool was_early(Nonce nonce) const { return early_nonces_.contains(nonce); }
  void refuse(Token token, const std::string& reason, GangOutbox& out) const;

 private:
  GangAgentOptions options_;
  HostId self_;
  AgentStart start_;
  std::map<std::uint64_t, Write> writes_;        ///< Writes that are not durable yet, by id.
  RecentNonces early_nonces_{kFinishNoncesMax};  ///< Nonces of early reports: their ack ends none.
};

}  // namespace muster::agent
