#include "agent/edge/supervisor/launch_check.h"

#include <utility>

namespace muster::agent {

LaunchCheck::LaunchCheck(std::string directory, DiskReserve reserve, Duration trial_pause,
                         std::string unfit)
    : directory_(std::move(directory)),
      reserve_(reserve),
      trial_pause_(trial_pause),
      unfit_(std::move(unfit)) {}

/// A thing that ran short counts as short until a tenth more than the reserve is free: a host at
/// the brink would come and go with every line that is logged.
void LaunchCheck::look(Instant now) {
  if (now < look_at_) {
    return;
  }
  look_at_ = now + kLookPause;
  DiskReserve wanted = reserve_;
  if (!disk_.empty()) {
    wanted.bytes += wanted.bytes / 10;
    wanted.percent += (wanted.percent + 9) / 10;
  }
  const std::optional<std::string> shortage = disk_shortage(directory_, wanted);
  if (!shortage.has_value()) {
    disk_.clear();
  } else if (disk_.empty()) {
    disk_ = *shortage;  // With the numbers of its beginning: each change is told to everybody.
  }
}

void LaunchCheck::failed(Instant now, const std::string& why) {
  failure_ = failure_.empty() ? why : failure_;
  trial_at_ = now + trial_pause_;
}

void LaunchCheck::worked() {
  failure_.clear();
  trial_at_ = kNever;
}

bool LaunchCheck::begin_trial(Instant now) {
  if (now < trial_at_ || !disk_.empty()) {
    return false;
  }
  trial_at_ = now + trial_pause_;
  return true;
}

std::optional<std::string> LaunchCheck::take_change() {
  if (told_ == why_not()) {
    return std::nullopt;
  }
  told_ = why_not();
  return told_;
}

}  // namespace muster::agent
