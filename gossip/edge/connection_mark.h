#pragma once
// ConnectionMark identifies a connection of libzmq, so that it can be ended later. libzmq tells its
// descriptor but not when it closes it, and the kernel gives the number to the next connection.
// Therefore the mark holds both addresses and the kernel's cookie of the socket, and leaves any
// other connection alone. The cookie is there for unix sockets: all their clients have one address.

#include <cstdint>
#include <optional>
#include <string>

namespace muster::gossip {

class ConnectionMark {
 public:
  /// Notes the addresses of the descriptor. The mark of an unconnected socket never ends anything.
  explicit ConnectionMark(int fd);
  /// Shuts the connection down, both ways: libzmq notices as if the peer had closed. False if the
  /// connection is gone.
  bool end() const;
  /// Number of bytes that our kernel has sent, without retransmissions. nullopt if the connection
  /// is gone or the kernel does not say.
  std::optional<std::uint64_t> sent_bytes() const;
  /// The peer's address without its port; "" if it was no TCP connection.
  std::string peer_ip_text() const;

 private:
  bool is_there() const;

  int fd_;
  std::string own_;
  std::string peer_;
  std::uint64_t cookie_;
};

}  // namespace muster::gossip
