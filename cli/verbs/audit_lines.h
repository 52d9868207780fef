#pragma once
// The audit for `muster events --audit`: read page by page, printed as a table or as JSON.

#include <cstdint>

#include "agent/api/audit.h"
#include "cli/kit/session.h"

namespace muster::cli {

/// Prints the lines that match `query`, the newest `shown` of them; 0 = all. Returns the exit code.
int show_audit(Session& session, agent::AuditQuery query, std::uint64_t shown);

}  // namespace muster::cli
