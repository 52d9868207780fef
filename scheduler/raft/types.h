#pragma once
// The nouns of Raft (Ongaro, "Consensus: Bridging Theory and Practice", 2014; section numbers in
// this folder are those of the paper "In Search of an Understandable Consensus Algorithm" unless
// "thesis" is said): entries, hard state, messages and timing.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "gossip/base/ids.h"
#include "gossip/base/result.h"
#include "gossip/base/time.h"
#include "scheduler/raft/configuration.h"
#include "scheduler/raft/state_hash.h"

namespace muster::scheduler {

/// The numbers are on disk and on the wire: never reused. An unknown number decodes, and halts the
/// machine when it commits: skipping the entry would let replicas diverge silently.
enum class LogEntryKind : std::uint8_t {
  kNoop = 0,           ///< A new leader's own-term entry (5.4.2, 8); no command.
  kCommand = 1,        ///< A command of the application.
  kConfiguration = 2,  ///< The members from here on; the command is an encoded Configuration.
};

/// The RaftConfig::level of the first release that knew kConfiguration: those before said none.
inline constexpr std::uint64_t kConfigurationLevel = 1;

struct LogEntry {
  Term term;
  LogEntryKind kind = LogEntryKind::kNoop;
  std::string command;
  bool operator==(const LogEntry&) const = default;
};

/// The state that must be durable before a message of this term may leave (5.1, 5.2).
struct HardState {
  Term term;
  HostId vote;  ///< Zero if no vote was given in this term.
  bool operator==(const HardState&) const = default;
};

/// A place in the log: the entry's index and term. {0, 0} = before the first entry.
struct LogPosition {
  LogIndex index;
  Term term;
  bool operator==(const LogPosition&) const = default;
};

/// The application's state with all up to and including `at` applied, and the members there.
struct Snapshot {
  LogPosition at;
  std::string state;
  Configuration configuration{};
  bool operator==(const Snapshot&) const = default;
};

/// Everything the raft/ environment held: the constructor's input.
struct RecoveredLog {
  HardState hard_state;
  SeatId seat{};         ///< Of this directory.
  ClusterEpoch epoch{};  ///< Of the quorum whose log it is.
  /// The log comes from a disk, which may have lost durable writes: see comparison.h.
  bool must_compare = false;
  /// The directory is a copy, of now or of long ago: its voter is silent until an operator says
  /// that it was moved, and gives its seat up where others lead without it.
  bool is_copy = false;
  Snapshot snapshot;  ///< at.index 0: no snapshot; its configuration counts all the same.
  LogPosition start;  ///< Just before entries.front(); <= snapshot.at.
  std::vector<LogEntry> entries;
};

// Messages. A reply echoes `request`, the sender's sequence number, so that late ones are told
// from awaited ones. `term` is the sender's term when it made the message.

struct VoteRequest {
  Term term;  ///< For a pre-vote: the term the sender would campaign in.
  bool pre_vote = false;
  LogPosition last;  ///< The sender's last entry (5.4.1).
  std::uint64_t request = 0;
  bool transfer = false;  ///< The leader asked for this election (thesis 3.10): no stickiness.
  bool operator==(const VoteRequest&) const = default;
};
struct VoteReply {
  Term term;  ///< A granted pre-vote echoes the asked term, else the voter's own.
  bool pre_vote = false;
  bool granted = false;
  std::uint64_t request = 0;
  SeatId seat{};  ///< The sender's, in this and all other replies.
  bool operator==(const VoteReply&) const = default;
};
/// With entries: replication. Without: a heartbeat, whose `previous` is an entry that the leader
/// knows the follower to hold, so it never fails in the sender's term. Of term 0: a question of a
/// voter that starts, and `round` is its seat; every version answers it with its term at least.
struct AppendRequest {
  Term term;
  std::uint64_t request = 0;
  std::uint64_t round = 0;  ///< The last heartbeat round begun (thesis 6.4); echoed.
  LogPosition previous;
  LogIndex commit;
  std::vector<LogEntry> entries;
  LogIndex durable{};  ///< Of the leader's own log; 0 if it does not say.
  /// The majority's hash, to a member that said another for that index: it gives its seat up.
  StateHash agreed{};
  /// In a heartbeat: the commit index, of which `commit` is the part that the receiver is known to
  /// have. 0 if it does not say.
  LogIndex committed{};
  bool operator==(const AppendRequest&) const = default;
};
/// The highest word that a host heard from a seat about its disk.
struct Mark {
  Term term;               ///< It spoke in this term, after that was durable. 0: it did not speak.
  LogPosition match{};     ///< It acknowledged this entry in that term.
  bool has_voted = false;  ///< It gave the teller its vote in that term.
  bool operator==(const Mark&) const = default;
};
/// The answer to a question: the facts that the asker must not have forgotten.
struct Answer {
  LogPosition commit;  ///< The last entry that the teller knows to be committed.
  bool leads = false;  ///< With its own-term entry committed.
  Mark mark{};         ///< Of the asker, in the seat that it asked for.
  /// The voters in the teller's log, ascending: the asker's disk may have forgotten a change.
  std::vector<HostId> voters{};
  /// Its learners, and the hosts that a starting teller asks besides, ascending: one may vote now.
  std::vector<HostId> learners{};
  bool operator==(const Answer&) const = default;
};
struct AppendReply {
  Term term;
  std::uint64_t request = 0;
  std::uint64_t round = 0;
  bool matched = false;  ///< `previous` was in the follower's log.
  LogIndex match;        ///< Matched: min(previous + entries, durable). All up to it is on disk.
  LogPosition hint;  ///< Not matched: where to try next (5.3, conflict term and its first index).
  SeatId seat{};
  std::uint64_t level = 0;  ///< The sender's RaftConfig::level; 0 if it said none.
  std::optional<Answer> answer{};
  StateHash state{};  ///< The newest of the sender.
  bool operator==(const AppendReply&) const = default;
};
/// A part of the leader's snapshot (7). The follower says what it wants next.
struct SnapshotChunk {
  Term term;
  std::uint64_t request = 0;
  LogPosition at;
  Configuration configuration{};
  std::uint64_t total = 0;   ///< Bytes of the whole state; <= kSnapshotBytesMax.
  std::uint64_t offset = 0;  ///< Of `bytes` in it.
  std::string bytes;         ///< At most kSnapshotChunkBytes.
  bool operator==(const SnapshotChunk&) const = default;
};
struct SnapshotAck {
  Term term;
  std::uint64_t request = 0;
  LogIndex at;             ///< Of the snapshot it speaks of.
  std::uint64_t next = 0;  ///< The offset wanted next, while parts are missing.
  LogIndex match;          ///< Durable and equal to the leader's log up to here.
  SeatId seat{};
  bool operator==(const SnapshotAck&) const = default;
};
/// The leader hands over: campaign now, without a pre-vote (thesis 3.10).
struct TimeoutNow {
  Term term;
  bool operator==(const TimeoutNow&) const = default;
};

using RaftMessage = std::variant<VoteRequest, VoteReply, AppendRequest, AppendReply, SnapshotChunk,
                                 SnapshotAck, TimeoutNow>;

/// A proposal above this is dropped with an event: an entry must fit into one message. The largest
/// is the Adopt of a gang with a host for each of its GPUs, under the longest uuids and with the
/// longest command: 800 KiB. An append above append_bytes_max carries one entry alone, so none is
/// larger than this and some hundred bytes; the transport takes 1 MiB.
inline constexpr std::size_t kEntryBytesMax = 832 << 10;
/// Proposals are dropped with an event while the uncommitted tail is larger than this: without a
/// majority a leader must not grow without bound.
inline constexpr std::size_t kUncommittedBytesMax = 16 << 20;
/// A state above this is not sent, nor taken: it must fit into memory twice.
inline constexpr std::size_t kSnapshotBytesMax = 256 << 20;
/// Of one part of it, so that a message stays below the transport's limit.
inline constexpr std::size_t kSnapshotChunkBytes = 512 << 10;
/// Reads waiting for a round; more are refused.
inline constexpr std::size_t kReadsMax = 65536;
/// No log has an index or a term above this: a disk that holds one is damaged.
inline constexpr std::uint64_t kNumberMax = std::uint64_t{1} << 62;
/// Messages with a higher number are dropped: the numbers of others must leave room to count on.
inline constexpr std::uint64_t kWireNumberMax = kNumberMax / 2;
/// A message whose term is this far above the own term is dropped: terms rise by one an election,
/// so no host is that far ahead, and a host that took it over would soon run out of terms.
inline constexpr std::uint64_t kTermLeapMax = std::uint64_t{1} << 32;

/// Pre-votes without success are told of this often after the first.
inline constexpr Duration kPreVoteToldEvery = std::chrono::seconds(30);

struct RaftConfig {
  /// Silence of a leader on an idle log. Lower: more traffic. Higher: fewer beats may be lost
  /// before the followers hold an election.
  Duration heartbeat = std::chrono::milliseconds(330);
  /// A follower that heard no leader for a random time in [min, max] starts a pre-vote; one that
  /// heard it within min refuses votes (thesis 4.2.3). At least 3 heartbeats.
  Duration election_timeout_min = std::chrono::milliseconds(1000);
  Duration election_timeout_max = std::chrono::milliseconds(1500);
  /// The first vote after a leader is lost is held again after a random time in [min, max] if it
  /// has not ended. Lower: a voter's disk has no time for its vote. Higher: a split vote costs
  /// more.
  Duration vote_retry_min = std::chrono::milliseconds(250);
  Duration vote_retry_max = std::chrono::milliseconds(500);
  /// A leader that no majority answered for this long steps down (thesis 6.2); after twice as long
  /// at most while its heartbeats go out late. Lower: stalls of a second unseat leaders. Higher:
  /// the watch has given the links of a deaf leader up, and its offer to lead reaches nobody.
  Duration check_quorum = std::chrono::milliseconds(1200);
  /// A leader that waits for one write of its own disk longer than this, while a majority without
  /// it went on, hands over, and steps down when that fails; a voter that waits so long does not
  /// campaign. Lower: a busy disk unseats leaders. Higher: the leader's own host and elections wait
  /// for a disk that hangs.
  Duration disk_patience = std::chrono::milliseconds(500);
  /// Unacknowledged appends are sent again after this long.
  Duration retransmit = std::chrono::milliseconds(500);
  /// After the leader's link reset the voters start their pre-votes this far apart, in voter order:
  /// two at once would split the vote and cost an election timeout.
  Duration link_reset_stagger = std::chrono::milliseconds(50);
  /// Append requests in flight to one follower. Higher hides longer round trips.
  std::size_t window = 16;
  /// Of one append request; a single larger entry travels alone.
  std::size_t append_bytes_max = 256 << 10;
  std::size_t append_entries_max = 1024;
  /// A handing-over that has not succeeded after this long is given up, and proposals go on.
  Duration transfer_patience = std::chrono::milliseconds(1500);
  /// A learner whose log ends this close to the leader's may become a voter.
  std::uint64_t promote_lag = 256;
  /// The level of entries that this binary can apply, told to the leader: see Raft::common_level().
  std::uint64_t level = 1;
  /// Of one part of a snapshot, at most kSnapshotChunkBytes.
  std::size_t snapshot_chunk_bytes = kSnapshotChunkBytes;
  /// Entries kept behind a snapshot, so that a follower that was briefly away needs no snapshot.
  std::size_t entries_kept = 1024;
  /// The same while a snapshot is on its way to a member that answers: without them it would need
  /// the next one as soon as it has this one, and under load so on without end. Higher: more memory
  /// and disk. Lower: slower links and disks never catch up.
  std::size_t entries_kept_for_snapshot = 200'000;
  /// Limits of either in bytes: the newest entries within them are kept.
  std::size_t bytes_kept = 32 << 20;
  std::size_t bytes_kept_for_snapshot = 256 << 20;

  Status validate() const;
};

}  // namespace muster::scheduler
