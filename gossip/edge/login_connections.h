#pragma once
// LoginConnections limits the connections of logins on the sockets of the CLI. Any login of the
// machine may open the one for all logins, and libzmq spins when the process has no descriptor
// left. libzmq reports each connection when it has accepted it and before it closes it; beyond a
// limit the new connection is ended by its descriptor. Root and the user of this process have no
// limit. The thread of ZmqZap writes it; any thread may read it.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>

namespace muster::gossip {

/// Connections of one login: a shell loop of fifty `muster wait` has room.
inline constexpr std::size_t kConnectionsOfLoginMax = 64;
/// Connections of all logins together: eight of them may have all of theirs.
inline constexpr std::size_t kConnectionsOfLoginsMax = 512;
/// All logins together have at most this part of the descriptors that the process may have.
inline constexpr std::size_t kLoginDescriptorsPart = 4;

/// True if a login has limits: it is neither root nor `own`, the user of this process.
bool is_limited_login(std::uint32_t uid, std::uint32_t own);
/// The uid of the process at the other end of a unix socket when it connected; nullopt if `fd` is
/// no connected unix socket.
std::optional<std::uint32_t> uid_of_peer(int fd);
/// kConnectionsOfLoginsMax, or less if this process may have few descriptors. Never 0.
std::size_t connections_of_logins_max();

class LoginConnections {
 public:
  struct Options {
    std::uint32_t own = 0;  ///< The user of this process.
    std::size_t of_one = kConnectionsOfLoginMax;
    std::size_t of_all = kConnectionsOfLoginsMax;
    /// Tests name peers themselves.
    std::function<std::optional<std::uint32_t>(int fd)> uid_of = uid_of_peer;
  };
  explicit LoginConnections(Options options) : options_(std::move(options)) {}

  /// Ends the connection if its login, or all logins, have too many. If the event is late and the
  /// descriptor belongs to another connection by now, the event of the end follows.
  void on_accepted(int fd);
  void on_ended(int fd);

  /// Number of connections that have limits.
  std::size_t size() const;
  std::size_t size_of(std::uint32_t uid) const;
  /// Number of connections that were ended.
  std::uint64_t ended() const;

 private:
  void forget(int fd);

  const Options options_;
  mutable std::mutex mutex_;
  std::map<int, std::uint32_t> uids_;            ///< By descriptor.
  std::map<std::uint32_t, std::size_t> counts_;  ///< By uid; none is 0.
  std::uint64_t ended_ = 0;
};

}  // namespace muster::gossip
