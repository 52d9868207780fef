#pragma once
// A connection of libzmq's, to be ended later. libzmq tells its descriptor but not when it closes
// it, and the kernel gives the number to the next one. So both its ends are noted: what has others
// by then is left alone.

#include <string>

namespace muster::gossip {

class ConnectionMark {
 public:
  /// Notes the ends that the descriptor has now; what is no connected socket is never ended.
  explicit ConnectionMark(int fd);
  /// Shuts the connection down, both ways: libzmq notices as if the peer had closed.
  void end() const;

 private:
  int fd_;
  std::string ends_;
};

}  // namespace muster::gossip
