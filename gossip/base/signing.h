#pragma once
// Who said it: the seam between what is signed and how. Production signs with Ed25519
// (agent/edge/disk/host_key); the simulator has a stand-in whose signers it hands to their owners
// alone. Signing is for a machine's own words and costs tens of microseconds; verifying is for the
// edges, once a record, never for a machine.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "gossip/base/ids.h"

namespace muster::gossip {

inline constexpr std::size_t kSignatureBytes = 64;
inline constexpr std::size_t kPublicKeyBytesMax = 32;
inline constexpr std::size_t kDigestBytes = 16;

/// Signs as one host, or as the cluster authority. The same words get the same signature.
class Signer {
 public:
  virtual ~Signer() = default;
  virtual std::string sign(std::string_view words) const = 0;
  virtual std::string_view public_key() const = 0;
  /// As Verifier::digest().
  virtual std::string digest(std::string_view words) const = 0;
  /// What was sealed to public_key(); nothing when it was not, or was changed since.
  virtual std::optional<std::string> open(std::string_view sealed) const = 0;
};

/// Keys and signatures come from others: of any size and content.
class Verifier {
 public:
  virtual ~Verifier() = default;
  virtual bool verify(std::string_view public_key, std::string_view words,
                      std::string_view signature) const = 0;
  /// The host whose key that is: its id is a hash of it.
  virtual HostId host_of(std::string_view public_key) const = 0;
  /// The public key of the link pair whose seed also signs by `public_key`; "" when that is no key.
  virtual std::string link_key_of(std::string_view public_key) const = 0;
  /// kDigestBytes of any words; nobody finds other words of the same.
  virtual std::string digest(std::string_view words) const = 0;
  /// Only who signs by that key can open it. "" when it is no key.
  virtual std::string seal(std::string_view public_key, std::string_view secret) const = 0;
};

/// Makes keys that nobody had before. A seed is the secret of a pair: the same seed gives the same.
class KeyMaker {
 public:
  virtual ~KeyMaker() = default;
  virtual std::string make_seed() const = 0;
  /// Null when that is no seed. By the signer of a link's seed its owner shows that it has it.
  virtual std::shared_ptr<const Signer> signer_of(std::string_view seed) const = 0;
  /// The public key of the link pair of that seed; "" when it is none.
  virtual std::string link_key_of(std::string_view seed) const = 0;
};

}  // namespace muster::gossip
