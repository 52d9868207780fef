#include "cli/kit/places.h"

#include <charconv>

namespace muster::cli {
namespace {

std::string user_data_dir(const World& world) {
  const auto state_home = world.environment("XDG_STATE_HOME");
  if (state_home.has_value() && !state_home->empty()) {
    return *state_home + "/muster";
  }
  return world.environment("HOME").value_or("") + "/.local/state/muster";
}

std::string socket_in(const std::string& data_dir) {
  return data_dir + "/" + kSocketName;
}

}  // namespace

std::string default_data_dir(const World& world) {
  const bool is_ours = world.exists(kSystemDataDir) ? world.is_writable(kSystemDataDir)
                                                    : world.is_writable("/var/lib");
  return is_ours ? kSystemDataDir : user_data_dir(world);
}

std::string node_address(const World& world, const std::string& node, const std::string& data_dir) {
  if (!node.empty()) {
    return node;
  }
  if (!data_dir.empty()) {
    return "ipc://" + socket_in(data_dir);
  }
  const auto named = world.environment("MUSTER_NODE");
  if (named.has_value() && !named->empty()) {
    return *named;
  }
  const auto directory = world.environment("MUSTER_DATA_DIR");
  if (directory.has_value() && !directory->empty()) {
    return "ipc://" + socket_in(*directory);
  }
  for (const std::string& candidate : {std::string(kSystemDataDir), user_data_dir(world)}) {
    if (world.exists(socket_in(candidate))) {
      return "ipc://" + socket_in(candidate);
    }
  }
  return "ipc://" + socket_in(default_data_dir(world));
}

/// An IPv6 address with a port has brackets; without them the colons are its own.
bool is_address(const std::string& node) {
  static constexpr unsigned kPortMax = 65535;
  if (node.find("://") != std::string::npos) {
    return true;
  }
  const std::size_t colon = node.rfind(':');
  const bool has_brackets = node.starts_with('[');
  const bool has_port = colon != std::string::npos &&
                        (has_brackets ? node[colon - 1] == ']' : node.find(':') == colon);
  if (!has_port) {
    return !node.empty();
  }
  unsigned port = 0;
  const char* end = node.data() + node.size();
  const auto [at, error] = std::from_chars(node.data() + colon + 1, end, port);
  return colon > 0 && error == std::errc() && at == end && port > 0 && port <= kPortMax;
}

}  // namespace muster::cli
