#pragma once
// The requests that a login may make, and through which host. If the roll lets a host vouch for its
// logins, it passes on all their requests. Through another host a login sees the hosts and voters,
// and gets answers about its own host. The user of a login that is vouched for has the rights of a
// role (scheduler/access/authorize.h). Rules without fields.

#include <string>

#include "agent/api/output.h"
#include "agent/api/request.h"
#include "gossip/base/ids.h"
#include "gossip/base/time.h"
#include "scheduler/access/directory.h"
#include "scheduler/state/state.h"

namespace muster::agent {

/// The rights by which a host judges requests.
struct KnownRights {
  const scheduler::Directory& directory;
  Duration cluster_time;  ///< Access tokens end by it.
};

/// Why the user, or the token that the request shows, may not make the request; "" = they may, or,
/// of a request for output, its owner decides (why_output_denied()). The arguments are readable.
/// Precondition: the directory is that of `state`, or the request is answered without the log.
std::string why_denied(const KnownRights& rights, const scheduler::State& state,
                       const Request& request);
/// Why they may not read output of that owner; "" = they may.
std::string why_output_denied(const KnownRights& rights, const Request& request,
                              const OutputOwner& owner);
/// The team of a job that the request submits and that names none: that of the token, if the token
/// has one, else the first team of the user.
std::string team_of_submit(const scheduler::Directory& directory, const Request& request);

/// A login and its host.
struct Speaker {
  HostId host;
  /// It is root there, or the user of the agent. Another login may not change the host itself.
  bool owns_host = false;
};

/// True if host `asked` answers the login although its host may not vouch for it. Precondition:
/// `request` does not name `asked` as the node that answers.
bool is_open_to_all(const Request& request, const Speaker& speaker, HostId asked);

}  // namespace muster::agent
