#pragma once
// The events of a node, page by page.

#include <cstdint>
#include <string>
#include <vector>

namespace muster::agent {

/// Selects events of the target host, or of the node asked. An event has to match every field.
struct EventsQuery {
  std::uint64_t after = 0;           ///< Only events above this sequence number; 0 = all kept.
  std::uint64_t newest = 0;          ///< Only the newest ones that match, so many; 0 = all.
  std::uint64_t since_ms = 0;        ///< Only events no older than this; 0 = of any age.
  std::string severity{};            ///< "info", "warn", "alarm": it and all above it; "" = all.
  std::vector<std::string> names{};  ///< Only events with one of these names; empty = any name.
  std::string about{};               ///< Only events about the host of this short id; "" = all.
  bool operator==(const EventsQuery&) const = default;
};

struct EventInfo {
  std::uint64_t sequence = 0;
  std::uint64_t age_ms = 0;
  std::string severity;
  std::string text;  ///< "name key=value key=value", with the names of hosts that are known.
  // Older nodes do not send these.
  std::string name{};
  std::uint64_t unix_ms = 0;  ///< The host's wall clock at the event, for people; 0 = not said.
  bool operator==(const EventInfo&) const = default;
};

struct EventsPage {
  std::vector<EventInfo> events;  ///< The oldest first; as many as one answer holds.
  std::uint64_t lost = 0;         ///< Events between `after` and the oldest kept.
  // Older nodes do not send this.
  std::uint64_t last = 0;  ///< The sequence number of the newest event kept, listed or not.
  bool operator==(const EventsPage&) const = default;
};

}  // namespace muster::agent
