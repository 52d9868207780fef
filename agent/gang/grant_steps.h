#pragma once
// GrantSteps: what one step of a grant's life comes to: the new state, its write, the order to the
// supervisor, the word to the leader. A part of Grants, which decides when a step is taken; the
// grant is its argument and changes with it.
//
// Invariants
// - A state counts as durable from the report of its own write. RUNNING and STOPPING are never
//   written: what distinguishes them from STARTING is known by the supervisor.
// - Each step CHECKs the state it starts from; what it takes from outside are results and texts.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/gang/gang_outbox.h"
#include "agent/gang/grant.h"
#include "agent/gang/recent_nonces.h"
#include "agent/gang/words.h"
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
  /// This host's part of it.
  const scheduler::Member& member_of(const Grant& grant) const;

  /// Writes the record as it is now, together with `batch`.
  void store(const Grant& grant, crdt::WriteBatch batch, GangOutbox& out);
  /// The write that was reported as persisted, once; nothing when no grant waits for it.
  std::optional<Write> take_persisted(std::uint64_t id);

  /// READY, durable: the hold begins with this first Ready.
  void begin_hold(Instant now, Grant& grant, GangOutbox& out) const;
  /// Ready as it was said first, or is said again: the hold goes on.
  void say_ready(const Grant& grant, GangOutbox& out) const;
  /// STARTING, durable: the ranks are started.
  void launch(Grant& grant, GangOutbox& out) const;
  /// To RUNNING by `event`, durable at once: the supervisor knows it.
  static void run(Grant& grant, GrantEvent event);
  /// Without ranks, to ABORTED. Who said Start waits for an answer.
  void abort(Grant& grant, const std::string& reason, GangOutbox& out);
  /// With ranks, to STOPPING; one that is stopping already goes on as it was ordered first.
  void terminate(Instant now, Grant& grant, Duration grace, const std::string& reason,
                 GangOutbox& out) const;
  /// Live, to ENDED: no rank is left.
  void end(Grant& grant, std::vector<scheduler::RankResult> results, GangOutbox& out);
  /// Live, to ENDED: nobody knows more of any rank than `kind` and `detail`.
  void end_all(Grant& grant, scheduler::RankResult::Kind kind, const std::string& detail,
               GangOutbox& out);

  /// Finish: of an end, as it is known; the next one follows after a pause.
  void send_finish(Instant now, Grant& grant, GangOutbox& out);
  /// Finish of what is ENDED and durable, for the first time; later ones repeat it.
  void begin_finish(Instant now, Grant& grant, GangOutbox& out);
  /// Finish of what is ABORTED and durable, if somebody wants it.
  void answer_if_wanted(Grant& grant, GangOutbox& out) const;
  /// Somebody asks about a grant that is over: Finish, as soon as that is durable.
  void answer_with_finish(Instant now, Grant& grant, GangOutbox& out);
  /// Another leader has to hear at once of an end that is not acknowledged.
  void restart_finish(Instant now, Grant& grant) const;
  /// A first failure is told at once.
  void begin_early(Instant now, Grant& grant, scheduler::RankResult first) const;
  /// Whether an early Finish went under `nonce`, of whichever grant.
  bool was_early(Nonce nonce) const { return early_nonces_.contains(nonce); }
  void refuse(Token token, const std::string& reason, GangOutbox& out) const;

 private:
  GangAgentOptions options_;
  HostId self_;
  AgentStart start_;
  std::map<std::uint64_t, Write> writes_;        ///< Not reported yet, by id.
  RecentNonces early_nonces_{kFinishNoncesMax};  ///< Of early words: their ack ends nothing.
};

}  // namespace muster::agent
