#pragma once
// The one that asks an agent: what the connection proves of him, which host's login says it, and
// the way on which the answer goes back. A login is a user of the agent's own socket on its host;
// another member passes on what a login there asked.

#include <cstddef>
#include <cstdint>
#include <string>

#include "gossip/base/ids.h"
#include "gossip/wire/transport.h"

namespace muster::agent {

/// Of the kernel of the agent's host.
struct Login {
  std::uint32_t uid = 0;
  std::string name;  ///< "" = none is known.
};

/// Where the answer goes: a connection of ours.
struct WayBack {
  gossip::Route route;
  Nonce nonce;
  std::string trailing{};  ///< Unknown elements of the asker's envelope, returned whole.
  std::size_t trailing_count = 0;
};

struct Asker {
  gossip::Sender proven;  ///< By the connection.
  HostId host;            ///< The one whose login says it, or that passed it on.
  std::string name;       ///< "USER@HOST", as the request says: nothing proves it yet.
  WayBack back;
};

/// Why the agent that runs as `own` does not answer, and who may ask; "" when it does. Root is
/// answered, as it could read and do everything without asking. A ticket is no login's: what its
/// bearer may ask is judged where requests are.
std::string why_denied(const gossip::Sender& sender, const Login& own);

}  // namespace muster::agent
