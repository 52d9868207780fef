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

std::string audit_members(const AuditInfo& line) {
  Json view = audit_view(line);
  view.erase("audit_number");
  const std::string object = dump(view);
  return object.substr(1, object.size() - 2);
}

std::string audit_files_json(const std::vector<AuditFileReport>& files) {
  Json views = Json::array();
  for (const AuditFileReport& file : files) {
    views.push_back({{"path", file.path},
                     {"line_count", file.lines},
                     {"lines_missing", file.missing},
                     {"first_unix_ms", number_or_null(file.first_unix_ms)},
                     {"last_unix_ms", number_or_null(file.last_unix_ms)},
                     {"last_audit_number", number_or_null(file.end.number)},
                     {"last_digest", file.end.number == 0 ? Json(nullptr) : Json(file.end.digest)},
                     {"wrong_line", number_or_null(file.wrong_line)},
                     {"why", text_or_null(file.why)}});
  }
  return dump({{"audit_files", views}});
}

}  // namespace muster::agent
