#pragma once
// FirstQuorum: forms the first set of voters, so that a cluster is born exactly once (PROTOCOL.md,
// 10). The first voters are an exact set of `expect` founders, more than half of all founders,
// under a random cluster id. The set forms when every member has durably promised it.
//
// Why two sets can never form: any two sets share a member, because each is more than half of the
// same founders; a member holds one promise at a time; and a promise is freed only when another
// member of its set has durably refused, after which that set can never be complete.
//
// Every member that promised acts like the proposer: it asks the members again, forms the set when
// all promised, and frees itself when one refused. Therefore no step waits for a dead proposer. A
// member that dies before it answers blocks its set until it is back: nobody can speak for it.
//
// Its owner tells FoundersKnown whenever it learns of more founders; lets these messages pass
// between agents whose cluster ids differ or are missing; and builds a Raft from recover_log()
// after Formed. If a founder has a cluster already, there is no proposal: the node joins that one.

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <variant>
#include <vector>

#include "crdt/disk/write_batch.h"
#include "gossip/base/event.h"
#include "gossip/base/rng.h"
#include "gossip/base/time.h"
#include "scheduler/raft/first_quorum_messages.h"

namespace muster::scheduler {

/// Refusals are remembered for ever. Above this number the host does not answer proposals at all,
/// which is safe.
inline constexpr std::size_t kRefusalsMax = 256;

class FirstQuorum {
 public:
  struct Config {
    std::size_t expect = 0;         ///< 1, 3 or 5 first voters; 0: this agent only ever joins.
    std::size_t founder_count = 0;  ///< This host included; 2 * expect must exceed it.
    /// Unanswered questions are asked again after this long.
    Duration retry = std::chrono::milliseconds(1000);
    /// The set's lowest host id proposes at once, the next after this long, and so on.
    Duration takeover = std::chrono::milliseconds(3000);

    Status validate() const;
  };

  struct Founder {
    HostId host;
    bool has_cluster = false;
  };
  /// All founders heard of so far, this host included if it is one.
  struct FoundersKnown {
    std::vector<Founder> founders;
  };
  struct PeerMessage {
    HostId from;
    QuorumMessage message;
  };
  /// The batch `id`, and all before it, are durable.
  struct Persisted {
    std::uint64_t id = 0;
  };
  using Input = std::variant<FoundersKnown, PeerMessage, Persisted>;

  struct Send {
    HostId to;
    QuorumMessage message;
  };
  struct Persist {
    std::uint64_t id = 0;
    crdt::WriteBatch writes;  ///< For Environment::kRaft, one transaction.
  };
  struct Output {
    std::vector<Send> messages;
    std::vector<Persist> persists;
    /// Set once, when the formed set is durable here; not for one that was recovered.
    std::optional<QuorumProposal> formed;
    std::vector<Event> events;
  };

  /// Precondition: config.validate() holds. `rng` makes cluster ids: seed it from real randomness.
  FirstQuorum(const Config& config, HostId self, Rng rng, RecoveredQuorum recovered, Instant now);

  void step(Instant now, Input input);
  void tick(Instant now);
  Instant next_deadline() const { return deadline_; }
  Output take_output();
  void check_invariants() const;

  /// The cluster this host is a first voter of, durable or about to be.
  const std::optional<QuorumProposal>& formed() const { return formed_; }
  const std::optional<QuorumProposal>& promise() const { return promise_; }

 private:
  struct Held {
    std::uint64_t batch = 0;
    Send send;
  };

  void handle(Instant now, const FoundersKnown& input);
  void handle(Instant now, const PeerMessage& input);
  void handle(Instant now, const Persisted& input);
  void on_message(Instant now, HostId from, const QuorumPropose& message);
  void on_message(Instant now, HostId from, const QuorumPromise& message);
  void on_message(Instant now, HostId from, const QuorumForm& message);

  bool acceptable(const QuorumProposal& proposal) const;
  std::optional<std::vector<HostId>> best_set() const;
  void plan_proposal(Instant now);
  void propose(Instant now, std::vector<HostId> voters);
  void promise_to(Instant now, const QuorumProposal& proposal);
  void refuse(const ClusterId& cluster);
  bool refused(const ClusterId& cluster) const;
  void free_promise(Instant now, HostId refuser);
  void form(Instant now);
  void form_if_complete(Instant now);
  void ask_members(Instant now);
  void answer(HostId to, const ClusterId& cluster, PromiseAnswer answer);
  void persist(crdt::WriteBatch writes);

  Config config_;
  HostId self_;
  Rng rng_;
  std::optional<QuorumProposal> formed_;
  std::optional<QuorumProposal> promise_;
  std::vector<ClusterId> refused_;

  std::vector<HostId> founders_;  ///< Sorted; the known ones.
  bool cluster_exists_ = false;   ///< A founder has a cluster: join that one.
  std::set<HostId> agreed_;       ///< Members known to have promised, or, once formed, to know it.
  Instant deadline_ = kNever;     ///< Next proposal, or next question.

  std::uint64_t last_batch_ = 0;
  std::uint64_t durable_batch_ = 0;
  std::uint64_t formed_batch_ = 0;  ///< 0 = nothing to report.
  std::deque<Held> held_;
  Output output_;
};

}  // namespace muster::scheduler
