#pragma once
// The hosts of a cluster, and a host as a client names it: by name, by the short id or by the whole
// one. The same questions as the CLI asks.

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "agent/api/hosts.h"
#include "agent/api/rest/call_step.h"

namespace muster::agent {

/// By id; nullopt if no voter could be asked, which is no failure.
using HostUses = std::optional<std::map<HostId, HostUse>>;

/// Every host that the node knows, by name, and the answer to the last question.
CallStep read_hosts(const CallFrame& frame,
                    std::function<CallStep(HostList, const Response&)> take);
/// The hosts as the log has them.
CallStep read_host_uses(const CallFrame& frame, std::function<CallStep(HostUses)> take);
/// 404 if there is no such host, 409 if there are several. A host that was removed is meant only if
/// no other host has that name.
CallStep find_host(const CallFrame& frame, const std::string& name,
                   std::function<CallStep(const HostInfo&)> take);

}  // namespace muster::agent
