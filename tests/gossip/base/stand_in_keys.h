#pragma once
// Stand-in signatures for tests and for the simulator: cheap, and the same in every run. Only the
// holder of a host's StandInSigner can sign as that host. The public key is the host id itself.

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "gossip/base/ids.h"
#include "gossip/base/signing.h"

namespace muster::gossip::testing {

/// The signer and the hash of all words ever signed, for checkers.
using SignedWords = std::set<std::pair<HostId, std::uint64_t>>;

inline std::uint64_t hash_of(std::string_view words, std::uint64_t seed) {
  std::uint64_t hash = seed ^ 0xcbf29ce484222325U;
  for (const char letter : words) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;
  }
  return hash ^ (hash >> 29);
}

class StandInVerifier final : public Verifier {
 public:
  bool verify(std::string_view public_key, std::string_view words,
              std::string_view signature) const override {
    return signature.size() == kSignatureBytes && signature == signature_of(public_key, words);
  }
  HostId host_of(std::string_view public_key) const override {
    return HostId::from_bytes(public_key);
  }
  std::string link_key_of(std::string_view public_key) const override {
    return std::string(public_key);
  }
  std::string digest(std::string_view words) const override {
    return hashes_of(words, 1, kDigestBytes);
  }
  std::string sha256(std::string_view words) const override {
    return hashes_of(words, 3, kSha256Bytes);
  }
  std::string sha512(std::string_view words) const override {
    return hashes_of(words, 7, kSha512Bytes);
  }
  std::string seal(std::string_view public_key, std::string_view secret) const override {
    return "to " + std::string(public_key) + ":" + std::string(secret);
  }

 private:
  friend class StandInSigner;
  /// Hashes by `seed`, `seed` + 1 and on, until there are so many bytes.
  static std::string hashes_of(std::string_view words, std::uint64_t seed, std::size_t size_bytes) {
    std::string bytes;
    for (; bytes.size() < size_bytes; ++seed) {
      const std::uint64_t hash = hash_of(words, seed);
      for (std::size_t i = 0; i < sizeof hash; ++i) {
        bytes += static_cast<char>(hash >> (8 * i));
      }
    }
    return bytes;
  }
  static std::string signature_of(std::string_view public_key, std::string_view words) {
    constexpr std::uint64_t kSecret = 0x5ec5e75ec5e75ec5U;
    const std::uint64_t hash = hash_of(words, hash_of(public_key, kSecret));
    std::string signature(kSignatureBytes, '\0');
    for (std::size_t i = 0; i < sizeof hash; ++i) {
      signature[i] = static_cast<char>(hash >> (8 * i));
    }
    return signature;
  }
};

class StandInSigner final : public Signer {
 public:
  /// `said` records the words that it signs; it may be null, else it outlives this.
  explicit StandInSigner(HostId host, SignedWords* said = nullptr)
      : host_(host), key_(host.bytes()), said_(said) {}
  /// Signs by any key that is not of a host.
  explicit StandInSigner(std::string key) : key_(std::move(key)), said_(nullptr) {}
  std::string sign(std::string_view words) const override {
    if (said_ != nullptr) {
      said_->emplace(host_, hash_of(words, 0));
    }
    return StandInVerifier::signature_of(key_, words);
  }
  std::string_view public_key() const override { return key_; }
  std::string digest(std::string_view words) const override {
    return StandInVerifier().digest(words);
  }
  std::optional<std::string> open(std::string_view sealed) const override {
    const std::string head = "to " + key_ + ":";
    return sealed.starts_with(head) ? std::optional(std::string(sealed.substr(head.size())))
                                    : std::nullopt;
  }

 private:
  HostId host_;
  std::string key_;
  SignedWords* said_;
};

inline std::shared_ptr<const Signer> signer_of(HostId host) {
  return std::make_shared<StandInSigner>(host);
}

/// The signer of a person, whose SSH key has the size of a real one. Persons of different names
/// have different keys if the first 32 letters differ.
inline std::shared_ptr<const Signer> signer_of_person(std::string name) {
  name.resize(kPublicKeyBytesMax, '.');
  return std::make_shared<StandInSigner>(std::move(name));
}

/// Makes numbered seeds that hold the id of their owner: sixteen bytes, the id of their signer.
class StandInKeyMaker final : public KeyMaker {
 public:
  /// `said`: as that of StandInSigner, for the signers of its seeds.
  explicit StandInKeyMaker(HostId owner, SignedWords* said = nullptr)
      : owner_(owner), said_(said) {}
  std::string make_seed() const override {
    std::string seed(owner_.bytes());
    ++made_;
    seed[0] = static_cast<char>(seed[0] ^ 0x55);
    seed[1] = static_cast<char>(made_ >> 8);
    seed[2] = static_cast<char>(made_);
    return seed;
  }
  std::shared_ptr<const Signer> signer_of(std::string_view seed) const override {
    return seed.size() == HostId::kSizeBytes
               ? std::make_shared<StandInSigner>(HostId::from_bytes(seed), said_)
               : nullptr;
  }
  std::string link_key_of(std::string_view seed) const override { return std::string(seed); }

 private:
  HostId owner_;
  SignedWords* said_;
  mutable unsigned made_ = 0;
};

}  // namespace muster::gossip::testing
