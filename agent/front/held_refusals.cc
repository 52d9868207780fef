#include "agent/front/held_refusals.h"

#include <utility>

#include "gossip/base/check.h"

namespace muster::agent {

bool HeldRefusals::hold(Instant now, std::uint64_t note, HeldRefusal refusal) {
  CHECK(held_.empty() || held_.back().note <= note);
  if (held_.size() >= kHeldMax) {
    return false;
  }
  held_.push_back({note, now + kPatience, std::move(refusal)});
  return true;
}

std::vector<HeldRefusal> HeldRefusals::take(Instant now, std::uint64_t settled) {
  std::vector<HeldRefusal> taken;
  while (!held_.empty() && (held_.front().note <= settled || held_.front().until <= now)) {
    taken.push_back(std::move(held_.front().refusal));
    held_.pop_front();
  }
  return taken;
}

}  // namespace muster::agent
