#pragma once
// The options of `muster agent`, after flags, environment and config file were put together.

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gossip/base/result.h"
#include "gossip/base/time.h"
#include "gossip/wire/endpoint.h"
#include "scheduler/protocol/host_traits.h"

namespace muster::cli {

/// The ways in which hosts hold ranks to what they were given, as people write them. A host that
/// has one says so by a label: "can-memory".
inline constexpr std::array<std::string_view, 5> kAbilityNames = {"memory", "cpu", "pids",
                                                                  "devices", "mounts"};
inline std::string ability_label(std::string_view ability) {
  return "can-" + std::string(ability);
}

/// The settings about the users of a host and their ranks.
struct UserSettings {
  bool is_shared = false;                 ///< All ranks run as the agent's user.
  std::vector<std::string> system_users;  ///< Users with a uid below 1000 whose jobs may run.
  std::string socket_group;  ///< Of the socket for all logins; "" = every login may use it.
  std::string audit_file{};  ///< The audit goes to this file, too; "" = it does not.
  /// Without one of these abilities the host offers nothing; names of kAbilityNames.
  std::vector<std::string> min_isolation{};
  bool operator==(const UserSettings&) const = default;
};

/// The settings about HTTP.
struct WebSettings {
  std::optional<gossip::Endpoint> https{};  ///< Port 0 = any; nullopt = off.
  bool is_asked_for = false;                ///< A setting named the address.
  std::string certificate{};  ///< The PEM file of the site; "" = the host makes its own.
  std::string key{};          ///< "" if there is no `certificate`.
  bool operator==(const WebSettings&) const = default;
};

struct AgentOptions {
  gossip::Endpoint listen;         ///< Control port; port 0 = any, the agent prints it.
  std::vector<std::string> seeds;  ///< HOST[:PORT] each; the edge resolves names once, at start.
  std::string data_dir;            ///< Made with mode 0700 when missing.
  std::string gpus;                ///< As HostHardware takes it.
  std::string name;                ///< Unique in the cluster.
  scheduler::HostTraits traits;    ///< Labels, rack and spine.
  std::string ticket_path;         ///< A file that holds a ticket to join with; "" = none.
  bool is_moved = false;           ///< `data_dir` was moved here with its agent stopped.
  bool log_json = false;
  std::string log_level;         ///< "debug", "info", "warn" or "error".
  std::string log_file;          ///< Instead of stderr; "" = stderr.
  Duration output_keep{};        ///< How long the output of what ended is kept.
  std::uint64_t output_max = 0;  ///< Bytes of it that this host keeps.
  UserSettings users{};
  WebSettings web{};
  std::string hooks;        ///< The directory of a site's own programs.
  std::string kernel_log;   ///< Where Xids are read from.
  std::string config_path;  ///< The file that was read; "" = none.
  /// The same once more, as file and environment say it by then.
  std::function<Result<AgentOptions>()> reread{};
};

}  // namespace muster::cli
