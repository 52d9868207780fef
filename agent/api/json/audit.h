#pragma once
// JSON of the audit, by the rules of view.h.

#include <string>
#include <vector>

#include "agent/api/audit.h"
#include "agent/api/json/audit_check.h"
#include "agent/api/request.h"

namespace muster::agent {

std::string audit_json(const AuditPage& page, const Response& answer);
/// The members of one line but its number, without braces: `"unix_ms":1700000000123,"index":47,...`
std::string audit_members(const AuditInfo& line);
/// The findings of `muster audit verify`.
std::string audit_files_json(const std::vector<AuditFileReport>& files);

}  // namespace muster::agent
