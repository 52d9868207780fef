#include "cli/verbs/audit_lines.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "agent/api/json/audit.h"
#include "agent/api/payload.h"
#include "cli/kit/table.h"
#include "cli/kit/text.h"

namespace muster::cli {
namespace {

/// Twice the pages of an audit that is full. Lines that are added meanwhile make more.
constexpr std::size_t kAuditPagesMax = 1'000;

/// All pages together; nullopt after a failure that was printed.
std::optional<agent::AuditPage> read_audit(Session& session, agent::AuditQuery query) {
  agent::AuditPage all;
  for (std::size_t pages = 0; pages < kAuditPagesMax; ++pages) {
    auto page = session.read<agent::AuditPage>(agent::Verb::kAudit, agent::encode_payload(query));
    if (!page.has_value()) {
      return std::nullopt;
    }
    all.first = page->first;
    all.last = std::max(all.last, page->last);
    all.is_own = page->is_own;
    std::move(page->lines.begin(), page->lines.end(), std::back_inserter(all.lines));
    if (page->next <= query.after) {
      break;
    }
    query.after = page->next;
    query.newest = 0;
  }
  return all;
}

std::string outcome_of(const agent::AuditInfo& line) {
  std::string text = line.outcome;
  if (!line.why.empty() && line.why != line.outcome) {
    text += ": " + in_words(line.why);
  }
  return line.told_by.empty() ? text : text + " (told by " + line.told_by + ")";
}

void print_audit(Session& session, const agent::AuditPage& page) {
  if (page.is_own) {
    session.note("these are your own lines: operators and administrators see those of all users");
  }
  if (page.lines.empty()) {
    session.note("the audit has no such line");
    return;
  }
  Table table({{.title = "TIME", .columns_min = 19},
               {.title = "USER", .columns_min = 8},
               {.title = "HOST", .columns_min = 8},
               {.title = "VERB", .columns_min = 8},
               {.title = "OBJECT", .columns_min = 8},
               {.title = "OUTCOME", .columns_min = 12}});
  for (const agent::AuditInfo& line : page.lines) {
    table.add({line.unix_ms == 0 ? "-" : session.world().clock.local_time(line.unix_ms),
               line.user.empty() ? "-" : line.user, line.host_name.empty() ? "-" : line.host_name,
               line.verb.empty() ? "-" : line.verb, line.object.empty() ? "-" : line.object,
               outcome_of(line)});
  }
  session.out() << table.text(session.screen());
}

}  // namespace

int show_audit(Session& session, agent::AuditQuery query, std::uint64_t shown) {
  query.newest = shown;
  auto page = read_audit(session, std::move(query));
  if (!page.has_value()) {
    return session.failed();
  }
  // Lines that were added between two pages.
  if (shown > 0 && page->lines.size() > shown) {
    page->lines.erase(page->lines.begin(), page->lines.end() - static_cast<std::ptrdiff_t>(shown));
  }
  if (session.common().is_json) {
    session.out() << agent::audit_json(*page, session.last()) << "\n";
  } else {
    print_audit(session, *page);
  }
  return 0;
}

}  // namespace muster::cli
