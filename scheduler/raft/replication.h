#pragma once
// A leader's side of replication: what each follower gets next, and what a majority has reached.
// Exists only while this host leads; the log and the commit index belong to the machine.

#include <map>
#include <vector>

#include "gossip/base/event.h"
#include "scheduler/raft/log.h"
#include "scheduler/raft/progress.h"

namespace muster::scheduler {

struct RaftSend {
  HostId to;
  RaftMessage message;
};

/// One voter as the leader sees it, for people. The leader itself is listed as never behind.
struct VoterLag {
  HostId voter;
  LogIndex match;            ///< Durable there and equal.
  std::uint64_t behind = 0;  ///< Entries of the leader's log not durable there.
  Instant heard_at;
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

  Replication(const RaftConfig& config, HostId self, const std::vector<HostId>& voters,
              LogIndex last, Instant now);

  /// Begins a heartbeat round: an append without entries to every follower. Followers that left
  /// something unanswered for too long are probed anew.
  void begin_round(const View& view, std::vector<RaftSend>& sends);
  /// Whatever each follower lacks and its window lets through. An event when a follower needs a
  /// snapshot (sent, or too large to be sent).
  void replicate(const View& view, std::vector<RaftSend>& sends, std::vector<Event>& events);

  void on_reply(const View& view, HostId from, const AppendReply& reply);
  void on_reply(const View& view, HostId from, const SnapshotReply& reply);

  /// `own`: the leader's durable index; its disk is one vote like the others' (thesis 10.2.1).
  LogIndex majority_match(LogIndex own) const;
  std::uint64_t round() const { return round_; }
  /// The last round that a majority answered, the leader included.
  std::uint64_t majority_round() const;
  /// The latest time by which a majority, the leader included, had been heard (thesis 6.2).
  Instant majority_heard_at(Instant now) const;
  std::vector<VoterLag> lag(const View& view) const;
  void check_invariants(const RaftLog& log) const;

 private:
  void send_append(const View& view, HostId to, Progress& progress, std::vector<RaftSend>& sends);
  bool send_snapshot(const View& view, HostId to, Progress& progress, std::vector<RaftSend>& sends,
                     std::vector<Event>& events);

  RaftConfig config_;
  HostId self_;
  std::map<HostId, Progress> followers_;
  std::uint64_t request_ = 0;
  std::uint64_t round_ = 0;
};

}  // namespace muster::scheduler
