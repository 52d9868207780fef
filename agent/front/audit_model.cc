#include "agent/front/audit_model.h"

#include <algorithm>
#include <utility>

#include "scheduler/access/authorize.h"

namespace muster::agent {
namespace {

using scheduler::AuditBook;
using scheduler::AuditLine;

/// If the clock was set back, a line is as young as now. A line without a time is of any age.
bool is_young(const AuditLine& line, const AuditQuery& query, std::int64_t unix_ms) {
  const std::int64_t age = std::max<std::int64_t>(0, unix_ms - line.unix_ms);
  return query.since_ms == 0 || line.unix_ms == 0 ||
         static_cast<std::uint64_t>(age) <= query.since_ms;
}

bool fits(const AuditLine& line, const AuditQuery& query, std::int64_t unix_ms) {
  return (query.user.empty() || line.user == query.user) &&
         (query.verb.empty() || line.verb == query.verb) && is_young(line, query, unix_ms);
}

AuditInfo audit_info(const AuditLine& line, const std::function<std::string(HostId)>& name_of) {
  return {line.number,
          line.index,
          static_cast<std::uint64_t>(std::max<std::int64_t>(0, line.unix_ms)),
          line.by,
          line.user,
          line.host,
          line.host.is_zero() ? "" : name_of(line.host),
          line.told_by.is_zero() ? "" : name_of(line.told_by),
          std::string(text_of(line.proof)),
          line.verb,
          line.object,
          std::string(text_of(line.outcome)),
          line.why};
}

std::size_t bytes_of(const AuditInfo& line) {
  constexpr std::size_t kNumbers = 64;
  return kNumbers + line.by.size() + line.user.size() + line.host_name.size() +
         line.told_by.size() + line.verb.size() + line.object.size() + line.why.size();
}

/// The first line to look at.
AuditBook::Lines::const_iterator first_of(const AuditBook& audit, const AuditQuery& query,
                                          std::int64_t unix_ms) {
  const auto begin = audit.after(query.after);
  if (query.newest == 0) {
    return begin;
  }
  std::uint64_t wanted = query.newest;
  auto first = audit.lines().end();
  while (first != begin && wanted > 0) {
    --first;
    wanted -= fits(*first, query, unix_ms) ? 1U : 0U;
  }
  return first;
}

}  // namespace

AuditPage audit_page(const AuditBook& audit, const AuditQuery& query, std::int64_t unix_ms,
                     const std::function<std::string(HostId)>& name_of) {
  AuditPage page;
  page.first = audit.lines().empty() ? 0 : audit.lines().front().number;
  page.last = audit.last();
  std::size_t bytes = 0;
  for (auto line = first_of(audit, query, unix_ms); line != audit.lines().end(); ++line) {
    if (!fits(*line, query, unix_ms)) {
      continue;
    }
    if (page.lines.size() == kAuditPage || bytes >= kAuditPageBytes) {
      page.next = page.lines.back().number;
      break;
    }
    page.lines.push_back(audit_info(*line, name_of));
    bytes += bytes_of(page.lines.back());
  }
  return page;
}

std::string why_not_audit(const scheduler::Directory& directory, const std::string& user,
                          AuditQuery& query, bool& is_own) {
  const std::string why = why_denied(directory, user, scheduler::Right::kMayOperate, {});
  is_own = !why.empty();
  if (!is_own) {
    return "";
  }
  if (!query.user.empty() && query.user != user) {
    return "of the audit you may see your own lines; for those of others " + why;
  }
  query.user = user;
  return user.empty() ? why : "";
}

}  // namespace muster::agent
