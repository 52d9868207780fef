#pragma once
// Which voters a leader should place nothing on: those that do not answer, long before any verdict,
// and those whose disks do not follow its log. A part of QuorumSeat, with the manner of a machine.

#include <map>
#include <optional>

#include "scheduler/leader/scheduler.h"
#include "scheduler/raft/raft.h"

namespace muster::scheduler {

class VoterPace {
 public:
  /// Two heartbeats unanswered, or a write of the log not on a voter's disk for so long.
  static constexpr Duration kQuietAfter = std::chrono::milliseconds(700);
  /// A voter whose disk was slow gets nothing new for so long.
  static constexpr Duration kLateFor = std::chrono::seconds(3);

  /// Some write of this host has waited for its disk for long. It is not held against this host
  /// while the others' disks keep the log waiting as well.
  void own_disk_is_late(Instant now, const Raft& raft);
  /// What the scheduler should know, when it is another thing than last time.
  std::optional<input::VotersQuiet> look(Instant now, const Raft& raft, HostId self);

 private:
  struct Pace {
    LogIndex target;  ///< To be on its disk next.
    Instant since;    ///< Waited for since then.
    Instant late_until;
  };

  /// True: its disk does not follow.
  bool is_late(Instant now, const Raft& raft, const MemberLag& voter);

  std::map<HostId, Pace> paces_;
  Instant own_disk_late_until_{};
  input::VotersQuiet told_;
};

}  // namespace muster::scheduler
