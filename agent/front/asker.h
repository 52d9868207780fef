#pragma once
// Asker is the client of a request: the identity that its connection proves, the host of its login,
// and the way on which the answer goes back. A login is a user of the socket of the agent on its
// host. Another member may pass on the request of a login there.

#include <cstddef>
#include <cstdint>
#include <string>

#include "gossip/base/ids.h"
#include "gossip/wire/transport.h"
#include "scheduler/protocol/users.h"

namespace muster::agent {

/// A user of the agent's host, as its kernel says.
struct Login {
  std::uint32_t uid = 0;
  std::string name;  ///< "" = not known.
};

/// The connection of this host on which the answer goes back.
struct WayBack {
  gossip::Route route;
  Nonce nonce;
  std::string trailing{};  ///< Unknown elements of the asker's envelope; the answer returns them.
  std::size_t trailing_count = 0;
};

struct Asker {
  gossip::Sender proven;  ///< The identity that the connection proves.
  HostId host;            ///< The host of the login, or the host that passed the request on.
  scheduler::Subject by;  ///< The person; the host of the login states the user.
  WayBack back;
};

/// True if it is a login of root, which can read and do everything on its host anyway, or of the
/// user that the agent runs as.
bool owns_host(const gossip::Sender& sender, const Login& own);
/// True if it is any other login of the agent's host.
bool is_guest(const gossip::Sender& sender, const Login& own);

/// The reason that an agent which runs as `own` does not answer, and the users that may ask; "" if
/// it answers. An agent of root answers every login that has a name; the log decides what its user
/// may do. Any other agent answers its own user and root. Each answers the bearer of a ticket, too:
/// the verb decides what such a bearer may ask. It answers a client of HTTPS, too: take_token()
/// decides.
std::string why_denied(const gossip::Sender& sender, const Login& own);
/// The same of an agent that has no cluster: one of root answers guests if the request is one that
/// agents answer in or out of a cluster (Answerer::kAskedAnyway), as that for the version.
std::string why_denied_without_cluster(const gossip::Sender& sender, const Login& own,
                                       bool is_for_all);

/// The name of a login, whose uid the kernel proves; "" = not known here.
std::string name_of_login(const gossip::Sender& sender, const Login& own);

}  // namespace muster::agent
