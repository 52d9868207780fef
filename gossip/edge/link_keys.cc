#include "gossip/edge/link_keys.h"

#include <sodium.h>

#include <utility>

#include "gossip/base/check.h"

namespace muster::gossip {

static_assert(kLinkKeyBytes == crypto_box_PUBLICKEYBYTES);
static_assert(kLinkKeyBytes == crypto_box_SECRETKEYBYTES);
static_assert(kLinkSeedBytes == crypto_box_SEEDBYTES);

LinkKeys& LinkKeys::operator=(LinkKeys other) noexcept {
  std::swap(public_key, other.public_key);
  std::swap(secret_key, other.secret_key);
  return *this;
}

LinkKeys::~LinkKeys() {
  sodium_memzero(secret_key.data(), secret_key.size());
}

LinkKeys LinkKeys::make() {
  // Fails if there is no source of randomness: without it no key of ours would be secret.
  CHECK(sodium_init() >= 0);
  std::string seed(kLinkSeedBytes, '\0');
  randombytes_buf(seed.data(), seed.size());
  LinkKeys keys = from_seed(seed);
  sodium_memzero(seed.data(), seed.size());
  return keys;
}

LinkKeys LinkKeys::from_seed(std::string_view seed) {
  CHECK(seed.size() == kLinkSeedBytes);
  LinkKeys keys;
  keys.public_key.resize(kLinkKeyBytes);
  keys.secret_key.resize(kLinkKeyBytes);
  CHECK(crypto_box_seed_keypair(reinterpret_cast<std::uint8_t*>(keys.public_key.data()),
                                reinterpret_cast<std::uint8_t*>(keys.secret_key.data()),
                                reinterpret_cast<const std::uint8_t*>(seed.data())) == 0);
  return keys;
}

bool LinkKeys::are_keys() const {
  return public_key.size() == kLinkKeyBytes && secret_key.size() == kLinkKeyBytes;
}

}  // namespace muster::gossip
