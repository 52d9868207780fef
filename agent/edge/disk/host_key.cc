#include "agent/edge/disk/host_key.h"

#include <sodium.h>

#include <algorithm>

#include "gossip/base/check.h"
#include "gossip/edge/link_keys.h"

namespace muster::agent {
namespace {

constexpr std::size_t kDigestBytes = 32;

const std::uint8_t* raw(std::string_view text) {
  return reinterpret_cast<const std::uint8_t*>(text.data());
}

}  // namespace

static_assert(HostKey::kSeedBytes == crypto_sign_SEEDBYTES);
static_assert(HostKey::kPublicKeyBytes == crypto_sign_PUBLICKEYBYTES);
static_assert(HostKey::kPublicKeyBytes == gossip::kPublicKeyBytesMax);
static_assert(gossip::kSignatureBytes == crypto_sign_BYTES);
static_assert(gossip::kSha256Bytes == crypto_hash_sha256_BYTES);
static_assert(gossip::kSha512Bytes == crypto_hash_sha512_BYTES);

Result<HostKey> HostKey::load_or_make(const crdt::Records& records) {
  if (sodium_init() < 0) {
    return Error{ErrorCode::kIo, "no source of randomness on this host"};
  }
  const auto stored = records.find(std::string(kHostKeyRecord));
  if (stored != records.end()) {
    if (stored->second.size() != kSeedBytes) {
      return Error{ErrorCode::kCorrupt, "the host key has " +
                                            std::to_string(stored->second.size()) +
                                            " bytes instead of " + std::to_string(kSeedBytes)};
    }
    return from_seed(stored->second);
  }
  std::array<char, kSeedBytes> seed{};
  randombytes_buf(seed.data(), seed.size());
  HostKey key = from_seed({seed.data(), seed.size()});
  sodium_memzero(seed.data(), seed.size());
  key.is_new_ = true;
  return key;
}

HostKey HostKey::from_seed(std::string_view seed) {
  CHECK(seed.size() == kSeedBytes);
  HostKey key;
  std::copy(seed.begin(), seed.end(), key.seed_.begin());
  CHECK(crypto_sign_seed_keypair(key.public_key_.data(), key.secret_key_.data(),
                                 key.seed_.data()) == 0);
  key.host_id_ = HostKeyVerifier().host_of(key.public_key());
  return key;
}

HostKey::~HostKey() {
  sodium_memzero(seed_.data(), seed_.size());
  sodium_memzero(secret_key_.data(), secret_key_.size());
}

std::string_view HostKey::public_key() const {
  return {reinterpret_cast<const char*>(public_key_.data()), public_key_.size()};
}

std::string HostKey::sign(std::string_view words) const {
  std::string signature(gossip::kSignatureBytes, '\0');
  crypto_sign_detached(reinterpret_cast<std::uint8_t*>(signature.data()), nullptr, raw(words),
                       words.size(), secret_key_.data());
  return signature;
}

bool HostKeyVerifier::verify(std::string_view public_key, std::string_view words,
                             std::string_view signature) const {
  return public_key.size() == HostKey::kPublicKeyBytes &&
         signature.size() == gossip::kSignatureBytes &&
         crypto_sign_verify_detached(raw(signature), raw(words), words.size(), raw(public_key)) ==
             0;
}

HostId HostKeyVerifier::host_of(std::string_view public_key) const {
  std::array<char, kDigestBytes> digest{};
  crypto_generichash(reinterpret_cast<std::uint8_t*>(digest.data()), digest.size(), raw(public_key),
                     public_key.size(), nullptr, 0);
  return HostId::from_bytes({digest.data(), HostId::kSizeBytes});
}

std::optional<std::string> HostKey::open(std::string_view sealed) const {
  std::array<std::uint8_t, crypto_box_PUBLICKEYBYTES> box_key{};
  std::array<std::uint8_t, crypto_box_SECRETKEYBYTES> box_secret{};
  if (sealed.size() < crypto_box_SEALBYTES ||
      crypto_sign_ed25519_pk_to_curve25519(box_key.data(), public_key_.data()) != 0 ||
      crypto_sign_ed25519_sk_to_curve25519(box_secret.data(), secret_key_.data()) != 0) {
    return std::nullopt;
  }
  std::string secret(sealed.size() - crypto_box_SEALBYTES, '\0');
  const bool is_open =
      crypto_box_seal_open(reinterpret_cast<std::uint8_t*>(secret.data()), raw(sealed),
                           sealed.size(), box_key.data(), box_secret.data()) == 0;
  sodium_memzero(box_secret.data(), box_secret.size());
  return is_open ? std::optional(std::move(secret)) : std::nullopt;
}

std::string HostKeyVerifier::link_key_of(std::string_view public_key) const {
  std::string key(gossip::kLinkKeyBytes, '\0');
  const bool is_key = public_key.size() == HostKey::kPublicKeyBytes &&
                      crypto_sign_ed25519_pk_to_curve25519(
                          reinterpret_cast<std::uint8_t*>(key.data()), raw(public_key)) == 0;
  return is_key ? key : "";
}

std::string HostKey::digest(std::string_view words) const {
  return HostKeyVerifier().digest(words);
}

std::string HostKeyVerifier::digest(std::string_view words) const {
  std::string digest(gossip::kDigestBytes, '\0');
  crypto_generichash(reinterpret_cast<std::uint8_t*>(digest.data()), digest.size(), raw(words),
                     words.size(), nullptr, 0);
  return digest;
}

std::string HostKeyVerifier::sha256(std::string_view words) const {
  std::string hash(gossip::kSha256Bytes, '\0');
  crypto_hash_sha256(reinterpret_cast<std::uint8_t*>(hash.data()), raw(words), words.size());
  return hash;
}

std::string HostKeyVerifier::sha512(std::string_view words) const {
  std::string hash(gossip::kSha512Bytes, '\0');
  crypto_hash_sha512(reinterpret_cast<std::uint8_t*>(hash.data()), raw(words), words.size());
  return hash;
}

std::string HostKeyVerifier::seal(std::string_view public_key, std::string_view secret) const {
  std::array<std::uint8_t, crypto_box_PUBLICKEYBYTES> box_key{};
  std::string sealed(secret.size() + crypto_box_SEALBYTES, '\0');
  const bool is_key = public_key.size() == HostKey::kPublicKeyBytes &&
                      crypto_sign_ed25519_pk_to_curve25519(box_key.data(), raw(public_key)) == 0 &&
                      crypto_box_seal(reinterpret_cast<std::uint8_t*>(sealed.data()), raw(secret),
                                      secret.size(), box_key.data()) == 0;
  return is_key ? sealed : std::string();
}

std::string HostKeyMaker::make_seed() const {
  std::string seed(HostKey::kSeedBytes, '\0');
  randombytes_buf(seed.data(), seed.size());
  return seed;
}

std::shared_ptr<const gossip::Signer> HostKeyMaker::signer_of(std::string_view seed) const {
  return seed.size() == HostKey::kSeedBytes ? std::make_shared<HostKey>(HostKey::from_seed(seed))
                                            : nullptr;
}

std::string HostKeyMaker::link_key_of(std::string_view seed) const {
  return seed.size() == gossip::kLinkSeedBytes ? gossip::LinkKeys::from_seed(seed).public_key : "";
}

crdt::WriteBatch HostKey::writes() const {
  if (!is_new_) {
    return {};
  }
  const std::string seed(reinterpret_cast<const char*>(seed_.data()), seed_.size());
  return {{std::string(kHostKeyRecord), seed}};
}

}  // namespace muster::agent
