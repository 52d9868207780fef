#include "agent/api/rest/cluster_calls.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "agent/api/audit.h"
#include "agent/api/certify.h"
#include "agent/api/enrolment.h"
#include "agent/api/events.h"
#include "agent/api/json/audit.h"
#include "agent/api/json/enrolment.h"
#include "agent/api/json/http_root.h"
#include "agent/api/json/users.h"
#include "agent/api/json/view.h"
#include "agent/api/rest/host_lookup.h"
#include "agent/api/rest/openapi.h"
#include "agent/api/stats.h"
#include "agent/api/users.h"

namespace muster::agent {
namespace {

/// Events and lines of the audit that are listed if the client names no number.
constexpr std::uint64_t kLinesListed = 50;
/// Answers asked for; each holds hundreds of lines at least.
constexpr std::size_t kLinePagesMax = 1000;

/// The events that are read by the steps of one call.
struct EventsRead {
  EventsPage all{};
  EventsQuery query{};
  HostId target{};
  std::uint64_t limit = 0;  ///< Of a page; 0 = the newest ones are asked for.
  std::size_t pages = 0;
};

CallStep told_events(const CallFrame& frame, EventsRead& done, const Response& response) {
  const bool is_cut = done.limit != 0 && done.all.events.size() > done.limit;
  if (is_cut) {
    done.all.events.resize(done.limit);
  }
  CallStep step = told(frame, to_json(done.all, response), response);
  return is_cut ? with_next(std::move(step), std::to_string(done.all.events.back().sequence))
                : std::move(step);
}

CallStep next_events(const CallFrame& frame, const std::shared_ptr<EventsRead>& so_far) {
  return look_up<EventsPage>(
      frame, Verb::kEvents, encode_payload(so_far->query),
      [frame, so_far](EventsPage page, const Response& response) -> CallStep {
        EventsPage& all = so_far->all;
        all.lost += page.lost;
        all.last = std::max(all.last, page.last);
        const bool is_end = page.events.empty() || page.events.back().sequence >= page.last;
        so_far->query.after =
            page.events.empty() ? so_far->query.after : page.events.back().sequence;
        so_far->query.newest = 0;
        std::move(page.events.begin(), page.events.end(), std::back_inserter(all.events));
        const bool is_full = so_far->limit != 0 && all.events.size() > so_far->limit;
        return is_end || is_full || ++so_far->pages == kLinePagesMax
                   ? told_events(frame, *so_far, response)
                   : next_events(frame, so_far);
      },
      so_far->target);
}

/// The lines of the audit that are read by the steps of one call.
struct AuditRead {
  AuditPage all{};
  AuditQuery query{};
  std::uint64_t newest = 0;  ///< Lines in the end; 0 = a page is asked for.
  std::uint64_t limit = 0;   ///< Of a page.
  std::size_t pages = 0;
};

CallStep told_audit(const CallFrame& frame, AuditRead& done, const Response& response) {
  std::vector<AuditInfo>& lines = done.all.lines;
  if (done.newest != 0 && lines.size() > done.newest) {
    // Lines were added between two answers.
    lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(done.newest));
  }
  const bool is_cut = done.newest == 0 && lines.size() > done.limit;
  if (is_cut) {
    lines.resize(done.limit);
  }
  CallStep step = told(frame, audit_json(done.all, response), response);
  return is_cut ? with_next(std::move(step), std::to_string(lines.back().number)) : std::move(step);
}

CallStep next_audit(const CallFrame& frame, const std::shared_ptr<AuditRead>& so_far) {
  return look_up<AuditPage>(
      frame, Verb::kAudit, encode_payload(so_far->query),
      [frame, so_far](AuditPage page, const Response& response) -> CallStep {
        AuditPage& all = so_far->all;
        all.first = page.first;
        all.last = std::max(all.last, page.last);
        all.is_own = page.is_own;
        std::move(page.lines.begin(), page.lines.end(), std::back_inserter(all.lines));
        const bool is_full = so_far->newest == 0 && all.lines.size() > so_far->limit;
        if (page.next <= so_far->query.after || is_full || ++so_far->pages == kLinePagesMax) {
          return told_audit(frame, *so_far, response);
        }
        so_far->query.after = page.next;
        so_far->query.newest = 0;
        return next_audit(frame, so_far);
      });
}

CallStep order_rotation(const CallFrame& frame, const RotateArgs& args, const std::string& what) {
  return order(frame, Verb::kRotateKeys, encode_payload(args),
               [frame, what](const Response& response) {
                 return told(frame, rotated_json(what, false), response);
               });
}

}  // namespace

CallStep show_version(CallInput& input) {
  if (const Status status = input.end(); !status) {
    return refused(status.error());
  }
  // A node tells its version to everybody, whatever token is shown. Therefore the proof is judged
  // by another question first.
  return look_up<WhoamiInfo>(
      input.frame, Verb::kWhoami, "", [frame = input.frame](const WhoamiInfo&, const Response&) {
        return ask(request_of(frame, Verb::kVersion, ""), [frame](const Response& response) {
          const auto node = response.status == ResponseStatus::kOk
                                ? decode_payload<VersionInfo>(response.payload)
                                : std::nullopt;
          return told(frame, to_json(node), response);
        });
      });
}

CallStep show_whoami(CallInput& input) {
  if (const Status status = input.end(); !status) {
    return refused(status.error());
  }
  return look_up<WhoamiInfo>(
      input.frame, Verb::kWhoami, "",
      [frame = input.frame](const WhoamiInfo& info, const Response& response) {
        return told(frame, to_json(info, response), response);
      });
}

CallStep show_stats(CallInput& input) {
  const std::string host = input.query.text("host").value_or("");
  if (const Status status = input.end(); !status) {
    return refused(status.error());
  }
  const auto read_stats = [frame = input.frame](HostId target) {
    return look_up<StatsInfo>(
        frame, Verb::kStats, "",
        [frame](const StatsInfo& stats, const Response& response) {
          return told(frame, to_json(stats, response), response);
        },
        target);
  };
  return host.empty() ? read_stats(HostId())
                      : find_host(input.frame, host, [read_stats](const HostInfo& found) {
                          return read_stats(found.id);
                        });
}

CallStep list_events(CallInput& input) {
  auto wanted = std::make_shared<EventsRead>();
  const std::string host = input.query.text("host").value_or("");
  wanted->query.since_ms = span_ms(input.query, "since");
  wanted->query.severity = input.query.choice("level", {"info", "warn", "alarm"}).value_or("");
  wanted->query.names = input.query.texts("event");
  const auto after = input.query.number("after", 0, UINT64_MAX);
  const auto limit = input.query.number("limit", 1, kPageMax);
  wanted->query.after = after.value_or(0);
  wanted->query.newest = after.has_value() ? 0 : limit.value_or(kLinesListed);
  wanted->limit = after.has_value() ? limit.value_or(kPageMax) : 0;
  if (const Status status = input.end(); !status) {
    return refused(status.error());
  }
  return host.empty()
             ? next_events(input.frame, wanted)
             : find_host(input.frame, host, [frame = input.frame, wanted](const HostInfo& found) {
                 wanted->target = found.id;
                 return next_events(frame, wanted);
               });
}

CallStep list_audit(CallInput& input) {
  auto wanted = std::make_shared<AuditRead>();
  wanted->query.user = input.query.text("user").value_or("");
  wanted->query.verb = input.query.text("verb").value_or("");
  wanted->query.since_ms = span_ms(input.query, "since");
  const auto after = input.query.number("after", 0, UINT64_MAX);
  const auto limit = input.query.number("limit", 1, kPageMax);
  wanted->query.after = after.value_or(0);
  wanted->newest = after.has_value() ? 0 : limit.value_or(kLinesListed);
  wanted->query.newest = wanted->newest;
  wanted->limit = limit.value_or(kPageMax);
  if (const Status status = input.end(); !status) {
    return refused(status.error());
  }
  return next_audit(input.frame, wanted);
}

CallStep show_usage(CallInput& input) {
  UsageQuery query;
  query.by = input.query.choice("by", {"user", "type", "name"}).value_or(query.by);
  query.since_ms = span_ms(input.query, "since");
  if (query.by == "name" && query.since_ms != 0) {
    input.query.refuse("since",
                       "it works only with by=user and by=type: no days are kept for job names");
  }
  if (const Status status = input.end(); !status) {
    return refused(status.error());
  }
  return look_up<UsageList>(
      input.frame, Verb::kUsage, encode_payload(query),
      [frame = input.frame, by = query.by](const UsageList& list, const Response& response) {
        return told(frame, to_json(list, by, response), response);
      });
}

CallStep show_keys(CallInput& input) {
  if (const Status status = input.end(); !status) {
    return refused(status.error());
  }
  return look_up<KeysInfo>(
      input.frame, Verb::kKeys, "", [frame = input.frame](KeysInfo keys, const Response& response) {
        std::stable_sort(
            keys.hosts.begin(), keys.hosts.end(),
            [](const HostKeys& left, const HostKeys& right) { return left.name < right.name; });
        return told(frame, to_json(keys, response), response);
      });
}

CallStep rotate_keys(CallInput& input) {
  RotateArgs args;
  const std::string host = input.body.text("host").value_or("");
  const bool is_all = input.body.boolean("all").value_or(false);
  args.is_authority = input.body.boolean("authority").value_or(false);
  if (const Status status = input.end(); !status) {
    return refused(status.error());
  }
  if ((host.empty() ? 0 : 1) + (is_all ? 1 : 0) + (args.is_authority ? 1 : 0) != 1) {
    return refused(ResponseStatus::kUsage, "give a host, all, or authority");
  }
  if (host.empty()) {
    return order_rotation(input.frame, args, is_all ? "all" : "authority");
  }
  return find_host(input.frame, host, [frame = input.frame, host](const HostInfo& found) {
    return order_rotation(frame, RotateArgs{found.id, false}, host);
  });
}

CallStep show_http_root(CallInput& input) {
  if (const Status status = input.end(); !status) {
    return refused(status.error());
  }
  return look_up<HttpRootInfo>(
      input.frame, Verb::kHttpRoot, "",
      [frame = input.frame](const HttpRootInfo& info, const Response& response) {
        return told(frame, to_json(info, response), response);
      });
}

/// The question is asked for its proof alone.
CallStep show_openapi(CallInput& input) {
  if (const Status status = input.end(); !status) {
    return refused(status.error());
  }
  return look_up<WhoamiInfo>(input.frame, Verb::kWhoami, "",
                             [frame = input.frame](const WhoamiInfo&, const Response& response) {
                               return told(frame, openapi_document(), response);
                             });
}

}  // namespace muster::agent
