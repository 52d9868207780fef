#pragma once
// Signer, Verifier and KeyMaker are the interfaces of signatures. Production signs with Ed25519
// (agent/edge/disk/host_key). The simulator has a stand-in, and gives each signer to its owner
// alone. A machine signs its own records, at tens of microseconds each. The edges verify, once a
// record; a machine never does, but for the signatures of people (gossip/ssh), which each voter
// verifies while it applies an entry.

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
inline constexpr std::size_t kSha256Bytes = 32;
inline constexpr std::size_t kSha512Bytes = 64;

/// Signs as one host or as the cluster authority. The same words give the same signature.
class Signer {
 public:
  virtual ~Signer() = default;
  virtual std::string sign(std::string_view words) const = 0;
  virtual std::string_view public_key() const = 0;
  /// As Verifier::digest().
  virtual std::string digest(std::string_view words) const = 0;
  /// The secret that was sealed to public_key(); nullopt if another key was meant or it changed.
  virtual std::optional<std::string> open(std::string_view sealed) const = 0;
};

/// Verifies signatures. Keys and signatures come from others and may have any size and content.
class Verifier {
 public:
  virtual ~Verifier() = default;
  virtual bool verify(std::string_view public_key, std::string_view words,
                      std::string_view signature) const = 0;
  /// The host of that key: the id of a host is a hash of its public key.
  virtual HostId host_of(std::string_view public_key) const = 0;
  /// The public key of the link pair whose seed also signs by `public_key`; "" if that is no key.
  virtual std::string link_key_of(std::string_view public_key) const = 0;
  /// The collision-resistant digest of any words, of kDigestBytes.
  virtual std::string digest(std::string_view words) const = 0;
  /// The hashes of SSH (FIPS 180-4), of kSha256Bytes and kSha512Bytes.
  virtual std::string sha256(std::string_view words) const = 0;
  virtual std::string sha512(std::string_view words) const = 0;
  /// Seals a secret: only the signer of that key can open it. "" if `public_key` is no key.
  virtual std::string seal(std::string_view public_key, std::string_view secret) const = 0;
};

/// Makes fresh keys. A seed is the secret of a pair: the same seed gives the same pair.
class KeyMaker {
 public:
  virtual ~KeyMaker() = default;
  virtual std::string make_seed() const = 0;
  /// Null if `seed` is no seed. A host proves with this signer that it holds the seed of a link.
  virtual std::shared_ptr<const Signer> signer_of(std::string_view seed) const = 0;
  /// The public key of the link pair of that seed; "" if `seed` is no seed.
  virtual std::string link_key_of(std::string_view seed) const = 0;
};

}  // namespace muster::gossip
