#pragma once
// The state of a host, in words that fit a cell, and its shortage, in a line.

#include <string>

#include "agent/api/hosts.h"
#include "cli/kit/text.h"

namespace muster::cli {

/// It says that it can start no grant now.
inline bool starts_nothing(const agent::HostInfo& host) {
  return host.detail.starts_with(agent::kStartsNothing);
}

/// "alive", "suspect, silent", "alive, starts nothing"
inline std::string host_state_text(const agent::HostInfo& host) {
  const std::string detail =
      starts_nothing(host) ? std::string(agent::kStartsNothing) : in_words(host.detail);
  return detail.empty() ? host.state : host.state + ", " + detail;
}

/// The same, with what the log says of it: "removed", "drained", "draining". `use` may be null.
inline std::string host_state_text(const agent::HostInfo& host, const agent::HostUse* use) {
  if (use != nullptr && use->is_removed) {
    return "removed";
  }
  if (use != nullptr && use->is_drained && host.state == "alive") {
    return use->jobs.empty() ? "drained" : "draining";
  }
  return host_state_text(host);
}

/// "c starts nothing: disk: 12 MiB free of ...". Precondition: starts_nothing().
inline std::string shortage_text(const agent::HostInfo& host) {
  return host.name + " " + host.detail;
}

}  // namespace muster::cli
