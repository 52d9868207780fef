#pragma once
// Grants holds the grants of this host until they are forgotten. At each message of the leader,
// each report of a supervisor and each deadline it decides which step of a grant's life is due;
// GrantSteps takes it. Owned by GangAgent, whose header draws that life.
//
// Invariants
// - No two grants with ranks overlap on a GPU.
// - ABORTED and ENDED are never left. A grant with ranks is never aborted.
// - Ready is sent only for a durable grant, and never while older ranks are on one of its GPUs. The
//   hold begins at the first Ready.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/gang/fence.h"
#include "agent/gang/gang_interface.h"
#include "agent/gang/gang_outbox.h"
#include "agent/gang/grant.h"
#include "agent/gang/grant_steps.h"
#include "agent/gang/renewals.h"
#include "crdt/disk/write_batch.h"
#include "gossip/base/ids.h"
#include "gossip/base/time.h"
#include "scheduler/protocol/agent_messages.h"

namespace muster::agent {

class Grants {
 public:
  Grants(GangAgentOptions options, HostId self, AgentStart start);

  /// Takes the records of Environment::kId; ignores its other tables.
  void recover(const crdt::Records& records, GangOutbox& out);

  Grant* find(Token token);
  const Grant* find(Token token) const;
  /// By token.
  const std::map<Token, Grant>& all() const { return grants_; }
  /// The member of this host.
  const scheduler::Member& member_of(const Grant& grant) const { return steps_.member_of(grant); }
  /// True if the end of every grant that is over is durable.
  bool are_settled() const;
  /// The GPUs of grants that are neither ABORTED nor ENDED.
  std::set<std::string> held() const;
  /// The last ENDED grant on the GPU that is not forgotten; zero = there is no.
  Token last_ended_on(const std::string& uuid) const;
  /// The reports of all grants in a hello of an agent that obeys `epoch`.
  std::vector<scheduler::GrantReport> reports(std::uint64_t epoch) const;
  /// The request to renew all holds.
  scheduler::Renew renewal() const;

  // Messages of the leader. A grant argument is one of all().

  /// Adds a grant in READY, stored with `batch`. Precondition: its token is not known.
  void add(scheduler::Assign assign, crdt::WriteBatch batch, GangOutbox& out);
  /// Repeats the answer. A repeated Assign does not restart the hold.
  void on_repeated_assign(const Grant& grant, GangOutbox& out);
  /// Stops the grants in the way of `newer` that have a lower token.
  void revoke_older(const scheduler::Assign& newer, const scheduler::Member& member, Instant now,
                    GangOutbox& out);
  void on_start(Instant now, Grant& grant, const scheduler::Start& start, GangOutbox& out);
  void on_stop(Instant now, Grant& grant, const scheduler::Stop& stop, GangOutbox& out);
  /// The grant is over in the log: it is forgotten as soon as no ranks are left.
  void kill(Instant now, Token token, GangOutbox& out);
  /// Sets Grant::withheld of all that have ended to those of their GPUs that are not clean.
  void note_dirty(const std::set<std::string>& uuids);
  /// Repeats every end that is not acknowledged at once, for another leader.
  void restart_reports(Instant now);
  /// False if it acknowledges no report of this agent.
  bool on_finish_ack(Nonce nonce, Token token, GangOutbox& out);
  /// The hold of each token in `renewed` that `asked` named runs from `counted` on.
  void on_renewed(Instant counted, const Renewal& asked, const std::vector<Token>& renewed,
                  GangOutbox& out);
  void refuse(Token token, const std::string& reason, GangOutbox& out) const {
    steps_.refuse(token, reason, out);
  }

  // Reports of the disk and the supervisors. An unknown token is ignored.

  void on_persisted(std::uint64_t write);
  /// Its supervisor was found alive. False if the grant is stopping and is not kept. Precondition:
  /// the grant is live.
  bool on_adopted(Grant& grant, const SupervisorAdopted& found, GangOutbox& out);
  /// Its supervisor was found alive but does not answer. True if the grant is kept and its hold
  /// runs.
  bool on_silent(Instant now, Grant& grant, GangOutbox& out);
  /// Its supervisor and all processes under it are gone. `scanned`: the edge has reported all that
  /// it found at the start. Precondition: the grant is live.
  void on_gone(Grant& grant, std::optional<std::vector<scheduler::RankResult>> results,
               bool scanned, GangOutbox& out);
  /// Ends the grants whose supervisor was not found.
  void on_scanned(GangOutbox& out);
  void on_prepared(const SupervisorPrepared& prepared, GangOutbox& out);
  void on_launch_failed(const LaunchFailed& failed, GangOutbox& out);
  void on_ranks_started(Token token, GangOutbox& out);
  void on_rank_failed(Instant now, RankFailedEarly failed, GangOutbox& out);
  void on_ranks_ended(AllRanksEnded ended, GangOutbox& out);

  // Effects of time.

  /// Handles lapsed holds, ranks that do not die, and repeats of Finish.
  void tick(Instant now, GangOutbox& out);
  /// Takes the steps that wait for a durable state: Ready, Launch, Finish. Ready waits for `dirty`
  /// GPUs, too.
  void advance(Instant now, const std::set<std::string>& dirty, Renewals& renewals,
               GangOutbox& out);
  Instant next_deadline() const;
  void check_invariants(const Fence& fence) const;

 private:
  bool hinders(const Grant& older, JobId job, const scheduler::Member& member) const;
  enum class Way { kFree, kBlocked, kStuck };

  void tick_one(Instant now, Grant& grant, GangOutbox& out);
  void advance_one(Instant now, Grant& grant, const std::set<std::string>& dirty,
                   Renewals& renewals, GangOutbox& out);
  void advance_ready(Instant now, Grant& grant, const std::set<std::string>& dirty,
                     Renewals& renewals, GangOutbox& out);
  Way way_for(const Grant& grant, const std::set<std::string>& dirty) const;
  void forget(Token token, GangOutbox& out);

  GrantSteps steps_;
  std::map<Token, Grant> grants_;
};

}  // namespace muster::agent
