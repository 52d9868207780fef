#pragma once
// LoginPace limits how many messages each login may send (the generic cell rate algorithm, ITU-T
// I.371 annex A). Root and the user of this process have no limit. Pure but for its room: the
// caller says the time.

#include <cstddef>
#include <cstdint>
#include <map>

#include "gossip/base/time.h"

namespace muster::gossip {

class LoginPace {
 public:
  /// A script that asks in a loop sends some 50 a second. An agent answers thousands.
  static constexpr std::int64_t kMessagesASecond = 100;
  /// Messages at one moment: a batch of 300 submissions in the background goes through.
  static constexpr std::int64_t kBurst = 400;
  /// Logins that sent something within the last seconds. More can only be a login that takes uids
  /// in a namespace of its own.
  static constexpr std::size_t kLoginsMax = 4096;

  /// `own`: the user of this process.
  explicit LoginPace(std::uint32_t own) : own_(own) {}
  /// Whether the login may send a message now; then it is counted. Beyond kLoginsMax no new login
  /// may.
  bool take(std::uint32_t uid, Instant now);
  std::size_t size() const { return due_.size(); }

 private:
  void forget_idle(Instant now);

  std::uint32_t own_;
  /// The end of all messages taken, if they were spread evenly. A login that is past it may do as
  /// much as a new one.
  std::map<std::uint32_t, Instant> due_;
  Instant forgot_at_ = kLongAgo;
};

}  // namespace muster::gossip
