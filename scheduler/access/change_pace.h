#pragma once
// ChangePace limits how many changes each user, and all together, may have written to the log (the
// generic cell rate algorithm, ITU-T I.371 annex A). One user's loop must not fill the log that all
// share. Owned by ClientLedger: a leader begins with full bursts. Changes that no user ordered
// count among all alone.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "gossip/base/time.h"
#include "scheduler/protocol/users.h"

namespace muster::scheduler {

/// How many changes clients may have written to the log.
struct ChangeLimits {
  struct Rate {
    std::int64_t per_second = 1;
    std::int64_t burst = 1;  ///< At one moment, after a rest.
  };
  Rate of_user{100, 1000};
  Rate of_all{5000, 5000};
};

class ChangePace {
 public:
  /// Users that are counted. More within some seconds can only be names that a host made up: they
  /// count among all alone.
  static constexpr std::size_t kUsersMax = 4096;

  /// Takes one change of the subject, or says after how long it may come again, above 0.
  std::optional<Duration> take(const ChangeLimits& limits, const Subject& by, Instant now);
  /// Number of users that changed something within the last seconds.
  std::size_t size() const { return due_.size(); }

 private:
  void forget_idle(Instant now);

  /// The end of all changes taken, if they were spread evenly.
  Instant due_of_all_ = kLongAgo;
  std::map<std::string, Instant> due_;  ///< The same of each user.
  Instant forgot_at_ = kLongAgo;
};

}  // namespace muster::scheduler
