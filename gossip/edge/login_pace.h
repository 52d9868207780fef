#pragma once
// LoginPace limits how often each login may do something (the generic cell rate algorithm, ITU-T
// I.371 annex A). Root and the user of this process have no limit. Pure but for its room: the
// caller says the time.

#include <cstddef>
#include <cstdint>
#include <map>

#include "gossip/base/time.h"

namespace muster::gossip {

class LoginPace {
 public:
  struct Rate {
    std::int64_t per_second = 1;
    std::int64_t burst = 1;  ///< At one moment, after a rest.
  };
  /// A script that asks in a loop sends some 50 messages a second, and an agent answers thousands.
  /// The burst is that of the changes that a user may make at one moment, and questions besides.
  static constexpr Rate kMessages{200, 1200};
  /// Connections: each command of the CLI makes one. A batch of 300 submissions in the background
  /// goes through.
  static constexpr Rate kDials{100, 400};
  /// Logins that did something within the last seconds. More can only be a login that takes uids
  /// in a namespace of its own.
  static constexpr std::size_t kLoginsMax = 4096;

  /// `own`: the user of this process.
  LoginPace(std::uint32_t own, Rate rate) : own_(own), rate_(rate) {}
  /// Whether the login may do it now; then it is counted. Beyond kLoginsMax no new login may.
  bool take(std::uint32_t uid, Instant now);
  std::size_t size() const { return due_.size(); }

 private:
  void forget_idle(Instant now);

  std::uint32_t own_;
  Rate rate_;
  /// The end of all that was taken, if it were spread evenly. A login that is past it may do as
  /// much as a new one.
  std::map<std::uint32_t, Instant> due_;
  Instant forgot_at_ = kLongAgo;
};

}  // namespace muster::gossip
