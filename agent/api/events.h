#pragma once
// Events of a node, page by page.

#include <cstdint>
#include <string>
#include <vector>

namespace muster::agent {

struct EventsQuery {
  std::uint64_t after = 0;  ///< Sequence number; 0 = from the oldest kept.
};

struct EventInfo {
  std::uint64_t sequence = 0;
  std::uint64_t age_ms = 0;
  std::string severity;
  std::string text;
};

struct EventsPage {
  std::vector<EventInfo> events;
  std::uint64_t lost = 0;  ///< Events between `after` and the oldest kept.
};

}  // namespace muster::agent
