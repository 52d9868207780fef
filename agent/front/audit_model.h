#pragma once
// The audit, for people to read. Pure functions over the state.

#include <cstdint>
#include <functional>
#include <string>

#include "agent/api/audit.h"
#include "gossip/base/ids.h"
#include "scheduler/access/directory.h"
#include "scheduler/state/audit_book.h"

namespace muster::agent {

/// A page of the lines that match the query. `unix_ms`: the wall clock now, for their ages.
AuditPage audit_page(const scheduler::AuditBook& audit, const AuditQuery& query,
                     std::int64_t unix_ms, const std::function<std::string(HostId)>& name_of);
/// Why the user may not ask that; "" = the user may. Makes the query one for own lines if the user
/// may see no others, and says so in `is_own`.
std::string why_not_audit(const scheduler::Directory& directory, const std::string& user,
                          AuditQuery& query, bool& is_own);

}  // namespace muster::agent
