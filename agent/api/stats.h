#pragma once
// The counters of an agent since it started: messages received and sent by type, and the CPU time
// that they took. People and benches read them.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace muster::agent {

/// One thing that is counted. A field that does not apply to it is 0.
struct Counter {
  std::string name;          ///< "received.rows", "thread.loop", "links.dials"
  std::uint64_t count = 0;   ///< How often it happened.
  std::uint64_t bytes = 0;   ///< Size of the messages, before encryption.
  std::uint64_t cpu_us = 0;  ///< CPU time of the one thread that does it.
  bool operator==(const Counter&) const = default;
};

/// The answer to kStats.
struct StatsInfo {
  std::uint64_t uptime_ms = 0;    ///< Since the agent started.
  std::vector<Counter> counters;  ///< Sorted by name, each once; at most kCountersMax.
  bool operator==(const StatsInfo&) const = default;
};
inline constexpr std::size_t kCountersMax = 256;

}  // namespace muster::agent
