#pragma once
// Progress: a follower's progress as its leader sees it, and the next message it may get (thesis
// 10.2.1: pipelining). Owned by Replication.
//
//   kProbe      the follower's log is not known to match: one append at a time
//   kReplicate  it matches: up to `window` appends in flight
//   kSnapshot   it misses compacted entries: a snapshot is under way, one part at a time
//
// Loss shows as a refusal or as silence; both lead back to kProbe at match + 1, and in kSnapshot to
// the part that the follower wants next.

#include <cstdint>
#include <deque>
#include <memory>

#include "scheduler/raft/types.h"

namespace muster::scheduler {

class Progress {
 public:
  enum class State : std::uint8_t { kProbe, kReplicate, kSnapshot };

  /// `next`: the index behind the leader's last entry. `now` counts as a first contact, so that a
  /// new leader has a whole check_quorum to be answered.
  Progress(LogIndex next, Instant now) : next_(next.value()), heard_at_(now) {}

  State state() const { return state_; }
  /// Durable at the follower and equal to the leader's log up to here.
  LogIndex match() const { return LogIndex(match_); }
  LogIndex next() const { return LogIndex(next_); }
  Instant heard_at() const { return heard_at_; }
  /// heard_at() is the time of an answer, not of the begin of the leadership.
  bool has_answered() const { return has_answered_; }
  std::uint64_t round() const { return round_; }

  /// Another append or snapshot may leave now.
  bool may_send(std::size_t window) const;
  /// An append has been unanswered for longer than `retransmit`. A part of a snapshot has much
  /// longer: the follower syncs the last one before it answers.
  bool stalled(Instant now, Duration retransmit) const;

  void on_sent(Instant now, std::uint64_t request, LogIndex last);
  /// Sends `snapshot` from its first part on, to its end, even if the log has a newer one by then.
  void begin_snapshot(std::shared_ptr<const Snapshot> snapshot);
  /// Precondition for these: state() is kSnapshot.
  const Snapshot& snapshot() const { return *snapshot_; }
  std::uint64_t snapshot_offset() const { return snapshot_offset_; }
  void on_chunk_sent(Instant now, std::uint64_t request);
  /// Any reply of this term, in whatever order: contact, and the round it echoes.
  void on_contact(Instant now, std::uint64_t round);
  /// `reported`: the follower's log is durable and equal up to here. Never lowers match().
  void on_match(LogIndex reported);
  /// The follower wants this part of the snapshot at `at` next. Only news counts: the answer to the
  /// part sent last, or a part behind all that were wanted. Else an answer that came twice would
  /// have that part sent twice, both be answered, and so on to the end.
  void on_chunk_wanted(std::uint64_t request, LogIndex at, std::uint64_t offset);
  /// A refusal: continue at `next`, unless the refused request is older than the last decision.
  /// True if the refusal counted.
  bool on_refused(std::uint64_t request, LogIndex next);
  /// Silence: forget what is in flight and probe again, at match + 1 when something matched.
  void restart();

 private:
  struct InFlight {
    LogIndex last;
    Instant sent_at;
  };

  State state_ = State::kProbe;
  std::uint64_t match_ = 0;
  std::uint64_t next_ = 1;  ///< match < next, always.
  std::uint64_t round_ = 0;
  std::uint64_t sent_request_ = 0;
  std::uint64_t ignore_up_to_ = 0;  ///< Refusals of requests up to here are stale.
  Instant heard_at_;
  bool has_answered_ = false;
  std::deque<InFlight> in_flight_;
  std::shared_ptr<const Snapshot> snapshot_;  ///< Exactly in kSnapshot.
  std::uint64_t snapshot_offset_ = 0;
};

}  // namespace muster::scheduler
