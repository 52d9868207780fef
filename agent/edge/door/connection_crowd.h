#pragma once
// ConnectionCrowd is the connections of one kind that may be too many, by address. The first to go
// is the oldest of the address that has the most, so that a client with many makes room for the
// others. Owned by HttpCore, which locks it.

#include <cstddef>
#include <cstdint>
#include <map>

#include "agent/edge/door/address_limits.h"
#include "gossip/base/time.h"

namespace muster::agent {

struct HttpConnection;

class ConnectionCrowd {
 public:
  struct Member {
    HttpConnection* connection = nullptr;
    Instant since{};
  };

  /// It is no member so far.
  void add(HttpConnection& connection, const AddressLimits::Key& key, Instant now);
  /// False: it was no member.
  bool remove(const HttpConnection& connection);
  std::size_t size() const { return places_.size(); }
  /// Of addresses that have as many the one with the oldest. Precondition: size() > 0.
  const Member& first_to_go() const;

 private:
  struct Place {
    AddressLimits::Key key{};
    std::uint64_t number = 0;
  };
  using Group = std::map<std::uint64_t, Member>;  ///< As they came.

  std::map<AddressLimits::Key, Group> by_address_;  ///< No group is empty.
  std::map<const HttpConnection*, Place> places_;
  std::uint64_t last_number_ = 0;
};

}  // namespace muster::agent
