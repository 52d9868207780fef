#pragma once
// RouteTable maps inbound connections, as ZeroMQ names them (socket, routing id), to Route numbers.
// ZeroMQ does not tell when an inbound connection ends. Therefore the table is bounded and forgets
// the route that was silent longest; an answer to a forgotten route is dropped, as to a closed one.
// It knows the link key that each connection proved, to end the connections of one key.

#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gossip/edge/connection_mark.h"
#include "gossip/wire/transport.h"

namespace muster::gossip {

class RouteTable {
 public:
  /// The index of our socket, and the id that ZeroMQ gave the connection there.
  using Address = std::pair<std::size_t, std::string>;

  /// `routes_max` >= 1.
  explicit RouteTable(std::size_t routes_max) : routes_max_(routes_max) {}

  /// The route of a connection that just spoke over the descriptor `fd` and proved `key` ("" on the
  /// socket of the CLI). Numbers are never reused. A peer may ask ZeroMQ for the id of an ended
  /// connection: with another key it gets a route of its own.
  Route touch(Address address, std::string_view key, int fd);
  /// Null if the route is unknown; valid until the next touch() or forget().
  const Address* find(Route route) const;
  void forget(Route route);
  /// Forgets the routes of the connections that proved this key, and returns these connections.
  std::vector<ConnectionMark> take_out(std::string_view key);
  /// Forgets the routes of all connections that proved a key.
  void forget_proven();
  std::size_t size() const { return by_address_.size(); }

 private:
  struct Entry {
    Route route;
    Address address;
    std::string key;
    ConnectionMark connection;
  };

  std::size_t routes_max_;
  std::uint64_t last_ = 0;
  std::list<Entry> entries_;  ///< Most recently heard first.
  std::map<Address, std::list<Entry>::iterator> by_address_;
  std::map<Route, std::list<Entry>::iterator> by_route_;
};

}  // namespace muster::gossip
