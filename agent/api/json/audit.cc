#include "agent/api/json/audit.h"

#include "agent/api/json/dump.h"

namespace muster::agent {
namespace {

Json audit_view(const AuditInfo& line) {
  return {{"audit_number", line.number},
          {"unix_ms", number_or_null(line.unix_ms)},
          {"index", number_or_null(line.index.value())},
          {"by", text_or_null(line.by)},
          {"user", text_or_null(line.user)},
          {"host", text_or_null(line.host_name)},
          {"host_id", id_or_null(line.host)},
          {"told_by", text_or_null(line.told_by)},
          {"proof", text_or_null(line.proof)},
          {"verb", text_or_null(line.verb)},
          {"object", text_or_null(line.object)},
          {"outcome", line.outcome},
          {"why", text_or_null(line.why)}};
}

}  // namespace

std::string audit_json(const AuditPage& page, const Response& answer) {
  Json lines = Json::array();
  for (const AuditInfo& line : page.lines) {
    lines.push_back(audit_view(line));
  }
  return dump_answer({{"audit", lines},
                      {"first_audit_number", number_or_null(page.first)},
                      {"last_audit_number", number_or_null(page.last)}},
                     answer);
}

}  // namespace muster::agent
