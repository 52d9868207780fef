#pragma once
// Grants: this host's share of each attempt it was assigned and that is not forgotten, and what
// becomes of it: at each word of the leader, each report of a supervisor, each moment, the step of
// its life that is to be taken (grant_steps.h takes it). A part of GangAgent, whose header draws
// that life.
//
// Invariants
// - No two grants with ranks overlap on a GPU.
// - ABORTED and ENDED are never left. A grant with ranks is never aborted.
// - Ready is said only of what is durable, and never while older ranks are on a GPU of it. The hold
//   begins at the first Ready.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/gang/fence.h"
#include "agent/gang/gang_outbox.h"
#include "agent/gang/grant.h"
#include "agent/gang/grant_steps.h"
#include "agent/gang/renewals.h"
#include "agent/gang/words.h"
#include "crdt/disk/write_batch.h"
#include "gossip/base/ids.h"
#include "gossip/base/time.h"
#include "scheduler/protocol/agent_messages.h"

namespace muster::agent {

class Grants {
 public:
  Grants(GangAgentOptions options, HostId self, AgentStart start);

  /// The records of Environment::kId; other tables in it are ignored.
  void recover(const crdt::Records& records, GangOutbox& out);

  Grant* find(Token token);
  const Grant* find(Token token) const;
  /// By token.
  const std::map<Token, Grant>& all() const { return grants_; }
  /// This host's part of it.
  const scheduler::Member& member_of(const Grant& grant) const { return steps_.member_of(grant); }
  /// Every verdict about one that is over is durable.
  bool are_settled() const;
  /// What hello says of them, where `epoch` is obeyed.
  std::vector<scheduler::GrantReport> reports(std::uint64_t epoch) const;
  /// What has to be renewed.
  scheduler::Renew renewal() const;

  // What the leader says. A grant that is given is one of all().

  /// A new one in READY, stored with `batch`. Precondition: its token is not known.
  void add(scheduler::Assign assign, crdt::WriteBatch batch, GangOutbox& out);
  /// The stored answer. A repeated Assign does not restart the hold.
  void on_repeated_assign(const Grant& grant, GangOutbox& out);
  /// Stops whatever was granted the same place under a lower token than `newer`.
  void revoke_older(const scheduler::Assign& newer, const scheduler::Member& member, Instant now,
                    GangOutbox& out);
  void on_start(Instant now, Grant& grant, const scheduler::Start& start, GangOutbox& out);
  void on_stop(Instant now, Grant& grant, const scheduler::Stop& stop, GangOutbox& out);
  /// The log is over with it: it is forgotten, as soon as no ranks are left.
  void kill(Instant now, Token token, GangOutbox& out);
  /// Another leader has to hear at once of every end that is not acknowledged.
  void restart_reports(Instant now);
  /// False: it acknowledges nothing that was said here.
  bool on_finish_ack(Nonce nonce, Token token, GangOutbox& out);
  /// The hold of each token in `renewed` that was asked for runs from `counted` on.
  void on_renewed(Instant counted, const Renewal& asked, const std::vector<Token>& renewed,
                  GangOutbox& out);
  void refuse(Token token, const std::string& reason, GangOutbox& out) const {
    steps_.refuse(token, reason, out);
  }

  // What the disk and the supervisors report. A token that is not known is passed over.

  void on_persisted(std::uint64_t write);
  /// Its supervisor was found alive. False: it is being ended, and not kept. Precondition: it is
  /// live.
  bool on_adopted(Grant& grant, const SupervisorAdopted& found, GangOutbox& out);
  /// Its supervisor was found alive but says nothing. True: it is kept, and its hold runs.
  bool on_silent(Instant now, Grant& grant, GangOutbox& out);
  /// Its supervisor and all under it are gone. `scanned`: nothing was found at start that is yet to
  /// be reported. Precondition: it is live.
  void on_gone(Grant& grant, std::optional<std::vector<scheduler::RankResult>> results,
               bool scanned, GangOutbox& out);
  /// Those of which no supervisor was found are over.
  void on_scanned(GangOutbox& out);
  void on_prepared(const SupervisorPrepared& prepared, GangOutbox& out);
  void on_launch_failed(const LaunchFailed& failed, GangOutbox& out);
  void on_ranks_started(Token token, GangOutbox& out);
  void on_rank_failed(Instant now, RankFailedEarly failed, GangOutbox& out);
  void on_ranks_ended(AllRanksEnded ended, GangOutbox& out);

  // What time does.

  /// Lapsed holds, ranks that do not die, repeats of Finish.
  void tick(Instant now, GangOutbox& out);
  /// Whatever its last write waited for: Ready, Launch, Finish.
  void advance(Instant now, Renewals& renewals, GangOutbox& out);
  Instant next_deadline() const;
  void check_invariants(const Fence& fence) const;

 private:
  bool hinders(const Grant& older, JobId job, const scheduler::Member& member) const;
  enum class Way { kFree, kBlocked, kStuck };

  void tick_one(Instant now, Grant& grant, GangOutbox& out);
  void advance_one(Instant now, Grant& grant, Renewals& renewals, GangOutbox& out);
  void advance_ready(Instant now, Grant& grant, Renewals& renewals, GangOutbox& out);
  Way way_for(const Grant& grant) const;
  void forget(Token token, GangOutbox& out);

  GrantSteps steps_;
  std::map<Token, Grant> grants_;
};

}  // namespace muster::agent
