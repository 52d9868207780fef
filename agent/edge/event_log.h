#pragma once
// The event log: writes each event as a line to stderr or to a file: UTC time, level, event=name,
// key=value.

#include <string>

#include "gossip/base/event.h"
#include "gossip/base/result.h"

namespace muster::agent {

/// Once, before the first event. `level` is "debug", "info", "warn" or "error". `file`: instead of
/// stderr, where journald keeps it; kLogFiles files of kLogFileBytes, FILE the newest. kIo: it
/// cannot be written.
Status open_event_log(bool as_json, const std::string& level, const std::string& file);

inline constexpr std::size_t kLogFileBytes = std::size_t{20} << 20;
inline constexpr std::size_t kLogFiles = 5;

/// Another level, from now on; as open_event_log().
void set_event_log_level(const std::string& level);
/// Opens the file again: a rotator has taken the old one away. On stderr it does nothing.
void reopen_event_log();
/// To be called now and then: as reopen_event_log() where the file is not there any more.
void renew_event_log();

void log_event(const Event& event);

}  // namespace muster::agent
