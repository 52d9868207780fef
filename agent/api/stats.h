#pragma once
// The counters of an agent since it started: messages heard and said by type, and the CPU time that
// they took. For people, benches and, later, metrics.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace muster::agent {

/// One thing that is counted. What a counter does not count is 0.
struct Counter {
  std::string name;          ///< "received.rows", "thread.loop", "links.dials"
  std::uint64_t count = 0;   ///< How often it happened.
  std::uint64_t bytes = 0;   ///< Of the messages, before encryption.
  std::uint64_t cpu_us = 0;  ///< Of the one thread that does it.
  bool operator==(const Counter&) const = default;
};

/// Answer of kStats.
struct StatsInfo {
  std::uint64_t uptime_ms = 0;    ///< Since the agent started.
  std::vector<Counter> counters;  ///< By name, each once, at most kCountersMax.
  bool operator==(const StatsInfo&) const = default;
};
inline constexpr std::size_t kCountersMax = 256;

}  // namespace muster::agent
