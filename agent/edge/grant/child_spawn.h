#pragma once
// Starts a process of this product so that no descriptor of this one goes along but a socket, and
// no signal mask or handler.

#include <string>
#include <vector>

namespace muster::agent {

struct ChildSpawn {
  std::string executable;
  std::vector<std::string> arguments;  ///< From argv[0] on.
  int socket = -1;
  /// Where its stdout and stderr go: then its stdin is empty and the socket is kChildSocket there.
  /// "" = the socket is its stdin and stdout, and its stderr goes nowhere.
  std::string log{};
  std::vector<std::string> environment{};  ///< "KEY=VALUE" each; empty = that of this process.
  bool has_own_group = false;              ///< It leads a group of processes of its own.
};

inline constexpr int kChildSocket = 3;

/// Returns the child's pid, or a negative errno.
int spawn_child(ChildSpawn& spawn);

}  // namespace muster::agent
