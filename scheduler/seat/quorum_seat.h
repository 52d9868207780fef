#pragma once
// QuorumSeat: this host's place in the quorum: the first quorum, Raft and the scheduler, wired
// together. Owned by Node. On a host without a seat it knows the voters and the leader, and nothing
// else. A learner has a seat, and so has a voter that was replaced. A machine.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "crdt/disk/write_batch.h"
#include "crdt/rows/host_state.h"
#include "gossip/base/rng.h"
#include "gossip/wire/message.h"
#include "scheduler/leader/scheduler.h"
#include "scheduler/raft/first_quorum.h"
#include "scheduler/raft/raft.h"
#include "scheduler/seat/electorate_keeper.h"
#include "scheduler/seat/known_quorum.h"
#include "scheduler/seat/quorum_contact.h"
#include "scheduler/seat/quorum_recovery.h"
#include "scheduler/seat/seat_interface.h"
#include "scheduler/seat/seat_log.h"
#include "scheduler/seat/seat_reads.h"
#include "scheduler/seat/seat_writes.h"
#include "scheduler/seat/voter_pace.h"

namespace muster::scheduler {

struct SeatOptions {
  HostId self;
  std::uint64_t founders = 0;  ///< This host included: 1, 3 or 5; 0 if it is not a founder.
  /// The log is compacted at the multiples of this, and when it is large (kLogBytesMax). Lower:
  /// more snapshots to write; higher: a longer log to read at a start. The same at all voters: see
  /// state_hasher.h.
  std::uint64_t compact_entries = 20'000;
  std::int64_t unix_ms = 0;  ///< The wall clock at the start; 0 if it is not known.
  std::shared_ptr<const gossip::Verifier> verifier{};  ///< SchedulerConfig::verifier.
};

class QuorumSeat {
 public:
  /// Precondition: check_seat(raft_records, options.self) (seat_records.h).
  QuorumSeat(const SeatOptions& options, const crdt::Records& raft_records, Rng rng, Instant now);

  using Input = SeatInput;
  using Output = SeatOutput;

  void step(Instant now, Input fact);
  void tick(Instant now);
  Instant next_deadline() const;
  std::string deadlines_text(Instant now) const;
  Output take_output();
  void check_invariants() const;

  /// False if this host has no seat and the message is no invitation to take one: drop it.
  bool hears(const SeatMessage& message) const;
  /// True if this leader wants to look at the live hosts: it is then told HostsSeen.
  bool wants_hosts(Instant now) const;
  /// This host leads, and is about to hand over.
  bool is_handing_over() const { return leads() && raft_->is_handing_over(); }

  // By hand, when a majority of the voters is lost for good (quorum_recovery.h).
  /// nullopt if this host has no log.
  std::optional<RecoveryPlan> recovery_plan() const;
  /// The number of voters heard of late, this host included if it votes and is no copy. Without a
  /// leader each voter tries to be elected every second or so. The watch would not do: it judges
  /// nobody while most hosts are gone.
  std::size_t heard_voters(Instant now) const;
  /// The log as it is here, its uncommitted end included, as that of a quorum of this host alone
  /// under `next`, which is above its epoch: the input of Recover. kConflict: the log does not end
  /// at `expected`. kCorrupt: it holds an entry that this version cannot apply. The recovery is
  /// over when SeatFate::recovered says so: before that `next` may not be told, nor written to id/.
  /// Precondition: has_seat().
  Result<RecoveredLog> continued_log(LogPosition expected, const ClusterEpoch& next) const;

  /// The epoch that this host obeys; that of its log if it has one.
  const ClusterEpoch& epoch() const { return known_.epoch(); }
  /// It has the log or is getting it: a voter, or a learner.
  bool has_seat() const { return raft_.has_value(); }
  bool is_voter() const { return raft_.has_value() && raft_->is_voter(); }
  /// Its raft/ was copied: the voter is silent until an operator says that it was moved.
  bool is_copy() const { return raft_.has_value() && raft_->is_copy(); }
  /// False while a restarted voter has not applied all that was acknowledged before: do not answer.
  bool knows_state() const { return leads() || (log_.is_caught_up() && trusts_own_seat()); }
  /// False for a host without a seat, and for one that later news leaves out (it was replaced).
  bool trusts_own_seat() const { return known_.trusts(raft()); }
  bool leads() const { return raft_.has_value() && raft_->leads_with_own_term_applied(); }
  /// The last index of the log here; 0 without a seat.
  LogIndex log_end() const { return raft_.has_value() ? raft_->last_index() : LogIndex(); }
  /// Null without a seat: a learner has one, and so has a voter that was replaced.
  const Raft* raft() const { return raft_.has_value() ? &*raft_ : nullptr; }
  const State& state() const { return scheduler_.state(); }
  Capacity& capacity() const { return scheduler_.capacity(); }
  const PendingIndex& pending() const { return scheduler_.pending(); }
  /// Hosts on which this leader places nothing now, and why. Empty on other hosts.
  std::map<HostId, std::string> left_out() const {
    return leads() ? scheduler_.left_out() : std::map<HostId, std::string>();
  }
  /// The voters and the leader, from the own seat or from the newest row about the quorum.
  crdt::QuorumView known_quorum() const { return known_.view(raft()); }
  /// Parts of known_quorum(), cheap enough for every step.
  HostId known_leader() const { return known_.leader(raft()); }
  Term known_term() const { return known_.term(raft()); }
  /// The leader that surely serves: the log shows its own-term entry, or its row names it. Zero if
  /// no such leader is known.
  HostId ready_leader() const;
  /// Set once after each change of this voter's view that others should hear.
  std::optional<crdt::QuorumView> take_quorum_news();
  /// The age of the answers of this voter: since it last heard a leader and had applied all that
  /// this leader had committed, or, while it led, since it heard a majority. 0 on the leader.
  Duration age(Instant now) const;
  /// Since this host last heard a leader, or, while it led, a majority. 0 on the leader.
  Duration leaderless(Instant now) const;

 private:
  // Each is true if the machines of the seat have something to say to each other now.
  bool on_received(Instant now, input::MessageReceived& fact);
  bool on_persisted(Instant now, std::uint64_t id);
  bool on_agent_message(Instant now, input::AgentMessageReceived& fact);
  bool on_submit(Instant now, input::ClientSubmit& fact);
  bool on_order(Instant now, input::ClientOrder& fact);
  bool on_roll_met(Instant now, input::RollMet& fact);
  bool on_epoch_met(Instant now, const ClusterEpoch& epoch);
  bool on_recover(Instant now, RecoveredLog log);

  void pump(Instant now);
  // Each takes the output of one machine, and is true if another machine was told something.
  bool drain_first_quorum(Instant now);
  bool drain_raft(Instant now);
  bool drain_scheduler(Instant now);
  bool drain_keeper(Instant now);
  void tell_leadership(Instant now);

  void hear_raft(Instant now, HostId from, RaftMessage message);
  void install(Instant now, const Snapshot& snapshot);
  void end_read(Instant now, std::uint64_t number, bool is_confirmed);

  SeatId new_seat() { return SeatId(rng_.next() | 1U); }
  void take_seat(Instant now, RecoveredLog log);
  void take_new_seat(Instant now);
  void leave_seat(Instant now);
  void give_seat_up(Instant now, const std::string& why);
  void persist(SeatWrites::Owner owner, crdt::WriteBatch writes);

  SeatOptions options_;
  Rng rng_;
  FirstQuorum first_quorum_;
  std::optional<Raft> raft_;
  Scheduler scheduler_;
  ElectorateKeeper keeper_;
  VoterPace pace_;
  KnownQuorum known_;
  QuorumContact contact_;
  SeatLog log_;
  SeatReads reads_;
  SeatWrites writes_;
  input::LeadershipChanged told_;  ///< The last such input to the scheduler.
  bool gives_seat_up_ = false;     ///< It takes no seat before the agent starts again.
  SeatOutput output_;
};

}  // namespace muster::scheduler
