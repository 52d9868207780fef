#pragma once
// The places of data directories and of the sockets at which a node is asked.

#include <cstddef>
#include <string>
#include <vector>

#include "cli/kit/world.h"

namespace muster::cli {

inline constexpr char kSystemDataDir[] = "/var/lib/muster";
inline constexpr char kSystemConfig[] = "/etc/muster/muster.toml";
inline constexpr char kSocketName[] = "agent.sock";
/// Root's agents have their sockets for all logins there; others have links to their sockets in
/// $XDG_RUNTIME_DIR/muster.
inline constexpr char kSystemRuntimeDir[] = "/run/muster";

/// Where an agent keeps its data: the system's directory where it may be written, else the user's
/// ($XDG_STATE_HOME/muster, $HOME/.local/state/muster).
std::string default_data_dir(const World& world);

/// The file of the key with which `muster init` makes its caller an administrator:
/// $XDG_CONFIG_HOME/muster/admin_key, else $HOME/.config/muster/admin_key, else in the data
/// directory.
std::string admin_key_file(const World& world, const std::string& data_dir);

/// How a node is asked: by the socket of an agent on this machine, which may ask another host.
struct NodePlace {
  std::string address;  ///< As World::connect takes it.
  std::string name;     ///< Of the host that the agent there shall ask; "" = it answers itself.
  bool operator==(const NodePlace&) const = default;
};
/// For people.
std::string text_of(const NodePlace& place);

/// Nodes that one run of a verb goes to.
inline constexpr std::size_t kNodesMax = 16;

/// At least one place, in the order of being asked. `node` and `data_dir` as given on the command
/// line, "" = not given; a node beats a data directory beats MUSTER_NODE beats MUSTER_DATA_DIR
/// beats the default directory that has a socket: MUSTER_RUNTIME_DIR, the data directories, and
/// those of links.
///
/// `node` and MUSTER_NODE are lists, with commas. An item with a '/' is the socket of an agent when
/// it ends with ".sock", else an agent's data directory. Any other item is the name of a host. The
/// agent that would be asked without that name passes the question on to it. kInvalid: an address
/// of a host, as the ports of hosts answer hosts alone.
Result<std::vector<NodePlace>> node_places(const World& world, const std::string& node,
                                           const std::string& data_dir);

}  // namespace muster::cli
