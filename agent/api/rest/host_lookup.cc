#include "agent/api/rest/host_lookup.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace muster::agent {
namespace {

/// Answers asked for; each holds hundreds of hosts at least.
constexpr std::size_t kHostPagesMax = 1000;

using TakeHosts = std::function<CallStep(HostList, const Response&)>;
using TakeUses = std::function<CallStep(HostUses)>;

/// `all` is shared by the steps of one call, one after the other.
CallStep next_hosts(const CallFrame& frame, std::shared_ptr<HostList> all, std::size_t pages,
                    const TakeHosts& take) {
  const std::string arguments = encode_payload(HostsQuery{all->next});
  return look_up<HostList>(
      frame, Verb::kHosts, arguments,
      [frame, all, pages, take](HostList list, const Response& response) -> CallStep {
        std::move(list.hosts.begin(), list.hosts.end(), std::back_inserter(all->hosts));
        all->storm = list.storm;
        all->seeds_unmet = std::move(list.seeds_unmet);
        all->voter_notes = std::move(list.voter_notes);
        if (all->next < list.next && pages + 1 < kHostPagesMax) {
          all->next = list.next;
          return next_hosts(frame, all, pages + 1, take);
        }
        std::stable_sort(all->hosts.begin(), all->hosts.end(),
                         [](const HostInfo& a, const HostInfo& b) { return a.name < b.name; });
        return take(std::move(*all), response);
      });
}

CallStep next_uses(const CallFrame& frame, std::shared_ptr<std::map<HostId, HostUse>> all,
                   HostId after, std::size_t pages, const TakeUses& take) {
  CallStep step = ask(request_of(frame, Verb::kHostUses, encode_payload(HostsQuery{after})),
                      [frame, all, after, pages, take](const Response& response) -> CallStep {
                        auto list = response.status == ResponseStatus::kOk
                                        ? decode_payload<HostUseList>(response.payload)
                                        : std::nullopt;
                        if (!list.has_value()) {
                          return take(std::nullopt);
                        }
                        for (HostUse& use : list->hosts) {
                          const HostId id = use.id;
                          (*all)[id] = std::move(use);
                        }
                        return after < list->next && pages + 1 < kHostPagesMax
                                   ? next_uses(frame, all, list->next, pages + 1, take)
                                   : take(std::move(*all));
                      });
  step.is_addition = true;
  return step;
}

CallStep several_hosts(const std::string& name) {
  return refused(
      ResponseStatus::kConflict,
      "several hosts are called '" + name + "': name one by its id, as `muster hosts` shows it");
}

std::vector<HostInfo> hosts_called(const HostList& list, const std::string& name) {
  std::vector<HostInfo> found;
  std::copy_if(list.hosts.begin(), list.hosts.end(), std::back_inserter(found),
               [&](const HostInfo& host) {
                 return host.name == name || host.id.short_hex() == name || host.id.hex() == name;
               });
  return found;
}

}  // namespace

CallStep read_hosts(const CallFrame& frame, TakeHosts take) {
  return next_hosts(frame, std::make_shared<HostList>(), 0, take);
}

CallStep read_host_uses(const CallFrame& frame, TakeUses take) {
  return next_uses(frame, std::make_shared<std::map<HostId, HostUse>>(), HostId(), 0, take);
}

CallStep find_host(const CallFrame& frame, const std::string& name,
                   std::function<CallStep(const HostInfo&)> take) {
  return read_hosts(
      frame,
      [frame, name, take = std::move(take)](const HostList& list, const Response&) -> CallStep {
        std::vector<HostInfo> found = hosts_called(list, name);
        if (found.empty()) {
          return refused(ResponseStatus::kNotFound,
                         "there is no host '" + name + "'; `muster hosts` lists them");
        }
        if (found.size() == 1) {
          return take(found.front());
        }
        return read_host_uses(frame, [found, name, take](const HostUses& uses) -> CallStep {
          std::vector<HostInfo> left = found;
          std::erase_if(left, [&uses](const HostInfo& host) {
            const auto use =
                uses.has_value() ? uses->find(host.id) : decltype(uses->find(host.id))();
            const bool is_told = uses.has_value() && use != uses->end();
            return uses.has_value() &&
                   (host.state == "revoked" ||
                    (is_told && (use->second.is_removed || use->second.has_left)));
          });
          return left.size() == 1 ? take(left.front()) : several_hosts(name);
        });
      });
}

}  // namespace muster::agent
