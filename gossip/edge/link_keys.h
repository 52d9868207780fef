#pragma once
// The X25519 pair that a host, or whoever holds a ticket, proves itself with on its links. Fences
// libsodium in, with agent/edge/disk/host_key.cc.

#include <string>
#include <string_view>

#include "gossip/wire/transport.h"

namespace muster::gossip {

/// What from_seed() makes a pair of.
inline constexpr std::size_t kLinkSeedBytes = 32;

/// Both in raw form, kLinkKeyBytes each; both empty = none. Every copy has a secret of its own, and
/// wipes it from memory when it goes. What libzmq was given it keeps, and does not wipe.
struct LinkKeys {
  LinkKeys() = default;
  LinkKeys(const LinkKeys&) = default;
  LinkKeys(LinkKeys&&) noexcept = default;
  LinkKeys& operator=(LinkKeys other) noexcept;
  ~LinkKeys();

  /// A pair nobody had before.
  static LinkKeys make();
  /// The same pair for the same seed, on every machine. `seed` has kLinkSeedBytes, else a CHECK
  /// fails; who knows it knows the secret.
  static LinkKeys from_seed(std::string_view seed);

  /// Whether both have the size of keys; that they belong together is believed.
  bool are_keys() const;

  std::string public_key;
  std::string secret_key;
};

}  // namespace muster::gossip
