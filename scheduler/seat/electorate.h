#pragma once
// The rule that chooses the voters. The leader keeps Configuration::target voters, on distinct
// racks where it can, and replaces a voter that stays away or came back on another disk. A pure
// function from the leader's view to its next step; Raft checks again that the step is safe.

#include <optional>
#include <string>
#include <vector>

#include "gossip/base/time.h"
#include "scheduler/raft/replication.h"

namespace muster::scheduler {

struct ElectorateOptions {
  /// A voter that is not reached for this long is replaced. Lower: restarts and short cuts move the
  /// quorum about. Higher: one failure fewer is borne meanwhile.
  Duration replace_after = std::chrono::minutes(5);
  /// A voter that answers from another seat for this long lost its disk, and is replaced.
  Duration other_seat_after = std::chrono::seconds(3);
  /// A learner that comes no nearer for this long is let go, and another host is tried first. A
  /// snapshot must come through in less.
  Duration stuck_after = std::chrono::minutes(5);
  /// The entries that a learner may lack when it becomes a voter: RaftConfig::promote_lag.
  std::uint64_t promote_lag = 256;
};

/// A live host that is no member and could become one.
struct ElectorateCandidate {
  HostId host;
  std::string rack;            ///< "" = unknown.
  std::optional<SeatId> seat;  ///< nullopt if it has not said its seat yet.
  /// How often it did not answer, or did not catch up: the host with the fewest is asked first.
  std::uint32_t setbacks = 0;
};

/// A member as the leader sees it.
struct ElectorateMember {
  HostId host;
  std::string rack;
  bool is_voter = false;
  bool is_leader = false;
  std::uint64_t behind = 0;
  Duration stuck_for{0};  ///< The time for which a learner far behind came no nearer.
  Duration silent_for{0};
  bool has_left = false;  ///< For good, by its own word: replaced without waiting.
  /// How long it has answered from another seat, and from which.
  std::optional<Duration> elsewhere_for;
};

struct ElectorateView {
  Configuration now;
  std::vector<ElectorateMember> members;        ///< Of `now`; in any order.
  std::vector<ElectorateCandidate> candidates;  ///< In any order.
  /// False while many hosts are unreachable at once: then only learners under way move.
  bool is_calm = true;
};

struct ElectorateStep {
  /// Not zero: ask this host for its seat first.
  HostId invite;
  /// Not zero: a learner that is let go although it was needed, by its own failing.
  HostId failed;
  std::optional<Configuration> next;
  std::string why;  ///< One line for the events.
};

/// The next step. nullopt if there is nothing to do.
std::optional<ElectorateStep> next_step(const ElectorateOptions& options,
                                        const ElectorateView& view);

}  // namespace muster::scheduler
