#include "cli/host_name.h"

#include <algorithm>
#include <vector>

namespace muster::cli {

using agent::ResponseStatus;

FoundHost find_host(Session& session, const std::string& name) {
  const auto list = session.read<agent::HostList>(agent::Verb::kHosts);
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
    return {std::nullopt, session.fail(ResponseStatus::kConflict,
                                       std::to_string(found.size()) + " hosts are called '" + name +
                                           "': name one by its id, as `muster hosts` shows it")};
  }
  return {found.front(), 0};
}

}  // namespace muster::cli
