#pragma once
// Where events become lines on stderr: UTC time, level, event=name, key=value. The wall clock is
// read here, for display, and nowhere else.

#include <string>

#include "gossip/base/event.h"

namespace muster::agent {

/// Once, before the first event. `level` is "debug", "info", "warn" or "error".
void open_event_log(bool as_json, const std::string& level);
void log_event(const Event& event);

}  // namespace muster::agent
