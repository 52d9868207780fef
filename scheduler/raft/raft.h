#pragma once
// Raft: one voter of the quorum, without sockets, clock or disk. Owned by QuorumSeat, which feeds
// it messages, finished writes, proposals and reads; it answers with messages, write batches,
// committed entries and confirmed reads. It holds back a message that depends on an unfinished
// write until Persisted.
//
// Features: pre-vote and leader stickiness (thesis 9.6, 4.2.3), check-quorum (6.2), own-term entry
// at election (8), ReadIndex (thesis 6.4), pipelined appends, snapshots in parts (7), one-at-a-time
// membership change with learners (thesis 4), leadership transfer (thesis 3.10), which a leader
// whose disk hangs begins by itself.
//
// A voter that starts from a disk compares it with what the others heard of it before it answers,
// votes or campaigns (comparison.h); one whose disk went back gives its seat up and is silent.
//
// A host that is no voter in its own seat never campaigns. It follows any leader, stores entries
// and gives its vote when asked: the candidate, whose configuration may be newer, decides whether
// the vote counts (thesis 4.1).
//
// Invariants: start <= snapshot <= commit <= last; every committed entry was handed out exactly
// once and in order since this machine started; the term never falls; one vote a term.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "crdt/disk/write_batch.h"
#include "gossip/base/event.h"
#include "gossip/base/lag.h"
#include "gossip/base/rng.h"
#include "scheduler/raft/comparison.h"
#include "scheduler/raft/election.h"
#include "scheduler/raft/log.h"
#include "scheduler/raft/read_index.h"
#include "scheduler/raft/replication.h"
#include "scheduler/raft/types.h"

namespace muster::scheduler {

enum class Role : std::uint8_t { kFollower, kPreCandidate, kCandidate, kLeader };

/// "follower", "pre-candidate", "candidate", "leader".
std::string_view text_of(Role role);

/// A committed entry, to be applied now. Raft's own entries (noops, configurations) are handed out
/// too: they carry the index.
struct CommittedEntry {
  LogIndex index;
  Term term;
  LogEntryKind kind = LogEntryKind::kNoop;
  std::string command;
};

/// The heartbeat timer of a leader.
struct RaftHeartbeat {
  Instant due = kNever;
  Lag lag;  ///< How late they went out.
};

class Raft {
 public:
  struct PeerMessage {
    HostId from;
    RaftMessage message;
  };
  /// The batch `id`, and all before it, are durable. Batches must be written in the order of ids.
  struct Persisted {
    std::uint64_t id = 0;
  };
  /// Dropped with an event unless this host leads. Success shows as a committed entry only.
  struct Propose {
    std::string command;
  };
  /// Answered by exactly one confirmation or refusal with the same context, possibly much later.
  struct Read {
    std::uint64_t context = 0;
  };
  /// The transport lost its connection to that host (refused, reset, or closed by its kernel).
  struct LeaderLinkReset {
    HostId host;
  };
  /// `state` is the application's state with all up to `index` applied. Ignored unless index is
  /// above the last snapshot and has been handed out.
  struct Compact {
    LogIndex index;
    std::string state;
  };
  /// Refused with an event unless why_not(now, next) is "". Counts as soon as it is in the log.
  struct Reconfigure {
    Configuration next;
  };
  /// Hand the leadership to `to`; zero: to the best successor (thesis 3.10). Proposals are dropped
  /// until it succeeded or RaftConfig::transfer_patience passed; then an event says so.
  struct Transfer {
    HostId to;
  };
  /// Ask a host that is no member for its seat: see Output::invited. It takes one if it has none.
  struct Invite {
    HostId host;
  };
  /// The hash of the application's state at an index that was handed out. The indexes rise.
  struct Hashed {
    StateHash state;
  };
  using Input = std::variant<PeerMessage, Persisted, Propose, Read, LeaderLinkReset, Compact,
                             Reconfigure, Transfer, Invite, Hashed>;

  struct Persist {
    std::uint64_t id = 0;     ///< Rising by one.
    crdt::WriteBatch writes;  ///< For Environment::kRaft, one transaction.
  };
  /// Order of use: install, committed, then the rest in any order.
  struct Output {
    std::vector<RaftSend> messages;
    std::vector<Persist> persists;
    std::optional<Snapshot> install;  ///< Replaces the application's state, before `committed`.
    std::vector<CommittedEntry> committed;
    std::vector<ConfirmedRead> reads;
    std::vector<std::uint64_t> refused_reads;
    std::vector<Seat> invited;  ///< Hosts that answered this leader and are no members.
    /// Why this seat is given up, for people: its state differs from that of a majority, or its
    /// disk holds less than the seat was heard to say. The machine is silent from then on: raft/ is
    /// to be set aside, and the host comes back from another seat.
    std::optional<std::string> gives_seat_up;
    std::vector<Event> events;
  };

  /// Precondition: config.validate() holds. The first output installs the recovered snapshot if
  /// there is one.
  Raft(const RaftConfig& config, HostId self, Rng rng, RecoveredLog recovered, Instant now);

  void step(Instant now, Input input);
  void tick(Instant now);
  Instant next_deadline() const;
  Output take_output();
  void check_invariants() const;

  Role role() const { return role_; }
  Term term() const { return hard_state_.term; }
  /// Zero if the leader is unknown.
  HostId leader() const { return leader_; }
  /// The voters of the newest configuration in the log, committed or not.
  const std::vector<HostId>& voters() const { return voters_; }
  const Configuration& configuration() const { return log_.configuration(); }
  SeatId seat() const { return seat_; }
  /// This host votes, in the seat that it sits in.
  bool is_voter() const { return log_.configuration().has_voter({self_, seat_}); }
  /// "" if this leader may propose `next` now, else the reason, for people.
  std::string why_not(Instant now, const Configuration& next) const;
  bool configuration_is_open() const { return log_.configuration_index() > commit_; }
  bool is_handing_over() const { return transfer_.has_value(); }
  /// False if this machine would drop a Propose now.
  bool takes_proposals() const;
  /// The lowest RaftConfig::level of all members: a leader may write entries up to it without
  /// stopping a member. 0 if a member has not said its level, or if this host does not lead.
  std::uint64_t common_level() const;
  LogIndex commit() const { return commit_; }
  LogIndex last_index() const { return log_.last().index; }
  LogIndex durable_index() const { return log_.durable(); }
  const RaftLog& log() const { return log_; }
  LogIndex snapshot_index() const { return log_.snapshot().at.index; }
  /// This host leads and its own-term entry was committed and handed out: its applied state is no
  /// older than that of any earlier leader (8).
  bool leads_with_own_term_applied() const;
  /// The own-term entry of the present leadership; 0 when not leading.
  LogIndex own_term_index() const { return own_term_index_; }
  /// When this host last heard a majority in its latest ended leadership.
  Instant last_majority_at() const { return last_majority_at_; }
  /// For people; empty when not leading.
  std::vector<MemberLag> lag(Instant now) const;
  /// The machine met an entry of an unknown kind, or a leader that contradicts a committed entry.
  /// It is silent from then on; an event said why.
  bool halted() const { return halted_; }
  bool is_comparing() const { return comparison_.has_value(); }
  /// Silent until an operator says that its directory was moved (RecoveredLog::is_copy).
  bool is_copy() const { return comparison_.has_value() && comparison_->is_of_copy(); }
  /// Appends the erasure of the log, the hard state, the founders, and the records of the first
  /// quorum. The records of the seat and its epoch stay.
  void erase_all(crdt::WriteBatch& batch) const;

 private:
  struct Held {
    std::uint64_t batch = 0;
    RaftSend send;
  };
  /// A transfer of the leadership that is under way.
  struct HandOver {
    HostId to;
    Instant until;
    bool told = false;
  };
  /// A leader's snapshot of which parts arrived.
  struct Incoming {
    LogPosition at;
    Configuration configuration;
    std::uint64_t total = 0;
    std::string bytes;
  };
  struct Unfinished {
    std::uint64_t batch = 0;
    Instant since;
  };

  // raft.cc: inputs, durability, commit.
  void tick_leader(Instant now);
  /// False if there is no such heir. Zero: the best successor.
  bool begin_hand_over(Instant now, HostId heir);
  void handle(Instant now, PeerMessage input);
  void handle(Instant now, Persisted input);
  void handle(Instant now, Propose input);
  void handle(Instant now, Read input);
  void handle(Instant now, LeaderLinkReset input);
  void handle(Instant now, Compact input);
  void handle(Instant now, Reconfigure input);
  void handle(Instant now, Transfer input);
  void handle(Instant now, Invite input);
  void handle(Instant now, Hashed input);
  crdt::WriteBatch& open_batch();
  void persist_hard_state();
  void note_log_changed();
  void note_unfinished(Instant now);
  bool disk_hangs(Instant now) const;
  void send(HostId to, RaftMessage message);
  void send_after(std::uint64_t batch, HostId to, RaftMessage message);
  void hand_out(LogIndex up_to);
  void fall_silent();
  void halt(std::string reason);
  void emit(Severity severity, std::string_view name,
            std::vector<std::pair<std::string_view, std::string>> fields = {});
  /// A voter that an uncommitted configuration removes may be the only one with the longest log: it
  /// still campaigns, though it does not count itself (thesis 4.2.2).
  bool may_campaign() const;
  VoteOutcome own_vote();
  /// Replies count only from a member.
  bool is_member(HostId host) const;
  void note_configuration(Instant now);

  // raft_states.cc: the hashes of the members' states.
  void compare_states();
  void diverge(const StateHash& agreed);
  bool is_told_to_be_other(const StateHash& agreed) const;
  // raft_comparison.cc: a start.
  void begin_comparison(Instant now, Rng rng, bool is_of_copy);
  std::vector<HostId> who_else_may_vote() const;
  void tick_comparison(Instant now);
  void compare(Instant now, const PeerMessage& input);
  void end_comparison(Instant now);
  std::string why_went_back(HostId teller, const Mark& mark) const;
  void answer_question(Instant now, HostId from, const AppendRequest& question);
  void note_mark(HostId from, const RaftMessage& message);
  bool lacks_committed(LogPosition last) const;

  // raft_election.cc: terms, votes, roles.
  void become_follower(Instant now, Term term, HostId leader, std::string_view reason);
  void start_pre_vote(Instant now);
  void tell_pre_vote(Instant now);
  void start_campaign(Instant now, bool transfer);
  void become_leader(Instant now);
  void request_votes(Term term, bool pre_vote, bool transfer);
  void on_outcome(Instant now, VoteOutcome outcome);
  void on_message(Instant now, HostId from, VoteRequest request);
  void on_message(Instant now, HostId from, VoteReply reply);
  void on_message(Instant now, HostId from, TimeoutNow request);
  void answer_pre_vote(Instant now, HostId from, const VoteRequest& request);

  // raft_replication.cc: the log, both sides; reads.
  void on_message(Instant now, HostId from, AppendRequest request);
  void on_message(Instant now, HostId from, AppendReply reply);
  void on_message(Instant now, HostId from, SnapshotChunk request);
  void on_message(Instant now, HostId from, SnapshotAck reply);
  bool collect(SnapshotChunk& request);
  bool contradicts_leader(HostId from, Term term);
  bool follow(Instant now, HostId from, Term term);
  bool store(Instant now, AppendRequest& request);
  void acknowledge(HostId from, const AppendRequest& request, LogIndex last_new);
  template <class Reply>
  void on_leader_reply(Instant now, HostId from, const Reply& reply);
  Replication::View view(Instant now) const;
  void begin_round(Instant now);
  void lead(Instant now);
  void commit_by_counting(Instant now);
  void hand_over(Instant now);
  void leave_if_removed(Instant now);

  RaftConfig config_;
  HostId self_;
  SeatId seat_;
  HardState hard_state_;
  RaftLog log_;
  std::vector<HostId> voters_;  ///< Of log_.configuration().
  LogIndex noted_configuration_;
  Election election_;
  Role role_ = Role::kFollower;
  HostId leader_;
  LogIndex commit_;  ///< Everything up to here has been handed out.
  bool halted_ = false;
  Term second_leader_told_;  ///< The last term that an alarm about two leaders named.

  std::optional<Comparison> comparison_;
  LogPosition committed_elsewhere_;  ///< As heard at the start.
  Marks marks_;
  std::optional<Replication> replication_;  ///< Exactly while leading.
  std::optional<HandOver> transfer_;
  std::optional<Incoming> incoming_;
  StateHashes hashes_;         ///< Of the own state.
  bool has_new_hash_ = false;  ///< Not compared yet.
  LogIndex split_told_;
  ReadIndex read_index_;
  LogIndex own_term_index_;
  Instant last_majority_at_{};
  RaftHeartbeat heartbeat_;
  Instant stepped_at_{};
  std::size_t uncommitted_bytes_ = 0;  ///< Of own proposals; bounds the tail without a majority.

  std::uint64_t pre_votes_ = 0;  ///< Begun since a leader was last known.
  Instant pre_vote_told_at_;
  std::uint64_t vote_request_ = 0;     ///< Of the running (pre-)vote.
  std::uint64_t last_batch_ = 0;       ///< Issued.
  std::uint64_t durable_batch_ = 0;    ///< Finished.
  std::uint64_t hard_batch_ = 0;       ///< The batch that holds the present hard state.
  std::deque<Held> held_;              ///< By rising batch.
  std::deque<Unfinished> unfinished_;  ///< Batches issued and not durable, oldest first.
  Output output_;
};

}  // namespace muster::scheduler
