#pragma once
// AcceptedConnections holds the inbound TCP connections that are open, so that they can be ended by
// their descriptors. libzmq reports each when it accepts it and before it closes it
// (ZMQ_EVENT_ACCEPTED, _DISCONNECTED), whether or not it ever carries a message. The thread of
// ZmqZap writes it; any other thread may end its connections.
//
// It limits unfinished handshakes, because each may cost half a millisecond and holds memory.
// Beyond the limit it ends the oldest. libzmq does not say which handshake is finished, but the
// kernel counts the bytes sent to each peer, and only a peer that is let in gets the last message
// of a handshake. (Acknowledged bytes would not do: acknowledgements may come 40 ms later.)

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "gossip/edge/connection_mark.h"

namespace muster::gossip {

/// An honest handshake takes a few milliseconds; a silent one may last 3 s. If 300 hosts dial at
/// one moment, faster than they do their own part, the first 100 are ended (measured). A host that
/// dials again finds room.
inline constexpr std::size_t kUnfinishedMax = 200;

class AcceptedConnections {
 public:
  /// 0 is that of control, 1 that of bulk.
  static constexpr std::size_t kListeners = 2;

  explicit AcceptedConnections(std::size_t unfinished_max = kUnfinishedMax)
      : unfinished_max_(unfinished_max) {}

  /// This listener accepted the connection of `fd`. If the event is late and the descriptor belongs
  /// to another connection by now, the event of the end follows.
  void on_accepted(std::size_t listener, int fd);
  /// Returns the address of the peer; "" if it is unknown.
  std::string on_ended(std::size_t listener, int fd);
  /// This listener accepts no more connections.
  void on_closed(std::size_t listener);

  /// Ends all connections, and each that a listener still accepts until its on_closed(): such a
  /// listener still greets with the old key. The caller closes the listeners. Costs about two
  /// microseconds a connection.
  void end_all();
  std::size_t size() const;
  /// Number of connections that were ended because too many were unfinished.
  std::uint64_t ended_unfinished() const;

 private:
  using Place = std::pair<std::size_t, int>;
  struct Connection {
    ConnectionMark mark;
    std::list<Place>::iterator waiting;  ///< In unfinished_, or its end.
  };
  using Connections = std::map<Place, Connection>;

  void forget(Connections::iterator connection);
  void limit_unfinished();

  const std::size_t unfinished_max_;
  mutable std::mutex mutex_;
  /// By listener and descriptor: events of two listeners may arrive out of order.
  Connections connections_;
  std::list<Place> unfinished_;  ///< Oldest first. Some may have finished by now.
  std::uint64_t ended_unfinished_ = 0;
  std::array<int, kListeners> closing_{};  ///< How many on_closed() are due from each.
};

}  // namespace muster::gossip
