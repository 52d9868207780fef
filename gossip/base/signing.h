#pragma once
// Who said it: the seam between what is signed and how. Production signs with Ed25519
// (agent/edge/disk/host_key); the simulator has a stand-in whose signers it hands to their owners
// alone. Signing is for a machine's own words and costs tens of microseconds; verifying is for the
// edges, once a record, never for a machine.

#include <cstddef>
#include <string>
#include <string_view>

#include "gossip/base/ids.h"

namespace muster::gossip {

inline constexpr std::size_t kSignatureBytes = 64;
inline constexpr std::size_t kPublicKeyBytesMax = 32;

/// Signs as one host. The same words get the same signature.
class Signer {
 public:
  virtual ~Signer() = default;
  virtual std::string sign(std::string_view words) const = 0;
  virtual std::string_view public_key() const = 0;
};

/// Keys and signatures come from others: of any size and content.
class Verifier {
 public:
  virtual ~Verifier() = default;
  virtual bool verify(std::string_view public_key, std::string_view words,
                      std::string_view signature) const = 0;
  /// The host whose key that is: its id is a hash of it.
  virtual HostId host_of(std::string_view public_key) const = 0;
};

}  // namespace muster::gossip
