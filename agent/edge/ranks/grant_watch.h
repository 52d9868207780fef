#pragma once
// GrantWatch keeps a grant to its memory and processes where no control group does, by adding them
// up every 250 ms, and says which limit ended a rank, where a control group did. Owned by
// Supervisor, which kills the whole grant when a limit is passed.

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "agent/edge/isolation/grant_usage.h"
#include "agent/isolation/room_limits.h"
#include "gossip/base/time.h"

namespace muster::agent {

class GrantWatch {
 public:
  /// Higher: a grant uses more than it was given for longer. Lower: each process costs a core of
  /// its host about 30 us more often.
  static constexpr Duration kPause = std::chrono::milliseconds(250);
  /// Of the time; a look that walks large page tables is followed by a longer pause.
  static constexpr int kShareOfTime = 20;

  /// `has_own_proc`: /proc shows the processes of this grant alone.
  GrantWatch(RoomLimits limits, bool has_own_proc);

  /// Looks from then on.
  void begin(Instant when) { next_look_ = needs_looks() ? when : kNever; }
  /// kNever before begin(), or if there is nothing to look at.
  Instant next_look() const { return next_look_; }
  /// Looks, if it is time. True if a limit was passed: all processes of the grant have to be
  /// killed, and at each later look those that are still there.
  bool must_end(Instant now);
  /// The limit by which a rank that has just failed was ended, as RankResult::detail tells it; ""
  /// if no limit did. A rank that was killed by somebody else was ended by no limit, and neither
  /// was one that failed long after the kernel refused a fork.
  std::string why_ended(Instant now);

  const CpuList& affinity() const { return limits_.affinity; }

 private:
  bool needs_looks() const;
  bool are_forks_refused() const {
    return limits_.processes != 0 && !limits_.are_processes_counted;
  }
  void look(Instant now);
  void look_at_memory(const std::vector<pid_t>& processes);
  std::vector<pid_t> processes() const;
  std::uint64_t number_in(const std::string& file) const;
  std::uint64_t count_in(const std::string& file, std::string_view name) const;

  const RoomLimits limits_;
  const bool has_own_proc_;
  Instant next_look_ = kNever;
  bool is_passed_ = false;
  RefusedForks refused_;
  GrantUse last_;  ///< When it was near its memory, before the kernel killed.
  std::string why_;
};

}  // namespace muster::agent
