#pragma once
// Checks that this host can start a grant now: room on the disk, looked at every second, and a
// trial after each launch that failed for the host's sake (no descriptor, no process, no namespace,
// no space). Until one works the host says that it starts no grant, rather than take one after the
// other and refuse each. Owned by RankSupervisors, which makes the trials: a supervisor without
// ranks under a token that no log gives.

#include <optional>
#include <string>

#include "agent/edge/supervisor/kept_grants.h"
#include "gossip/base/ids.h"
#include "gossip/base/time.h"

namespace muster::agent {

/// Of trials. The epochs of logs begin with 1.
inline constexpr Token kTrial{0, 1};
inline bool is_trial(Token token) {
  return token == kTrial;
}

/// Lower: more processes of a sick host; higher: it is out of use for longer than it is sick.
inline constexpr Duration kTrialPause = std::chrono::seconds(5);

class LaunchCheck {
 public:
  /// `unfit`: why this host never starts a grant; "" = it may.
  LaunchCheck(std::string directory, DiskReserve reserve, Duration trial_pause = kTrialPause,
              std::string unfit = "");

  /// Looks at the disk, unless it did within the last second.
  void look(Instant now);
  /// A launch, or a trial, failed for that reason, which lies with the host.
  void failed(Instant now, const std::string& why);
  /// A launch or a trial worked.
  void worked();
  /// True if a trial is due: it then counts as begun.
  bool begin_trial(Instant now);
  /// Why no grant can be started; "" = one can, as far as is known.
  const std::string& why_not() const {
    return !unfit_.empty() ? unfit_ : disk_.empty() ? failure_ : disk_;
  }
  /// why_not(), if it differs from the last call.
  std::optional<std::string> take_change();

  static constexpr Duration kLookPause = std::chrono::seconds(1);

 private:
  std::string directory_;
  DiskReserve reserve_;
  Duration trial_pause_;
  std::string unfit_;
  Instant look_at_{};
  std::string disk_;
  std::string failure_;
  Instant trial_at_ = kNever;
  std::string told_;
};

}  // namespace muster::agent
