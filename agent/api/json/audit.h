#pragma once
// JSON of the audit, by the rules of view.h.

#include <string>

#include "agent/api/audit.h"
#include "agent/api/request.h"

namespace muster::agent {

std::string audit_json(const AuditPage& page, const Response& answer);

}  // namespace muster::agent
