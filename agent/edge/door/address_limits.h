#pragma once
// AddressLimits counts the connections of each address, so that one client cannot hold all that
// the door has. An IPv6 client owns a network of 64 bits; its addresses count together. Over a
// unix socket the uid is the address. Owned by HttpCore, which locks it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>

#include "gossip/wire/endpoint.h"

namespace muster::agent {

class AddressLimits {
 public:
  using Key = std::array<std::uint8_t, 16>;

  /// At most `all` connections of an address, of which at most `unproven` showed no proof yet.
  AddressLimits(std::size_t all, std::size_t unproven) : all_(all), unproven_(unproven) {}

  static Key key_of(const gossip::Endpoint& client);
  static Key key_of_uid(std::uint32_t uid);

  /// Whether one more connection, without proof, may come from there.
  bool has_room(const Key& key) const;
  void add(const Key& key, bool is_proven);
  /// The connection was added without proof, and showed one.
  void prove(const Key& key);
  /// Precondition: it was added, and `is_proven` is as it stands.
  void remove(const Key& key, bool is_proven);

  std::size_t unproven() const { return unproven_now_; }

 private:
  struct Count {
    std::size_t all = 0;
    std::size_t unproven = 0;
  };

  std::size_t all_;
  std::size_t unproven_;
  std::map<Key, Count> counts_;
  std::size_t unproven_now_ = 0;
};

}  // namespace muster::agent
