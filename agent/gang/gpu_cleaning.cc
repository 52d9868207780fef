#include "agent/gang/gpu_cleaning.h"

#include <algorithm>
#include <set>

namespace muster::agent {

void GpuCleaning::withhold_idle(Instant now, const std::vector<std::string>& uuids) {
  if (!inventory_.are_watched) {
    return;
  }
  const std::set<std::string> held = grants_.held();
  for (const std::string& uuid : uuids) {
    if (!held.contains(uuid)) {
      stuck_.add_dirty(now, uuid, grants_.last_ended_on(uuid), out_);
    }
  }
}

void GpuCleaning::withhold_ended(Instant now) {
  for (const Token token : out_.take_ended()) {
    const Grant* grant = grants_.find(token);
    if (grant == nullptr) {
      continue;
    }
    for (const scheduler::GpuSlot& place : grants_.member_of(*grant).gpus) {
      withhold_listed(now, place.uuid.text(), token);
    }
  }
  grants_.note_dirty(stuck_.dirty());
}

bool GpuCleaning::forget_orphan(Instant now, Token token) {
  const auto held = stuck_.forget_orphan(token);
  for (const std::string& uuid : held.value_or(std::vector<std::string>())) {
    withhold_listed(now, uuid, token);
  }
  return held.has_value();
}

/// One that is gone from the machine is looked at when it is listed again.
void GpuCleaning::withhold_listed(Instant now, const std::string& uuid, Token token) {
  const std::vector<std::string>& listed = inventory_.gpus;
  if (inventory_.are_watched && std::find(listed.begin(), listed.end(), uuid) != listed.end()) {
    stuck_.add_dirty(now, uuid, token, out_);
    hello_.content_changed(now);
  }
}

}  // namespace muster::agent
