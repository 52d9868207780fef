#pragma once
// Reads an audit file for AuditCheck, piece by piece: such a file may be larger than the memory.

#include <optional>
#include <string>

#include "agent/api/json/audit_check.h"
#include "gossip/base/result.h"

namespace muster::cli {

/// `noted`: an end that the file had earlier. kNotFound if there is no such file; kDenied and kIo
/// if it cannot be read.
Result<agent::AuditFileReport> check_audit_file(const std::string& path,
                                                const std::optional<agent::ChainEnd>& noted);

}  // namespace muster::cli
