#include "agent/api/json/audit_check.h"

#include <utility>

#include "agent/api/json/audit_file_line.h"

namespace muster::agent {

AuditCheck::AuditCheck(const gossip::Verifier& verifier, std::string path,
                       std::optional<ChainEnd> noted)
    : chain_(verifier), noted_(std::move(noted)) {
  report_.path = std::move(path);
}

std::string AuditCheck::why_wrong(std::string_view line) {
  const std::uint64_t last = chain_.end().number;
  if (std::string why = chain_.take(line); !why.empty()) {
    return why;
  }
  const auto facts = read_audit_file_line(line);
  if (!facts.has_value() || facts->number != chain_.end().number) {
    return "it is no line of an audit file";
  }
  if (report_.lines > 0 && facts->cluster != cluster_) {
    return "it is of another cluster than the first line";
  }
  const bool is_gap = facts->missing_from != 0;
  if (is_gap ? facts->missing_from != last + 1 : facts->number != last + 1) {
    return "lines of the audit are missing before it, and no line says so";
  }
  if (noted_.has_value() && noted_->number <= chain_.end().number) {
    if (*noted_ != chain_.end()) {
      return "it is another line than the one that was noted";
    }
    noted_.reset();
  }
  cluster_ = facts->cluster;
  report_.missing += is_gap ? facts->number - last : 0;
  if (facts->unix_ms != 0) {
    report_.first_unix_ms = report_.first_unix_ms == 0 ? facts->unix_ms : report_.first_unix_ms;
    report_.last_unix_ms = facts->unix_ms;
  }
  return "";
}

bool AuditCheck::take(std::string_view line) {
  report_.why = why_wrong(line);
  if (!report_.why.empty()) {
    report_.wrong_line = report_.lines + 1;
    return false;
  }
  report_.end = chain_.end();
  ++report_.lines;
  return true;
}

AuditFileReport AuditCheck::finish(bool has_rest) {
  if (report_.wrong_line == 0 && has_rest) {
    report_.why =
        "it has no end: its agent writes it now, or was killed while it wrote and mends it at its "
        "next start";
  } else if (report_.wrong_line == 0 && noted_.has_value()) {
    report_.why = "it is missing: the file had lines up to number " +
                  std::to_string(noted_->number) + " when its end was noted";
  }
  if (!report_.why.empty() && report_.wrong_line == 0) {
    report_.wrong_line = report_.lines + 1;
  }
  return report_;
}

}  // namespace muster::agent
