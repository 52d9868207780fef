#pragma once
// Starts `EXECUTABLE supervise` so that nothing of this process goes along but one socket.

#include <string>
#include <vector>

namespace muster::agent {

struct SupervisorSpawn {
  std::string executable;
  std::vector<std::string> arguments;  ///< From argv[0] on; the socket is descriptor 3 there.
  std::string log;                     ///< Where its stdout and stderr go.
  int socket = -1;
};

/// Returns the child's pid, or a negative errno.
int spawn_supervisor(SupervisorSpawn& spawn);

}  // namespace muster::agent
