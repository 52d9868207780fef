#pragma once
// A host as a person names it.

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

/// By name, by the short id that `hosts` shows, or by the whole id. Says what is wrong itself when
/// there is no such host, when several are called so, or when no node answers.
FoundHost find_host(Session& session, const std::string& name);

}  // namespace muster::cli
