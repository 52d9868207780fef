#pragma once
// The lines of an audit file, by the chain of audit_chain.h: one a line of the audit, and one for
// lines of the audit that the log no longer kept when the file was behind. Numbers follow each
// other. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agent/api/audit.h"
#include "agent/api/json/audit_chain.h"
#include "gossip/base/ids.h"

namespace muster::agent {

/// The line of the audit as a line of the file, without line feed.
std::string audit_file_line(const ChainEnd& before, const ClusterId& cluster,
                            const AuditInfo& line);
/// States that the file has no lines for the numbers behind `before` up to `last`.
std::string audit_gap_line(const ChainEnd& before, const ClusterId& cluster, std::uint64_t last);

/// The members of a line that tell which one it is.
struct AuditFileLine {
  std::uint64_t number = 0;
  std::string cluster;             ///< In hex.
  std::uint64_t unix_ms = 0;       ///< 0 = not known.
  std::uint64_t index = 0;         ///< Of the entry; 0 = a line about missing ones.
  std::uint64_t missing_from = 0;  ///< A line about missing ones: the first of them; 0 = it is not.
};
/// nullopt if it is not the JSON of such a line. The chain is not looked at.
std::optional<AuditFileLine> read_audit_file_line(std::string_view text);

}  // namespace muster::agent
