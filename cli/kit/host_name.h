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
  int exit_code = 0;  ///< Without a host: what was said about it.
};

/// Every host that the node knows, by name. Nothing: the failure was printed, as Session::read()
/// does.
std::optional<agent::HostList> read_hosts(Session& session);

/// What the log says of hosts, by id; `is_consistent`: asked of the leader. Nothing: no voter could
/// be asked in time, which is no failure.
std::optional<std::map<HostId, agent::HostUse>> read_host_uses(Session& session,
                                                               bool is_consistent = false);

/// By name, by the short id that `hosts` shows, or by the whole id. Says what is wrong itself when
/// there is no such host, when several are called so, or when no node answers. One that was removed
/// is meant only when no other is called so.
FoundHost find_host(Session& session, const std::string& name);

}  // namespace muster::cli
