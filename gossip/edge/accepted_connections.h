#pragma once
// The TCP connections that came in and are not gone yet, to be ended by their descriptors. libzmq
// tells of each when it accepts it and before it closes it (ZMQ_EVENT_ACCEPTED, _DISCONNECTED);
// whether it ever says a word does not matter here. The thread that hears libzmq's events writes
// it, any other may end what is in it.

#include <array>
#include <cstddef>
#include <map>
#include <mutex>
#include <utility>

#include "gossip/edge/connection_mark.h"

namespace muster::gossip {

class AcceptedConnections {
 public:
  /// One for control and one for bulk; they count from 0.
  static constexpr std::size_t kListeners = 2;

  /// This listener accepted it. A descriptor is one connection's at a time. When the event was late
  /// and the number is another's by now, word of the end is on its way.
  void on_accepted(std::size_t listener, int fd);
  void on_ended(std::size_t listener, int fd);
  /// This listener accepts no more.
  void on_closed(std::size_t listener);

  /// Ends all of them, and at once whatever a listener still accepts before it is closed, which the
  /// caller sees to: what it accepts it greets as it was told when it was bound. Costs about two
  /// microseconds a connection.
  void end_all();
  std::size_t size() const;

 private:
  mutable std::mutex mutex_;
  /// By listener and descriptor: the words of two listeners may be heard in another order than
  /// said.
  std::map<std::pair<std::size_t, int>, ConnectionMark> connections_;
  std::array<int, kListeners> closing_{};  ///< How often each will be heard to have closed.
};

}  // namespace muster::gossip
