#pragma once
// HttpSocket is the unix socket of HTTP with the links by which people find it, beside the sockets
// of the CLI and by the same rules. An agent of root listens at RUNTIME/http/NAME.sock, where other
// logins reach it, and DATA_DIR/http.sock is a link to that. Any other agent listens at
// DATA_DIR/http.sock, and RUNTIME/http has links to it. The first agent of a machine has
// RUNTIME/http/agent.sock, too. Owned by WebParts; used by one thread.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "agent/edge/run/socket_links.h"
#include "gossip/base/result.h"
#include "gossip/edge/login_listener.h"

namespace muster::agent {

class HttpSocket {
 public:
  struct Place {
    std::string data_dir;   ///< It is there, and open to this user alone.
    std::string runtime{};  ///< As runtime_directory(); "" = there is no such directory.
    std::string name{};     ///< Of the host.
    bool is_for_all_logins = false;
    std::optional<gid_t> group{};  ///< Of such a socket: whose members alone may connect.
  };

  HttpSocket() = default;
  HttpSocket(const HttpSocket&) = delete;
  HttpSocket& operator=(const HttpSocket&) = delete;
  /// Removes socket and links, if they are still its own.
  ~HttpSocket();

  /// Once. Without a directory for links there is the socket in the data directory alone. Errors as
  /// LoginListener::open().
  Status open(const Place& place);
  bool is_open() const { return listener_.is_open(); }
  /// Makes socket and links again that another process removed. True if it was the socket. To be
  /// called about once a second.
  bool renew();
  /// Where people find it.
  const std::string& path() const { return listener_.path(); }
  /// As those of LoginListener.
  int copy() const { return listener_.copy(); }
  std::uint64_t edition() const { return listener_.edition(); }

 private:
  Status open_for_logins(const Place& place);

  gossip::LoginListener listener_;
  SocketLinks links_;
  std::string own_link_;  ///< That in the data directory; "" = it is the socket itself.
};

}  // namespace muster::agent
