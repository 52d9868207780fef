#pragma once
// Events of a node, page by page.

#include <cstdint>
#include <string>
#include <vector>

namespace muster::agent {

/// Which events of the target host, or of the node asked.
struct EventsQuery {
  std::uint64_t after = 0;           ///< Sequence number; 0 = from the oldest kept.
  std::uint64_t newest = 0;          ///< Only so many, the last ones that fit the rest; 0 = all.
  std::uint64_t since_ms = 0;        ///< Only those no older than this; 0 = of any age.
  std::string severity{};            ///< "info", "warn", "alarm": it and what is worse; "" = all.
  std::vector<std::string> names{};  ///< Only events of these names; none = of any.
  std::string about{};               ///< Only events about the host of this short id; "" = all.
  bool operator==(const EventsQuery&) const = default;
};

struct EventInfo {
  std::uint64_t sequence = 0;
  std::uint64_t age_ms = 0;
  std::string severity;
  std::string text;  ///< "name key=value key=value", with the names of hosts that are known.
  // From a node that says so.
  std::string name{};
  std::uint64_t unix_ms = 0;  ///< The host's wall clock then, for people; 0 = not said.
  bool operator==(const EventInfo&) const = default;
};

struct EventsPage {
  std::vector<EventInfo> events;  ///< Oldest first; as many as one answer holds.
  std::uint64_t lost = 0;         ///< Events between `after` and the oldest kept.
  // From a node that says so.
  std::uint64_t last = 0;  ///< The sequence of the newest one kept, whether it is listed or not.
  bool operator==(const EventsPage&) const = default;
};

}  // namespace muster::agent
