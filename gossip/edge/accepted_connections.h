#pragma once
// The TCP connections that came in and are not gone yet, to be ended by their descriptors. libzmq
// tells of each when it accepts it and before it closes it (ZMQ_EVENT_ACCEPTED, _DISCONNECTED);
// whether it ever says a word does not matter here. The thread that hears libzmq's events writes
// it, any other may end what is in it.
//
// Handshakes that are not finished are limited, for each may cost us half a millisecond and holds
// memory: beyond the limit the oldest is ended. libzmq does not say whose handshake was finished,
// but the kernel knows how much was sent to whom, and only who was let in is sent the last word of
// a handshake. (What was acknowledged would not do: that may come 40 ms later.)

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

/// An honest one takes a few milliseconds, a silent one would have 3 s. Of 300 that dial in the
/// same moment, faster than they do their own part, the first 100 are ended (measured): whoever
/// dials anew finds room.
inline constexpr std::size_t kUnfinishedMax = 200;

class AcceptedConnections {
 public:
  /// One for control and one for bulk; they count from 0.
  static constexpr std::size_t kListeners = 2;

  explicit AcceptedConnections(std::size_t unfinished_max = kUnfinishedMax)
      : unfinished_max_(unfinished_max) {}

  /// This listener accepted it. A descriptor is one connection's at a time. When the event was late
  /// and the number is another's by now, word of the end is on its way.
  void on_accepted(std::size_t listener, int fd);
  /// Says from which address it came; "" when nobody knows.
  std::string on_ended(std::size_t listener, int fd);
  /// This listener accepts no more.
  void on_closed(std::size_t listener);

  /// Ends all of them, and at once whatever a listener still accepts before it is closed, which the
  /// caller sees to: what it accepts it greets as it was told when it was bound. Costs about two
  /// microseconds a connection.
  void end_all();
  std::size_t size() const;
  /// How many were ended because too many were unfinished.
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
  /// By listener and descriptor: the words of two listeners may be heard in another order than
  /// said.
  Connections connections_;
  std::list<Place>
      unfinished_;  ///< Oldest first. Some may have finished since they were looked at.
  std::uint64_t ended_unfinished_ = 0;
  std::array<int, kListeners> closing_{};  ///< How often each will be heard to have closed.
};

}  // namespace muster::gossip
