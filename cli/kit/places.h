#pragma once
// Where data lies and where a node is asked.

#include <string>

#include "cli/kit/world.h"

namespace muster::cli {

inline constexpr char kSystemDataDir[] = "/var/lib/muster";
inline constexpr char kSystemConfig[] = "/etc/muster/muster.toml";
inline constexpr char kSocketName[] = "agent.sock";

/// Where an agent keeps its data: the system's directory where it may be written, else the user's
/// ($XDG_STATE_HOME/muster, $HOME/.local/state/muster).
std::string default_data_dir(const World& world);

/// `node` and `data_dir` as given on the command line, "" = not given. The answer is what
/// World::connect takes: a named node beats a data directory beats MUSTER_NODE beats
/// MUSTER_DATA_DIR beats whichever default directory has a socket.
std::string node_address(const World& world, const std::string& node, const std::string& data_dir);
/// False: no node can be there, as the host is empty or the port is none. Resolves no name. With a
/// scheme ("ipc://") anything is one.
bool is_address(const std::string& node);

}  // namespace muster::cli
