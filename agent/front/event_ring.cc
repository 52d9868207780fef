#include "agent/front/event_ring.h"

#include <algorithm>

namespace muster::agent {
namespace {

std::string severity_name(Severity severity) {
  switch (severity) {
    case Severity::kDebug:
      return "debug";
    case Severity::kInfo:
      return "info";
    case Severity::kWarn:
      return "warn";
    case Severity::kAlarm:
      return "alarm";
  }
  return "";
}

}  // namespace

void EventRing::add(Instant now, const Event& event) {
  if (event.severity == Severity::kDebug) {
    return;
  }
  kept_.push_back({next_sequence_++, now, event});
  if (kept_.size() > kEventsMax) {
    kept_.pop_front();
  }
}

EventsPage EventRing::page(Instant now, std::uint64_t after) const {
  EventsPage page;
  if (!kept_.empty() && kept_.front().sequence > after + 1) {
    page.lost = kept_.front().sequence - after - 1;
  }
  for (const Kept& kept : kept_) {
    if (kept.sequence <= after) {
      continue;
    }
    if (page.events.size() == kPageMax) {
      break;
    }
    page.events.push_back({kept.sequence, static_cast<std::uint64_t>(to_ms(now - kept.when)),
                           severity_name(kept.event.severity), kept.event.text()});
  }
  return page;
}

}  // namespace muster::agent
