#pragma once
// This host's place in the quorum: the first quorum, Raft and the scheduler, wired together. On a
// host without a seat it knows who votes and who leads, and nothing else. A learner, or a voter
// that was replaced, has one. A machine, and a part of Node.

#include <cstdint>
#include <map>
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
#include "scheduler/seat/seat_log.h"
#include "scheduler/seat/seat_reads.h"
#include "scheduler/seat/seat_words.h"
#include "scheduler/seat/seat_writes.h"
#include "scheduler/seat/voter_pace.h"

namespace muster::scheduler {

struct SeatOptions {
  HostId self;
  std::uint64_t founders = 0;  ///< This host among them: 1, 3 or 5; 0 = it is none.
  /// The log is compacted at the multiples of this, and when it is large (kLogBytesMax). Lower:
  /// more snapshots to write; higher: a longer log to read at a start. The same at all voters: see
  /// state_hasher.h.
  std::uint64_t compact_entries = 20'000;
  std::int64_t unix_ms = 0;  ///< What the wall clock shows at the start; 0 = not said.
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

  /// False: nobody sits here, and the message asks nobody to. It is to be dropped.
  bool hears(const SeatMessage& message) const;
  /// True when this leader wants to look at the live hosts: it is then told HostsSeen.
  bool wants_hosts(Instant now) const;
  /// This host leads, and is about to hand over.
  bool is_handing_over() const { return leads() && raft_->is_handing_over(); }

  // By hand, when a majority of the voters is lost for good (quorum_recovery.h).
  /// Nothing without a log of its own.
  std::optional<RecoveryPlan> recovery_plan() const;
  /// This host, if it votes and is no copy, and the voters that it heard of late: without a leader
  /// each tries to be elected every second or so. Not by the watch, which judges nobody while most
  /// are gone.
  std::size_t heard_voters(Instant now) const;
  /// The log as it is here, its uncommitted end included, as that of a quorum of this host alone
  /// under `next`, which is above its epoch: what Recover carries out. kConflict: the log does not
  /// end at `expected`; kCorrupt: it holds what this version cannot apply. The recovery is over
  /// when SeatFate::recovered says so: before that nobody may hear of `next`, this host's id/
  /// neither. Precondition: has_seat().
  Result<RecoveredLog> continued_log(LogPosition expected, const ClusterEpoch& next) const;

  /// Obeyed on this host; that of its log, where it has one.
  const ClusterEpoch& epoch() const { return known_.epoch(); }
  /// It has the log or is getting it: a voter, or a learner.
  bool has_seat() const { return raft_.has_value(); }
  bool is_voter() const { return raft_.has_value() && raft_->is_voter(); }
  /// Its raft/ was copied: it says nothing as a voter until an operator says that it was moved.
  bool is_copy() const { return raft_.has_value() && raft_->is_copy(); }
  /// A voter that restarted answers nothing before it knows what was acknowledged before.
  bool knows_state() const { return leads() || (log_.is_caught_up() && trusts_own_seat()); }
  /// False for a host without a seat, and for one that later news leaves out (it was replaced).
  bool trusts_own_seat() const { return known_.trusts(raft()); }
  bool leads() const { return raft_.has_value() && raft_->leads_with_own_term_applied(); }
  /// Null without a seat: a learner has one, and so has a voter that was replaced.
  /// Of the log here; 0 = there is none.
  LogIndex log_end() const { return raft_.has_value() ? raft_->last_index() : LogIndex(); }
  const Raft* raft() const { return raft_.has_value() ? &*raft_ : nullptr; }
  const State& state() const { return scheduler_.state(); }
  Capacity& capacity() const { return scheduler_.capacity(); }
  const Queue& queue() const { return scheduler_.queue(); }
  /// Where this leader places nothing now, and why; empty on others.
  std::map<HostId, std::string> left_out() const {
    return leads() ? scheduler_.left_out() : std::map<HostId, std::string>();
  }
  /// Who votes and leads, as far as this host knows: its own seat, or the newest row about it.
  crdt::QuorumView known_quorum() const { return known_.view(raft()); }
  /// Parts of known_quorum(), asked for after every step.
  HostId known_leader() const { return known_.leader(raft()); }
  Term known_term() const { return known_.term(raft()); }
  /// The leader that surely serves: the log shows its own-term entry, or its row names it. Zero =
  /// none known.
  HostId ready_leader() const;
  /// Set once after each change of this voter's view that others should hear.
  std::optional<crdt::QuorumView> take_quorum_news();
  /// Age of what a voter says that does not lead: since it last heard a leader and had applied all
  /// that this one had committed, or, while it led, since it heard a majority. 0 on the leader.
  Duration age(Instant now) const;
  /// Since this host last heard a leader, or, while it led, a majority. 0 on the leader.
  Duration leaderless(Instant now) const;

 private:
  // Each is true when the machines of the seat have something to say to each other now.
  bool on_received(Instant now, input::MessageReceived& fact);
  bool on_persisted(Instant now, std::uint64_t id);
  bool on_agent_message(Instant now, input::AgentMessageReceived& fact);
  bool on_submit(Instant now, input::ClientSubmit& fact);
  bool on_order(Instant now, input::ClientOrder& fact);
  bool on_roll_met(Instant now, input::RollMet& fact);
  bool on_epoch_met(Instant now, const ClusterEpoch& epoch);
  bool on_recover(Instant now, RecoveredLog log);

  void pump(Instant now);
  // Each takes what one machine put out, and is true when another was told something.
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
  input::LeadershipChanged told_;  ///< What the scheduler knows of this host's leadership.
  bool gives_seat_up_ = false;     ///< It takes no seat before the agent starts again.
  SeatOutput output_;
};

}  // namespace muster::scheduler
