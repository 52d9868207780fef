#pragma once
// A host as a person names it.

#include <map>
#include <optional>
#include <string>

#include "agent/api/hosts.h"
#include "cli/kit/session.h"

namespace muster::cli {

struct FoundHost {
  std::optional<agent::HostInfo> host;
  int exit_code = 0;  ///< Without a host: that of the failure that was printed.
};

/// Every host that the node knows, by name. nullopt after a failure that it printed, as
/// Session::read() does.
std::optional<agent::HostList> read_hosts(Session& session);

/// The use of hosts by the log, by id; `is_consistent`: asked of the leader. nullopt if no voter
/// could be asked in time, which is no failure.
std::optional<std::map<HostId, agent::HostUse>> read_host_uses(Session& session,
                                                               bool is_consistent = false);

/// By name, by the short id that `hosts` shows, or by the whole id. Says what is wrong itself when
/// there is no such host, when several are called so, or when no node answers. One that was removed
/// is meant only when no other is called so.
FoundHost find_host(Session& session, const std::string& name);

}  // namespace muster::cli
