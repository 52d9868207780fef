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

/// The reason that an agent which runs as `own` does not answer, and the users that may ask; "" if
/// it answers. It answers root, which can read and do everything anyway. It answers the bearer of a
/// ticket, too: the verb decides what such a bearer may ask.
std::string why_denied(const gossip::Sender& sender, const Login& own);

/// The name of a login that the agent answers, whose uid the kernel proves; "" = not known here.
std::string name_of_login(std::uint32_t uid, const Login& own);

}  // namespace muster::agent
