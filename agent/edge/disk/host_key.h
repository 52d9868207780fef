#pragma once
// The identity of this host: an Ed25519 key pair made at the first start of its agent. The seed is
// a record of the kId environment, so it is as durable and as checked as every record there; the
// host id follows from the public key. A host that loses the seed becomes another host.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "crdt/disk/write_batch.h"
#include "gossip/base/ids.h"
#include "gossip/base/result.h"
#include "gossip/base/signing.h"

namespace muster::agent {

/// Where the seed is kept in Environment::kId.
inline constexpr std::string_view kHostKeyRecord = "key/seed";

class HostKey final : public gossip::Signer {
 public:
  static constexpr std::size_t kSeedBytes = 32;
  static constexpr std::size_t kPublicKeyBytes = 32;

  /// The key in `records` (of kId), or a new random one. kCorrupt: a record of the wrong size;
  /// kIo: no source of randomness.
  static Result<HostKey> load_or_make(const crdt::Records& records);
  /// Made from a given seed of kSeedBytes (CHECKed): the same seed gives the same host.
  static HostKey from_seed(std::string_view seed);

  HostKey(const HostKey&) = default;
  HostKey& operator=(const HostKey&) = default;
  ~HostKey() override;

  /// First 16 bytes of BLAKE2b-256 of the public key.
  HostId host_id() const { return host_id_; }
  std::string_view public_key() const override;
  std::string sign(std::string_view words) const override;
  std::string digest(std::string_view words) const override;
  /// Sealed boxes of libsodium, to the X25519 form of the key.
  std::optional<std::string> open(std::string_view sealed) const override;

  /// The writes to commit to kId before the id is told to anyone; empty if the key was loaded.
  crdt::WriteBatch writes() const;

 private:
  HostKey() = default;

  std::array<std::uint8_t, kSeedBytes> seed_{};
  std::array<std::uint8_t, kPublicKeyBytes> public_key_{};
  std::array<std::uint8_t, 64> secret_key_{};
  HostId host_id_;
  bool is_new_ = false;
};

/// Of what a HostKey signed. Safe from any thread.
class HostKeyVerifier final : public gossip::Verifier {
 public:
  /// False also for keys and signatures of the wrong size.
  bool verify(std::string_view public_key, std::string_view words,
              std::string_view signature) const override;
  HostId host_of(std::string_view public_key) const override;
  /// libsodium makes box and signature pairs of a seed that convert into each other.
  std::string link_key_of(std::string_view public_key) const override;
  std::string digest(std::string_view words) const override;
  std::string sha256(std::string_view words) const override;
  std::string sha512(std::string_view words) const override;
  std::string seal(std::string_view public_key, std::string_view secret) const override;
};

/// Of seeds from the kernel's randomness, HostKey::kSeedBytes each.
class HostKeyMaker final : public gossip::KeyMaker {
 public:
  std::string make_seed() const override;
  std::shared_ptr<const gossip::Signer> signer_of(std::string_view seed) const override;
  std::string link_key_of(std::string_view seed) const override;
};

}  // namespace muster::agent
