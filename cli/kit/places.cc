#include "cli/kit/places.h"

#include <algorithm>

namespace muster::cli {
namespace {

constexpr char kScheme[] = "ipc://";
constexpr char kNoAddresses[] =
    "' is an address, and the ports of hosts answer only hosts: use --node NAME to ask that host "
    "through the agent here, or --node PATH for an agent here by its socket or data directory; "
    "from a machine without an agent: ssh HOST muster ...";

std::string user_data_dir(const World& world) {
  const auto state_home = world.environment("XDG_STATE_HOME");
  if (state_home.has_value() && !state_home->empty()) {
    return *state_home + "/muster";
  }
  return world.environment("HOME").value_or("") + "/.local/state/muster";
}

std::string socket_in(const std::string& data_dir) {
  return data_dir + (data_dir.ends_with('/') ? "" : "/") + kSocketName;
}

/// "" when it is not set.
std::string variable(const World& world, const std::string& name) {
  return world.environment(name).value_or("");
}

/// The items between the commas.
std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> words;
  std::size_t start = 0;
  while (start < list.size() && words.size() < kNodesMax) {
    const std::size_t end = std::min(list.find(',', start), list.size());
    if (end > start) {
      words.push_back(list.substr(start, end - start));
    }
    start = end + 1;
  }
  return words;
}

bool is_path(const std::string& word) {
  return word.starts_with(kScheme) ||
         (word.find('/') != std::string::npos && word.find("://") == std::string::npos);
}

/// Precondition: a path.
std::string address_of(const std::string& word) {
  const std::string path = word.starts_with(kScheme) ? word.substr(sizeof kScheme - 1) : word;
  return kScheme + (path.ends_with(".sock") ? path : socket_in(path));
}

/// "" when there is no path among them.
std::string first_address(const std::vector<std::string>& words) {
  const auto found = std::find_if(words.begin(), words.end(), is_path);
  return found == words.end() ? "" : address_of(*found);
}

/// A name has no colon; dots and digits alone are an IPv4 address.
bool is_host_address(const std::string& word) {
  return word.find(':') != std::string::npos ||
         (word.find('.') != std::string::npos &&
          word.find_first_not_of("0123456789.") == std::string::npos);
}

}  // namespace

std::string default_data_dir(const World& world) {
  const bool is_ours = world.exists(kSystemDataDir) ? world.is_writable(kSystemDataDir)
                                                    : world.is_writable("/var/lib");
  return is_ours ? kSystemDataDir : user_data_dir(world);
}

namespace {

/// Of the agent on this host.
std::string default_address(const World& world, const std::string& data_dir) {
  const std::string directory = data_dir.empty() ? variable(world, "MUSTER_DATA_DIR") : data_dir;
  if (!directory.empty()) {
    return kScheme + socket_in(directory);
  }
  for (const std::string& candidate :
       {variable(world, "MUSTER_RUNTIME_DIR"), std::string(kSystemDataDir), user_data_dir(world),
        std::string(kSystemRuntimeDir), variable(world, "XDG_RUNTIME_DIR") + "/muster"}) {
    if (!candidate.empty() && world.exists(socket_in(candidate))) {
      return kScheme + socket_in(candidate);
    }
  }
  return kScheme + socket_in(default_data_dir(world));
}

}  // namespace

std::string admin_key_file(const World& world, const std::string& data_dir) {
  constexpr char kName[] = "/admin_key";
  if (const std::string config = variable(world, "XDG_CONFIG_HOME"); !config.empty()) {
    return config + "/muster" + kName;
  }
  if (const std::string home = variable(world, "HOME"); !home.empty()) {
    return (home == "/" ? "" : home) + "/.config/muster" + kName;
  }
  const std::string named = data_dir.empty() ? variable(world, "MUSTER_DATA_DIR") : data_dir;
  return (named.empty() ? default_data_dir(world) : named) + kName;
}

std::string text_of(const NodePlace& place) {
  return place.name.empty() ? place.address : place.name;
}

Result<std::vector<NodePlace>> node_places(const World& world, const std::string& node,
                                           const std::string& data_dir) {
  const std::string named = variable(world, "MUSTER_NODE");
  if (node.empty() && (!data_dir.empty() || named.empty())) {
    return std::vector<NodePlace>{{default_address(world, data_dir), ""}};
  }
  const std::vector<std::string> words = split(node.empty() ? named : node);
  std::string here = data_dir.empty() ? first_address(words) : kScheme + socket_in(data_dir);
  here = here.empty() ? first_address(split(named)) : here;
  here = here.empty() ? default_address(world, "") : here;
  std::vector<NodePlace> places;
  for (const std::string& word : words) {
    if (is_path(word)) {
      places.push_back({address_of(word), ""});
    } else if (is_host_address(word)) {
      return Error{ErrorCode::kInvalid, "'" + word + kNoAddresses};
    } else {
      places.push_back({here, word});
    }
  }
  if (places.empty()) {
    return Error{ErrorCode::kInvalid, "--node is empty: give NAME or PATH, or several"};
  }
  return places;
}

}  // namespace muster::cli
