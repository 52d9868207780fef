#pragma once
// Asks the name service of this host for a login, in a child process: the service may be a module
// of somebody else (sssd, LDAP), which loads libraries, leaves descriptors open, and can hang.

#include <optional>
#include <string>

#include "agent/edge/grant/rank_user.h"
#include "gossip/base/result.h"
#include "gossip/base/time.h"

namespace muster::agent {

/// A child that takes longer is killed. Lower: a slow LDAP refuses a job; higher: a gang waits
/// that long for a host whose name service hangs.
inline constexpr Duration kLookupPatience = std::chrono::seconds(2);

/// The login of that name, nullopt if there is no such login, kIo if the service does not know.
using LoginSource = Result<std::optional<RankIdentity>> (*)(const std::string& name);
/// That of this host: getpwnam_r() and getgrouplist(). kIo also if the service that should know the
/// primary group fails. If several services know groups and another one fails, its groups are
/// missing.
Result<std::optional<RankIdentity>> host_login(const std::string& name);

/// Blocks for `patience` at most. kNotFound: the login is unknown on this host. kIo: the service
/// failed or did not answer. It calls `source` in a child, which may live on if not even KILL ends
/// it: the caller reaps its children.
Result<RankIdentity> look_up(const std::string& name, Duration patience = kLookupPatience,
                             LoginSource source = host_login);

}  // namespace muster::agent
