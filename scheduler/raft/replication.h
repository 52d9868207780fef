#pragma once
// A leader's side of replication: what each follower gets next, and what a majority has reached.
// Exists only while this host leads; the log and the commit index belong to the machine. Learners
// get everything and count for nothing.

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
  std::uint64_t level = 0;  ///< What it said it can apply; 0 = nothing yet.
  /// The index for which its state's hash is not a majority's; 0 = none.
  LogIndex differs_at{};
  /// False: not a word since this leadership began, which is then what heard_at says.
  bool has_answered = true;
};

class Replication {
 public:
  /// What the messages say of the leader as it is now.
  struct View {
    Instant now;
    Term term;
    LogIndex commit;
    const RaftLog& log;
  };

  Replication(const RaftConfig& config, HostId self, const Configuration& configuration,
              LogIndex last, Instant now);

  /// Who stays is known as before; who is new, or sits elsewhere now, counts as heard at `now` and
  /// is probed from `next` on, as soon as the log has that entry.
  void set_configuration(const Configuration& configuration, LogIndex next, Instant now);

  /// Begins a heartbeat round: an append without entries to every follower. Followers that left
  /// something unanswered for too long are probed anew. Those whose states differ are told, unless
  /// the voters that are heard and agree are no majority: then their votes are still needed.
  void begin_round(const View& view, std::vector<RaftSend>& sends);
  /// Whatever each follower lacks and its window lets through. An event when a snapshot begins, or
  /// is too large to be sent.
  void replicate(const View& view, std::vector<RaftSend>& sends, std::vector<Event>& events);

  /// That member starts anew: what it acknowledged before proves nothing any more, and what it said
  /// before and arrives later counts for nothing.
  void begin_life(const View& view, HostId member);
  void on_reply(const View& view, HostId from, const AppendReply& reply);
  void on_reply(const View& view, HostId from, const SnapshotAck& reply);

  /// Some follower said a hash of its state since this was last asked.
  bool take_hash_news() { return std::exchange(has_hash_news_, false); }
  /// What the hashes of all members say, the leader's `own` among them. Notes whose differ, with
  /// an event when that is new.
  HashFindings compare_states(const StateHashes& own, std::vector<Event>& events);
  bool differs(HostId host) const;

  /// `own`: the leader's durable index; its disk is one vote like the others' (thesis 10.2.1), and
  /// none once it is no voter any more (4.2.2).
  LogIndex majority_match(LogIndex own) const;
  std::uint64_t round() const { return round_; }
  /// The last round that a majority answered, the leader included.
  std::uint64_t majority_round() const;
  /// The latest time by which a majority, the leader included, had been heard (thesis 6.2).
  Instant majority_heard_at(Instant now) const;
  /// Of the snapshots on their way to members that answer; nothing: there is none.
  std::optional<LogIndex> oldest_snapshot_sent(Instant now) const;
  /// The follower's durable and equal index; 0 for a stranger.
  LogIndex match_of(HostId host) const;
  /// Voters of `configuration` that can be counted on: this host, and who answered this leadership
  /// from its seat, and not before `since`.
  std::size_t live_voters(const Configuration& configuration, Instant since) const;
  /// A member of `configuration` that answered this leadership, and said that it can apply less
  /// than `level`; zero = none. Those that are off are not asked: who replaces them cannot wait for
  /// them.
  HostId answers_below(std::uint64_t level, const Configuration& configuration) const;
  /// The voter that would lead best: the longest match, then the one heard last; none whose state
  /// differs. Zero = none.
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
    StateHash agreed{};  ///< A majority's, where this one's differs; form 0 = it does not.
    std::uint64_t differs_since_round = 0;  ///< The first begun after that was found.
    std::uint64_t ignore_up_to = 0;  ///< Replies to requests up to here are of an earlier life.
    bool is_starting = false;        ///< Nothing is sent but heartbeats until it answers one.
  };

  bool can_do_without(const Follower& diverged, const View& view) const;
  void send_append(const View& view, HostId to, Progress& progress, std::vector<RaftSend>& sends);
  bool send_snapshot(const View& view, HostId to, Follower& follower, std::vector<RaftSend>& sends,
                     std::vector<Event>& events);
  /// Null when the reply is none of a follower in its seat.
  template <class Reply>
  Follower* replier(HostId from, const Reply& reply);
  /// What a majority of the voters has reached: `own` for this host, `of` for the others.
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
