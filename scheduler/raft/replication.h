#pragma once
// Replication: a leader's followers: the next message to each, and the index that a majority has
// reached. Owned by Raft, only while it leads; Raft keeps the log and the commit index. Learners
// get all entries and count towards no majority.

#include <map>
#include <utility>
#include <vector>

#include "gossip/base/event.h"
#include "scheduler/raft/log.h"
#include "scheduler/raft/progress.h"

namespace muster::scheduler {

struct RaftSend {
  HostId to;
  RaftMessage message;
};

/// One member as the leader sees it. The leader itself is listed as never behind.
struct MemberLag {
  HostId host;
  bool is_voter = false;
  LogIndex match;            ///< Durable there and equal.
  std::uint64_t behind = 0;  ///< Entries of the leader's log not durable there.
  Instant heard_at;
  /// It answers from another seat than the configuration's: its disk is not the one it was.
  std::optional<SeatId> other_seat;
  std::uint64_t level = 0;  ///< The level it said it can apply; 0 if it has not said one.
  /// The index at which its state hash differs from that of a majority; 0 if it does not differ.
  LogIndex differs_at{};
  /// False if it has not answered since this leadership began; heard_at is then that time.
  bool has_answered = true;
};

class Replication {
 public:
  /// The leader as it is now, for its messages.
  struct View {
    Instant now;
    Term term;
    LogIndex commit;
    const RaftLog& log;
  };

  Replication(const RaftConfig& config, HostId self, const Configuration& configuration,
              LogIndex last, Instant now);

  /// A member that stays keeps its progress. A member that is new, or sits elsewhere now, counts as
  /// heard at `now` and is probed from `next` on, as soon as the log has that entry.
  void set_configuration(const Configuration& configuration, LogIndex next, Instant now);

  /// Begins a heartbeat round: an append without entries to every follower. A follower that left a
  /// message unanswered for too long is probed again. A follower whose state differs is told,
  /// unless the voters that are heard and agree are no majority: then its vote is still needed.
  void begin_round(const View& view, std::vector<RaftSend>& sends);
  /// Sends each follower the entries that it lacks and its window lets through. Emits an event when
  /// a snapshot begins, or is too large to be sent.
  void replicate(const View& view, std::vector<RaftSend>& sends, std::vector<Event>& events);

  /// The member starts again: its earlier acknowledgements prove nothing any more, and its earlier
  /// messages that arrive later do not count.
  void begin_life(const View& view, HostId member);
  void on_reply(const View& view, HostId from, const AppendReply& reply);
  void on_reply(const View& view, HostId from, const SnapshotAck& reply);

  /// True if a follower said a hash of its state since the last call.
  bool take_hash_news() { return std::exchange(has_hash_news_, false); }
  /// Compares the hashes of all members, the leader's `own` included. Notes the members that
  /// differ, with an event if that is new.
  HashFindings compare_states(const StateHashes& own, std::vector<Event>& events);
  bool differs(HostId host) const;

  /// `own`: the leader's durable index. Its disk is one vote like any other (thesis 10.2.1), and no
  /// vote once the leader is no voter any more (4.2.2).
  LogIndex majority_match(LogIndex own) const;
  std::uint64_t round() const { return round_; }
  /// The last round that a majority answered, the leader included.
  std::uint64_t majority_round() const;
  /// The latest time by which a majority, the leader included, had been heard (thesis 6.2).
  Instant majority_heard_at(Instant now) const;
  /// The oldest snapshot on its way to a member that answers. nullopt if there is no such snapshot.
  std::optional<LogIndex> oldest_snapshot_sent(Instant now) const;
  /// The follower's durable and equal index; 0 if the host is not a follower.
  LogIndex match_of(HostId host) const;
  /// Voters of `configuration` that can be counted on: this host, and those that answered this
  /// leadership from their seat, and not before `since`.
  std::size_t live_voters(const Configuration& configuration, Instant since) const;
  /// A member of `configuration` that answered this leadership, and said that it can apply less
  /// than `level`; zero if there is no such member. A member that is off does not count: its
  /// replacement cannot wait for it.
  HostId answers_below(std::uint64_t level, const Configuration& configuration) const;
  /// The voter that would lead best: the longest match, then the one heard last; never one whose
  /// state differs. Zero if there is no such voter.
  HostId best_successor() const;
  std::vector<MemberLag> lag(const View& view) const;
  void check_invariants(const RaftLog& log) const;

 private:
  struct Follower {
    Progress progress;
    Seat seat;
    bool is_voter = false;
    std::optional<SeatId> other_seat;
    std::uint64_t level = 0;
    bool told_too_large = false;
    StateHashes hashes{};
    StateHash agreed{};  ///< The majority's, if this one differs; form 0 if it does not.
    std::uint64_t differs_since_round = 0;  ///< The first begun after that was found.
    std::uint64_t ignore_up_to = 0;  ///< Replies to requests up to here are of an earlier life.
    bool is_starting = false;        ///< It gets only heartbeats until it answers one.
  };

  bool can_do_without(const Follower& diverged, const View& view) const;
  void send_append(const View& view, HostId to, Progress& progress, std::vector<RaftSend>& sends);
  bool send_snapshot(const View& view, HostId to, Follower& follower, std::vector<RaftSend>& sends,
                     std::vector<Event>& events);
  /// Null if the reply does not come from a follower in its seat.
  template <class Reply>
  Follower* replier(HostId from, const Reply& reply);
  /// The number that a majority of voters has reached: `own` for this host, `of` for the others.
  template <class Of>
  std::uint64_t majority(std::uint64_t own, Of of) const;

  RaftConfig config_;
  HostId self_;
  bool self_votes_ = true;
  std::map<HostId, Follower> followers_;
  std::uint64_t request_ = 0;
  std::uint64_t round_ = 0;
  bool has_hash_news_ = false;
};

}  // namespace muster::scheduler
