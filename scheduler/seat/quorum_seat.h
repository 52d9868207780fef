#pragma once
// This host's place in the quorum: the first quorum, Raft and the scheduler, wired together. On a
// host without a seat it knows who votes and who leads, and nothing else. A learner, or a voter
// that was replaced, has one. A machine, and a part of Node.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "crdt/disk/write_batch.h"
#include "crdt/rows/host_state.h"
#include "gossip/base/event.h"
#include "gossip/base/rng.h"
#include "gossip/wire/message.h"
#include "scheduler/leader/scheduler.h"
#include "scheduler/protocol/quorum_action.h"
#include "scheduler/raft/first_quorum.h"
#include "scheduler/raft/raft.h"
#include "scheduler/seat/electorate_keeper.h"
#include "scheduler/seat/seat_inputs.h"
#include "scheduler/seat/seat_messages.h"
#include "scheduler/seat/state_hasher.h"
#include "scheduler/seat/voter_pace.h"

namespace muster::scheduler {

struct SeatOptions {
  HostId self;
  int bootstrap_expect = 0;
  std::vector<gossip::Endpoint> seeds;
  gossip::Endpoint control;
  /// The log is compacted at the multiples of this, and when it is large (kLogBytesMax). Lower:
  /// more snapshots to write; higher: a longer log to read at a start. The same at all voters: see
  /// state_hasher.h.
  std::uint64_t compact_entries = 20'000;
};

struct SeatSend {
  HostId to;
  gossip::MessageType type{};
  Nonce nonce;
  std::string body;
};
struct SeatPersist {
  std::uint64_t id = 0;
  crdt::WriteBatch writes;
};
/// How a quorum would go on from this host's log alone.
struct RecoveryPlan {
  ClusterEpoch epoch;  ///< Of the log.
  LogPosition
      last;         ///< Its end: the host with the highest term, then index, knows most.
  LogIndex commit;  ///< Known to be committed up to here.
  bool operator==(const RecoveryPlan&) const = default;
};
/// The answer to ClientSubmit, ClientOrder or ChangeQuorum, by its request number.
struct SeatReply {
  std::uint64_t request = 0;
  std::optional<JobId> job;
  bool done = false;                     ///< It was about no job, and is done.
  ErrorCode code = ErrorCode::kInvalid;  ///< Counts when there is no job and nothing done.
  std::string text;
};
struct SeatOutput {
  std::vector<SeatSend> messages;
  std::vector<SeatPersist> persists;
  std::vector<Event> events;
  std::vector<SeatReply> replies;
  std::optional<ClusterId> formed;
  std::vector<std::pair<Nonce, AgentMessage>> to_own_agent;
  /// Reads that may be answered now, and those that may not.
  std::vector<std::uint64_t> granted_reads;
  std::vector<std::uint64_t> refused_reads;
  /// Not empty: this process must end, the log holds what it cannot apply.
  std::string halted;
  /// What Recover wrote is durable: this epoch is to be obeyed and told from now on.
  std::optional<ClusterEpoch> recovered;
  /// Nobody may sit in this seat any more, and raft/ says so durably: this agent must start again,
  /// which sets raft/ aside and gives the host another seat.
  bool starts_anew = false;
};

class QuorumSeat {
 public:
  /// kCorrupt: `raft_records` cannot be trusted, or their seat was given up, and this host needs
  /// another one. kConflict: they are of a quorum of other hosts, and the agent must not start.
  static Status check(const crdt::Records& raft_records, HostId self);
  /// Nobody voted or wrote a log there: it is that of a host which never voted, or a new seat.
  static bool is_bare(const crdt::Records& raft_records);

  /// Precondition: check(raft_records).
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

  // quorum_recovery.cc: by hand, when a majority of the voters is lost for good.
  /// Nothing without a log of its own.
  std::optional<RecoveryPlan> recovery_plan() const;
  /// This host, if it votes, and the voters that it heard of late: without a leader each tries to
  /// be elected every second or so. Not by the watch, which judges nobody while most are gone.
  std::size_t heard_voters(Instant now) const;
  /// The log as it is here, its uncommitted end included, as that of a quorum of this host alone
  /// under `next`, which is above its epoch: what Recover carries out. kConflict: the log does not
  /// end at `expected`; kCorrupt: it holds what this version cannot apply. The recovery is over
  /// when SeatOutput::recovered says so: before that nobody may hear of `next`, this host's id/
  /// neither. Precondition: has_seat().
  Result<RecoveredLog> continued_log(LogPosition expected, const ClusterEpoch& next) const;

  /// Obeyed on this host; that of its log, where it has one.
  const ClusterEpoch& epoch() const { return epoch_; }
  /// It has the log or is getting it: a voter, or a learner.
  bool has_seat() const { return raft_.has_value(); }
  bool is_voter() const { return raft_.has_value() && raft_->is_voter(); }
  /// A voter that restarted answers nothing before it knows what was acknowledged before.
  bool knows_state() const { return leads() || (caught_up_ && trusts_own_seat()); }
  /// False for a host without a seat, and for one that later news leaves out (it was replaced).
  bool trusts_own_seat() const;
  bool leads() const { return raft_.has_value() && raft_->leads_with_own_term_applied(); }
  /// Null without a seat: a learner has one, and so has a voter that was replaced.
  const Raft* raft() const { return raft_.has_value() ? &*raft_ : nullptr; }
  const State& state() const { return scheduler_.state(); }
  /// Where this leader places nothing now, and why; empty on others.
  std::map<HostId, std::string> left_out() const {
    return leads() ? scheduler_.left_out() : std::map<HostId, std::string>();
  }
  /// Who votes and leads, as far as this host knows: its own seat, or the newest row about it.
  crdt::QuorumView known_quorum() const;
  /// Parts of known_quorum(), asked for after every step.
  HostId known_leader() const;
  Term known_term() const;
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
  /// Which machine a persist of the seat belongs to.
  struct Owner {
    enum class Machine : std::uint8_t { kSeat, kFirstQuorum, kRaft, kRecovery, kGivenUp };
    Machine machine = Machine::kSeat;
    std::uint64_t id = 0;
  };

  // Each is true when the machines of the seat have something to say to each other now.
  bool on_received(Instant now, input::MessageReceived& fact);
  bool on_persisted(Instant now, std::uint64_t id);
  bool on_agent_message(Instant now, input::AgentMessageReceived& fact);
  bool on_quorum_heard(const crdt::QuorumView& view);
  // quorum_seat_clients.cc
  bool on_submit(Instant now, input::ClientSubmit& fact);
  bool on_order(Instant now, input::ClientOrder& fact);
  // quorum_recovery.cc
  bool on_epoch_met(Instant now, const ClusterEpoch& epoch);
  bool on_recover(Instant now, RecoveredLog log);

  void hear_raft(Instant now, HostId from, RaftMessage message);
  void leave_seat(Instant now);
  void take_new_seat(Instant now);
  void give_seat_up(Instant now, const std::string& why);
  void take_seat(Instant now, RecoveredLog log);
  void pump(Instant now);
  bool drain_first_quorum(Instant now);
  bool drain_raft(Instant now);
  bool drain_scheduler(Instant now);
  bool is_heard_of() const;
  bool drain_keeper(Instant now);
  void answer_wishes(std::vector<ElectorateKeeper::Done> done);
  /// Why the log does not take an order of this kind now, for people; "" when it does.
  std::string why_not_taken(Instant now, EntryKind kind) const;
  // quorum_seat_log.cc
  void apply(Instant now, CommittedEntry& entry);
  void look_back(Instant now, LogIndex applied);
  void compact(Instant now, LogIndex applied, std::string state);

  void tell_leadership(Instant now);
  void tell_quiet_voters(Instant now);
  void watch_for_loss(Instant now);
  void grant(Instant now, std::uint64_t context, bool granted);
  void persist(Owner owner, crdt::WriteBatch writes);

  SeatOptions options_;
  Rng rng_;
  ClusterEpoch epoch_;  ///< Obeyed here; of the log, where there is one.
  FirstQuorum first_quorum_;
  std::optional<Raft> raft_;
  Scheduler scheduler_;
  ElectorateKeeper keeper_;
  crdt::QuorumView heard_;  ///< From rows of voters.
  crdt::QuorumView told_;   ///< What take_quorum_news() said last.
  bool told_leads_ = false;
  VoterPace pace_;
  bool caught_up_ = false;
  bool gives_seat_up_ = false;  ///< It has none, and takes none before the agent starts again.
  LogIndex told_commit_;        ///< The highest that a leader told of.
  Term applied_term_;           ///< Of the last entry applied since this machine began.
  StateHasher hasher_;
  bool told_ready_ = false;
  Instant heard_leader_at_{};
  Instant current_at_{};  ///< Everything that a leader told of was applied here.
  Instant leaderless_since_ = kNever;  ///< As far as this voter saw without a pause.
  bool told_lost_ = false;
  std::map<HostId, Instant> voters_heard_;  ///< Those that spoke from the seat that votes.
  /// Reads under way in Raft: the scheduler's rounds and clients' reads share one numbering.
  struct ReadOwner {
    bool is_client = false;
    std::uint64_t id = 0;
  };
  std::map<std::uint64_t, ReadOwner> reads_;
  std::uint64_t last_read_ = 0;
  std::map<std::uint64_t, Owner> persists_;
  std::uint64_t last_persist_ = 0;
  SeatOutput output_;
};

}  // namespace muster::scheduler
