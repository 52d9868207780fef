#pragma once
// LinkKeys is the X25519 pair with which a host, or the holder of a ticket, proves itself on links.
// link_keys.cc is one of the files that may include libsodium.

#include <string>
#include <string_view>

#include "gossip/wire/transport.h"

namespace muster::gossip {

/// Size of the seed from which from_seed() makes a pair.
inline constexpr std::size_t kLinkSeedBytes = 32;

/// Both keys are raw, of kLinkKeyBytes; both empty = no keys. Each copy has its own secret and
/// wipes it from memory at its end. libzmq keeps the copies that it gets, and does not wipe them.
struct LinkKeys {
  LinkKeys() = default;
  LinkKeys(const LinkKeys&) = default;
  LinkKeys(LinkKeys&&) noexcept = default;
  LinkKeys& operator=(LinkKeys other) noexcept;
  ~LinkKeys();

  /// A fresh random pair.
  static LinkKeys make();
  /// The same pair for the same seed, on every machine. Precondition: `seed` has kLinkSeedBytes. It
  /// is as secret as the secret key.
  static LinkKeys from_seed(std::string_view seed);

  /// Whether both have the size of keys. It does not check that they belong together.
  bool are_keys() const;

  std::string public_key;
  std::string secret_key;
};

}  // namespace muster::gossip
