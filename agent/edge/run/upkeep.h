#pragma once
// Upkeep of an agent beside its work: it renews the socket for all logins, the links to the sockets
// and the log file, which cleaners of temporary files and rotators of logs take away. At a HUP it
// opens the log file and reads the configuration again. The transport renews the agent's own
// socket. Owned by run_agent(); the UnjoinedAgent and the event loop give it its turns.

#include <functional>
#include <string>
#include <vector>

#include "agent/api/output.h"
#include "agent/edge/run/socket_links.h"
#include "gossip/base/result.h"
#include "gossip/base/time.h"
#include "gossip/edge/login_listener.h"

namespace muster::agent {

/// The settings that may change while an agent runs.
struct Reread {
  std::string log_level;
  OutputRule output_rule{};
  /// Names of settings that say something else now and count from the next start on.
  std::vector<std::string> at_next_start{};
};

class Upkeep {
 public:
  /// Between two looks.
  static constexpr Duration kPeriod = std::chrono::seconds(1);

  struct Options {
    int hup_fd = -1;               ///< Readable when HUP came.
    SocketLinks* links = nullptr;  ///< Outlive it.
    OutputRule output_rule{};      ///< Of the start.
    std::function<Result<Reread>()> reread;
    gossip::LoginListener* logins = nullptr;  ///< Outlives it; nullptr = there is no such socket.
  };
  explicit Upkeep(Options options) : options_(std::move(options)) {}

  /// Call in every turn of a loop, at least once a second. True if output_rule() is new.
  bool turn(Instant now);
  const OutputRule& output_rule() const { return options_.output_rule; }
  const gossip::LoginListener* logins() const { return options_.logins; }

 private:
  bool is_hung_up() const;
  bool reread();

  Options options_;
  Instant next_{};
};

}  // namespace muster::agent
