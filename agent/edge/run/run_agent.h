#pragma once
// Runs `muster agent`: from a data directory and a few options to a running event loop. It reports
// any error of disk, keys, ports and addresses before the first message.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agent/api/output.h"
#include "agent/edge/run/upkeep.h"
#include "gossip/base/result.h"
#include "gossip/wire/endpoint.h"
#include "scheduler/protocol/host_traits.h"

namespace muster::agent {

/// Of an address that names no port.
inline constexpr std::uint16_t kControlPort = 7450;

/// The settings about the users of this host and their ranks.
struct UserSettings {
  bool is_shared = false;                 ///< RankUserRule::is_shared
  std::vector<std::string> system_users;  ///< RankUserRule::system_users
  /// The group whose members may use the socket for all logins, of an agent that runs as root;
  /// "" = every login may.
  std::string socket_group{};
  std::string audit_file{};  ///< Written while this host has the log; "" = no file is written.
  /// Names of abilities without which this host offers nothing.
  std::vector<std::string> min_isolation{};
};

/// The settings about the hardware of this host.
struct HardwareSettings {
  std::string hooks = "/etc/muster/hooks.d";  ///< The directory of Hooks.
  std::string kernel_log = "/dev/kmsg";       ///< As KernelLog takes it.
};

/// The settings about HTTP.
struct WebSettings {
  std::optional<gossip::Endpoint> https{};  ///< Port 0 = any; nullopt = there is no HTTPS.
  bool is_asked_for = false;  ///< Its port has to be free. Else the agent goes on without HTTPS.
  std::string certificate{};  ///< As TlsPaths; "" = this host makes its own.
  std::string key{};
};

/// The settings about the log of the agent.
struct LogSettings {
  bool is_json = false;
  std::string level;
  std::string file;  ///< "" = stderr.
};

struct RunOptions {
  gossip::Endpoint listen;         ///< Control port; the bulk port is the next one. 0 = any two.
  std::vector<std::string> seeds;  ///< HOST[:PORT] each, resolved once.
  std::string data_dir;
  std::string gpus;  ///< As HostHardware takes it.
  std::string name;
  scheduler::HostTraits traits;  ///< Labels, rack and spine.
  std::string ticket_path;       ///< A file with a ticket to join with; "" = the user will say.
  bool is_moved = false;         ///< `data_dir` was moved: DataDirectory::settle().
  LogSettings log{};
  OutputRule output_rule{};
  UserSettings users{};
  HardwareSettings hardware{};
  WebSettings web{};
  std::function<Result<Reread>()> reread;  ///< The configuration once more, at a HUP.
};

/// Runs until SIGTERM, SIGINT or `muster leave`. HUP opens the log file and reads the configuration
/// again. Exit codes: 0 ended as asked, 1 the disk failed or is damaged, 2 a wrong option, 7 the
/// port, the data directory, the name or the id of this host is taken.
int run_agent(const RunOptions& options);

}  // namespace muster::agent
