#include "agent/edge/run/agent_sockets.h"

#include <grp.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "agent/edge/event_log.h"

namespace muster::agent {
namespace {

/// Of an agent that runs as root. Without the socket root goes on by the agent's own one.
void listen_to_logins(const std::string& directory, const RunOptions& options,
                      std::optional<gid_t> group, gossip::LoginListener& logins) {
  Status opened = make_runtime_directory(directory);
  if (opened) {
    opened = logins.open(directory + "/" + options.name + ".sock", group);
  }
  if (!opened) {
    log_event({Severity::kWarn, "no_socket_for_logins", {{"why", opened.error().text}}});
  }
}

}  // namespace

Result<std::optional<gid_t>> socket_group(const RunOptions& options) {
  if (options.users.socket_group.empty()) {
    return std::optional<gid_t>();
  }
  const group* found = getgrnam(options.users.socket_group.c_str());
  if (found == nullptr) {
    return Error{ErrorCode::kInvalid, "socket_group: there is no group '" +
                                          options.users.socket_group +
                                          "' on this host: make it (groupadd " +
                                          options.users.socket_group + "), or name another one"};
  }
  return std::optional(found->gr_gid);
}

void make_links(const RunOptions& options, std::optional<gid_t> group,
                gossip::LoginListener& logins, SocketLinks& links) {
  std::string socket = std::filesystem::absolute(options.data_dir).string() + "/agent.sock";
  if (std::string directory = runtime_directory(); !directory.empty()) {
    directory = std::filesystem::absolute(directory).string();
    if (geteuid() == 0) {
      listen_to_logins(directory, options, group, logins);
    } else if (group.has_value()) {
      log_event({Severity::kWarn,
                 "socket_group_unused",
                 {{"why", "this agent does not run as root, and answers its own user and root"}}});
    }
    socket = logins.is_open() ? logins.path() : socket;
    if (const Status made = links.make(directory, options.name, socket); !made) {
      log_event({Severity::kWarn, "no_socket_link", {{"why", made.error().text}}});
    }
  }
  log_event(
      {Severity::kInfo,
       "socket",
       {{"path", logins.is_open() || links.paths().empty() ? socket : links.paths().back()}}});
}

}  // namespace muster::agent
