#pragma once
// The names of job states (scheduler/PROTOCOL.md, 8), for the verbs.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace muster::agent {

inline const std::vector<std::string>& state_names() {
  static const std::vector<std::string> names = {"queued",    "scheduled", "running", "stopping",
                                                 "suspended", "completed", "failed",  "cancelled"};
  return names;
}

inline bool is_state(std::string_view name) {
  return std::find(state_names().begin(), state_names().end(), name) != state_names().end();
}

/// An ended job has no further transition.
inline bool is_ended(std::string_view state) {
  return state == "completed" || state == "failed" || state == "cancelled";
}

}  // namespace muster::agent
