#pragma once
// ChangePace limits how many changes each user, and all together, may have written to the log, and
// how many submits each queue at the top of the tree (the generic cell rate algorithm, ITU-T I.371
// annex A). One user's or team's loop must not fill the log that all share. Owned by ClientLedger:
// a leader begins with full bursts. Changes that no user ordered count among all alone.

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
  /// Submits: ten times the pace for 30 s.
  Rate of_queue{100, 27'000};
};

class ChangePace {
 public:
  /// Users that are counted, and queues. More within some seconds can only be names that a host
  /// made up: they count among all alone.
  static constexpr std::size_t kUsersMax = 4096;

  enum class Limit : std::uint8_t { kOfAll, kOfUser, kOfQueue };
  struct Wait {
    Duration time{0};  ///< Until it may come again, above 0.
    Limit limit{};     ///< The one that it exceeds.
    bool operator==(const Wait&) const = default;
  };

  /// Takes one change of the subject, or says how long it has to wait. `queue`: the first segment
  /// of the path of the queue, for a submit; "" for any other change.
  std::optional<Wait> take(const ChangeLimits& limits, const Subject& by, Instant now,
                           const std::string& queue = "");
  /// Number of users that changed something within the last seconds.
  std::size_t size() const { return due_.size(); }

 private:
  using Dues = std::map<std::string, Instant>;
  static Instant* due_of(Dues& dues, const std::string& name, Instant now);
  void forget_idle(Instant now);

  /// The end of all changes taken, if they were spread evenly.
  Instant due_of_all_ = kLongAgo;
  Dues due_;         ///< The same of each user.
  Dues queues_due_;  ///< The same of each queue.
  Instant forgot_at_ = kLongAgo;
};

}  // namespace muster::scheduler
