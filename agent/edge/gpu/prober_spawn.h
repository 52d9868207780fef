#pragma once
// Starts `EXECUTABLE probe` so that nothing of this process goes along but one socket.

#include <string>
#include <vector>

namespace muster::agent {

struct ProberSpawn {
  std::string executable;
  std::vector<std::string> arguments;  ///< From argv[0] on.
  int socket = -1;                     ///< Its standard input and output.
};

/// Returns the child's pid, or a negative errno. Its complaints go nowhere.
int spawn_prober(ProberSpawn& spawn);

}  // namespace muster::agent
