#pragma once
// LoginConnections counts the connections of logins, and limits them. Any login of the machine may
// open the socket for all logins, and libzmq spins when the process has no descriptor left. Root
// and the user of this process have no limit. Used by one thread.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

namespace muster::gossip {

/// Connections of one login: a shell loop of fifty `muster wait` has room.
inline constexpr std::size_t kConnectionsOfLoginMax = 64;
/// Connections of all logins together: eight of them may have all of theirs.
inline constexpr std::size_t kConnectionsOfLoginsMax = 512;
/// All logins together have at most this part of the descriptors that the process may have. A
/// connection takes three: one at either end of the relay, and that of libzmq.
inline constexpr std::size_t kLoginDescriptorsPart = 6;

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
  };
  explicit LoginConnections(Options options) : options_(options) {}

  /// Counts one more connection of the login. False, and it is not counted, if the login, or all
  /// logins, have too many.
  bool take(std::uint32_t uid);
  /// The end of a connection that take() counted.
  void give_back(std::uint32_t uid);

  /// Number of connections that have limits.
  std::size_t size() const { return size_; }
  std::size_t size_of(std::uint32_t uid) const;

 private:
  const Options options_;
  std::size_t size_ = 0;
  std::map<std::uint32_t, std::size_t> counts_;  ///< By uid; none is 0.
};

}  // namespace muster::gossip
