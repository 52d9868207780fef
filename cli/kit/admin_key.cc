#include "cli/kit/admin_key.h"

#include "cli/kit/places.h"

namespace muster::cli {
namespace {

/// As people write a path in their home directory.
std::string short_path(const World& world, const std::string& path) {
  const std::string home = world.environment("HOME").value_or("") + "/";
  return home.size() > 1 && path.starts_with(home) ? "~/" + path.substr(home.size()) : path;
}

}  // namespace

void AdminKey::describe(Options& options) {
  options.text("--ssh-key", given_,
               "Public SSH key by which you administer the cluster, a file or its line; default: a "
               "new one in your home directory",
               "FILE");
}

Result<gossip::SshKeyLine> AdminKey::take(Session& session, const std::string& user) const {
  const World& world = session.world();
  if (!given_.empty()) {
    return world.files.keys.read(given_);
  }
  const std::string path = admin_key_file(world, session.common().data_dir);
  Result<gossip::SshKeyLine> key = world.files.keys.make(path, user + "@" + world.host_name());
  if (key) {
    session.note("your key for administering the cluster is " + short_path(world, path) +
                 "; keep a copy");
  }
  return key;
}

}  // namespace muster::cli
