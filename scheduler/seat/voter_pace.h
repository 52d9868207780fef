#pragma once
// VoterPace: finds the voters on which a leader should place nothing: those that do not answer,
// long before any verdict, and those whose disks do not follow its log. Owned by QuorumSeat.

#include <map>
#include <optional>

#include "scheduler/leader/scheduler.h"
#include "scheduler/raft/raft.h"

namespace muster::scheduler {

class VoterPace {
 public:
  /// The time of two unanswered heartbeats, or of a log write that is not on a voter's disk.
  static constexpr Duration kQuietAfter = std::chrono::milliseconds(700);
  /// The time for which a voter whose disk was slow gets no new work.
  static constexpr Duration kLateFor = std::chrono::seconds(3);

  /// A write of this host has waited for its disk for long. It does not count against this host
  /// while the disks of the others keep the log waiting as well.
  void own_disk_is_late(Instant now, const Raft& raft);
  /// The quiet and the late voters, for the scheduler. nullopt if they are the same as last time.
  std::optional<input::VotersQuiet> look(Instant now, const Raft& raft, HostId self);

 private:
  struct Pace {
    LogIndex target;  ///< The index to be on its disk next.
    Instant since;    ///< The begin of the wait for it.
    Instant late_until;
  };

  /// True if the voter's disk does not follow.
  bool is_late(Instant now, const Raft& raft, const MemberLag& voter);

  std::map<HostId, Pace> paces_;
  Instant own_disk_late_until_{};
  input::VotersQuiet told_;
};

}  // namespace muster::scheduler
