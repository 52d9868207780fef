#include "cli/kit/host_name.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "agent/api/hosts.h"
#include "agent/api/payload.h"
#include "agent/api/request.h"

namespace muster::cli {

using agent::ResponseStatus;

namespace {

/// Answers asked for; each holds hundreds of hosts at least.
constexpr std::size_t kHostPagesMax = 1000;
/// The uses are an addition: the list of hosts does not wait for a voter that is cut off.
constexpr Duration kUsesTimeout = std::chrono::seconds(1);

}  // namespace

/// Page by page; an older node gives all in one.
std::optional<agent::HostList> read_hosts(Session& session) {
  agent::HostList all;
  for (std::size_t page = 0; page < kHostPagesMax; ++page) {
    auto list = session.read<agent::HostList>(agent::Verb::kHosts,
                                              agent::encode_payload(agent::HostsQuery{all.next}));
    if (!list.has_value()) {
      return std::nullopt;
    }
    std::move(list->hosts.begin(), list->hosts.end(), std::back_inserter(all.hosts));
    all.storm = list->storm;
    all.seeds_unmet = std::move(list->seeds_unmet);
    all.voter_notes = std::move(list->voter_notes);
    if (!(all.next < list->next)) {
      break;
    }
    all.next = list->next;
  }
  std::stable_sort(
      all.hosts.begin(), all.hosts.end(),
      [](const agent::HostInfo& a, const agent::HostInfo& b) { return a.name < b.name; });
  return all;
}

std::optional<std::map<HostId, agent::HostUse>> read_host_uses(Session& session,
                                                               bool is_consistent) {
  std::map<HostId, agent::HostUse> all;
  HostId next;
  for (std::size_t page = 0; page < kHostPagesMax; ++page) {
    agent::Request request;
    request.verb = agent::Verb::kHostUses;
    request.consistent = is_consistent;
    request.arguments = agent::encode_payload(agent::HostsQuery{next});
    const Reply reply = session.exchange(request, std::min(session.common().timeout, kUsesTimeout));
    auto list = reply.is_ok() ? agent::decode_payload<agent::HostUseList>(reply.response.payload)
                              : std::nullopt;
    if (!list.has_value()) {
      return std::nullopt;
    }
    for (agent::HostUse& use : list->hosts) {
      const HostId id = use.id;
      all[id] = std::move(use);
    }
    if (!(next < list->next)) {
      break;
    }
    next = list->next;
  }
  return all;
}

FoundHost find_host(Session& session, const std::string& name) {
  const auto list = read_hosts(session);
  if (!list.has_value()) {
    return {std::nullopt, session.failed()};
  }
  std::vector<agent::HostInfo> found;
  std::copy_if(list->hosts.begin(), list->hosts.end(), std::back_inserter(found),
               [&](const agent::HostInfo& host) {
                 return host.name == name || host.id.short_hex() == name || host.id.hex() == name;
               });
  if (found.empty()) {
    return {std::nullopt,
            session.fail(ResponseStatus::kNotFound,
                         "there is no host '" + name + "'; `muster hosts` lists them")};
  }
  if (found.size() > 1) {
    if (const auto uses = read_host_uses(session); uses.has_value()) {
      std::erase_if(found, [&](const agent::HostInfo& host) {
        const auto use = uses->find(host.id);
        return host.state == "revoked" ||
               (use != uses->end() && (use->second.is_removed || use->second.has_left));
      });
    }
  }
  if (found.size() != 1) {
    return {std::nullopt, session.fail(ResponseStatus::kConflict,
                                       "several hosts are called '" + name +
                                           "': name one by its id, as `muster hosts` shows it")};
  }
  return {found.front(), 0};
}

}  // namespace muster::cli
