#pragma once
// A connection of libzmq's, to be ended later. libzmq tells its descriptor but not when it closes
// it, and the kernel gives the number to the next one. So both its ends are noted: what has others
// by then is left alone.

#include <cstdint>
#include <optional>
#include <string>

namespace muster::gossip {

class ConnectionMark {
 public:
  /// Notes the ends that the descriptor has now; what is no connected socket is never ended.
  explicit ConnectionMark(int fd);
  /// Shuts the connection down, both ways: libzmq notices as if the peer had closed. False when it
  /// was gone.
  bool end() const;
  /// How many bytes our kernel has sent, repetitions left out. Nothing when the connection is gone,
  /// or the kernel does not say.
  std::optional<std::uint64_t> sent_bytes() const;
  /// The other end's address without its port; "" when it was no TCP connection.
  std::string peer_ip_text() const;

 private:
  bool is_there() const;

  int fd_;
  std::string own_;
  std::string peer_;
};

}  // namespace muster::gossip
