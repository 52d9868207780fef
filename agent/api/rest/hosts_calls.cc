#include "agent/api/rest/hosts_calls.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "agent/api/enrolment.h"
#include "agent/api/hosts.h"
#include "agent/api/json/dump.h"
#include "agent/api/json/view.h"
#include "agent/api/rest/host_lookup.h"

namespace muster::agent {
namespace {

/// Hosts that left are listed for so long.
constexpr std::uint64_t kLeftListedMs = 24ULL * 3'600'000;

/// It was removed, or left long ago.
bool is_long_gone(const HostInfo& host, const HostUses& uses) {
  if (!uses.has_value()) {
    return false;
  }
  const auto found = uses->find(host.id);
  if (found == uses->end()) {
    return false;
  }
  const HostUse& use = found->second;
  const std::uint64_t since_ms = use.since_ms == 0 ? host.since_ms : use.since_ms;
  return use.is_removed || (host.state == "left" && since_ms > kLeftListedMs);
}

/// A page in the order of ids: hosts behind `after`, of those that are listed.
void cut_page(HostList& list, HostId after, std::size_t limit) {
  std::erase_if(list.hosts, [&](const HostInfo& host) { return host.id <= after; });
  std::sort(list.hosts.begin(), list.hosts.end(),
            [](const HostInfo& a, const HostInfo& b) { return a.id < b.id; });
  if (list.hosts.size() > limit) {
    list.hosts.resize(limit);
    list.next = list.hosts.back().id;
  } else {
    list.next = HostId();
  }
}

/// As http_sd_configs of Prometheus reads it.
std::string targets_json(const HostList& list, const HostUses& uses) {
  Json targets = Json::array();
  for (const HostInfo& host : list.hosts) {
    const bool is_member = host.state != "left" && host.state != "revoked";
    if (is_member && !host.https.empty() && !is_long_gone(host, uses)) {
      targets.push_back(
          {{"targets", {host.https}}, {"labels", {{"host", host.name}, {"rack", host.rack}}}});
    }
  }
  return dump(targets);
}

/// The arguments of an order about the host that was found.
using HostArguments = std::function<std::string(const HostInfo&)>;

/// `document`: of the order that was done.
CallStep order_host(CallInput& input, Verb verb, HostArguments arguments,
                    std::function<std::string(const HostInfo&)> document) {
  if (const Status status = input.end(); !status) {
    return refused(status.error());
  }
  return find_host(input.frame, input.value("host"),
                   [frame = input.frame, verb, arguments = std::move(arguments),
                    document = std::move(document)](const HostInfo& host) {
                     return order(frame, verb, arguments(host),
                                  [frame, host, document](const Response& response) {
                                    return told(frame, document(host), response);
                                  });
                   });
}

std::function<std::string(const HostInfo&)> document_of(std::string done) {
  return [done = std::move(done)](const HostInfo& host) {
    return host_ordered_json(done, host.name, host.id);
  };
}

std::string plain_ref(const HostInfo& host) {
  return encode_payload(HostRef{host.id});
}

Wish wish_of(JsonFields& body, std::string_view name) {
  const auto given = body.boolean(name);
  return !given.has_value() ? Wish::kAsItIs : *given ? Wish::kYes : Wish::kNo;
}

}  // namespace

CallStep list_hosts(CallInput& input) {
  const bool is_all = input.query.boolean("all").value_or(false);
  const auto limit = input.query.number("limit", 1, kPageMax);
  const bool is_page = limit.has_value() || input.query.has("after");
  const auto after = after_id<HostId>(input.query);
  if (const Status status = input.end(); !status) {
    return refused(status.error());
  }
  const std::size_t size = limit.value_or(kPageMax);
  return read_hosts(input.frame, [frame = input.frame, is_all, is_page, size, from = after](
                                     const HostList& list, const Response& response) {
    const auto read = std::make_shared<const HostList>(list);
    return read_host_uses(frame, [=](const HostUses& uses) -> CallStep {
      HostList shown = *read;
      std::erase_if(shown.hosts,
                    [&](const HostInfo& host) { return !is_all && is_long_gone(host, uses); });
      shown.next = HostId();
      if (is_page) {
        cut_page(shown, from, size);
      }
      CallStep step = told(frame, to_json(shown, uses, response), response);
      if (!shown.next.is_zero()) {
        step.answer.fields.emplace_back("muster-next", shown.next.hex());
      }
      return step;
    });
  });
}

CallStep list_targets(CallInput& input) {
  if (const Status status = input.end(); !status) {
    return refused(status.error());
  }
  return read_hosts(input.frame,
                    [frame = input.frame](const HostList& list, const Response& response) {
                      const auto read = std::make_shared<const HostList>(list);
                      return read_host_uses(frame, [frame, read, response](const HostUses& uses) {
                        return told(frame, targets_json(*read, uses), response);
                      });
                    });
}

CallStep show_host(CallInput& input) {
  if (const Status status = input.end(); !status) {
    return refused(status.error());
  }
  return find_host(input.frame, input.value("host"), [frame = input.frame](const HostInfo& host) {
    return look_up<HostDetail>(frame, Verb::kHostDetail, encode_payload(HostRef{host.id}),
                               [frame, host](const HostDetail& detail, const Response& response) {
                                 return told(frame, to_json(host, detail, response), response);
                               });
  });
}

CallStep why_host(CallInput& input) {
  if (const Status status = input.end(); !status) {
    return refused(status.error());
  }
  return find_host(input.frame, input.value("host"), [frame = input.frame](const HostInfo& host) {
    return look_up<WhyHostInfo>(frame, Verb::kWhyHost, encode_payload(HostRef{host.id}),
                                [frame](const WhyHostInfo& why, const Response& response) {
                                  return told(frame, to_json(why, response), response);
                                });
  });
}

CallStep set_host(CallInput& input) {
  const Wish vote = wish_of(input.body, "may_vote");
  const Wish vouch = wish_of(input.body, "may_vouch");
  if (const Status status = input.end(); !status) {
    return refused(status.error());
  }
  if (vote == Wish::kAsItIs && vouch == Wish::kAsItIs) {
    return refused(ResponseStatus::kUsage, "give may_vote, may_vouch, or both");
  }
  return order_host(
      input, Verb::kSetHost,
      [vote, vouch](const HostInfo& host) {
        return encode_payload(SetHostArgs{host.id, vote, vouch});
      },
      document_of("changed"));
}

CallStep drain_host(CallInput& input) {
  const std::string why = input.body.text("why").value_or("");
  const bool requeues = input.body.boolean("requeue").value_or(false);
  const auto deadline = span_of(input.body, "deadline_in");
  if (requeues && deadline.has_value()) {
    input.body.refuse("requeue", "it acts at once and deadline_in_ms later: choose one");
  }
  return order_host(
      input, Verb::kDrain,
      [why, requeues, deadline](const HostInfo& host) {
        return encode_payload(
            DrainArgs{host.id, why, requeues || deadline.has_value(),
                      static_cast<std::uint64_t>(to_ms(deadline.value_or(Duration(0))))});
      },
      document_of("drained"));
}

CallStep undrain_host(CallInput& input) {
  return order_host(input, Verb::kUndrain, plain_ref, document_of("undrained"));
}

CallStep remove_host(CallInput& input) {
  return order_host(input, Verb::kRemoveHost, plain_ref, document_of("removed"));
}

CallStep revoke_host(CallInput& input) {
  return order_host(input, Verb::kRevokeHost, plain_ref, document_of("revoked"));
}

CallStep fence_host(CallInput& input) {
  const bool are_processes_gone = input.body.boolean("processes_gone").value_or(false);
  return order_host(
      input, Verb::kFence,
      [are_processes_gone](const HostInfo& host) {
        return encode_payload(FenceArgs{host.id, are_processes_gone});
      },
      [](const HostInfo& host) { return fenced_json(host.name, host.id); });
}

}  // namespace muster::agent
