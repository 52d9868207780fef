#include "agent/edge/door/address_limits.h"

#include <algorithm>

#include "gossip/base/check.h"

namespace muster::agent {
namespace {

constexpr std::size_t kNetworkBytes = 8;

}  // namespace

AddressLimits::Key AddressLimits::key_of(const gossip::Endpoint& client) {
  Key key = client.ip;
  if (!client.is_ipv4()) {
    std::fill(key.begin() + kNetworkBytes, key.end(), std::uint8_t{0});
  }
  return key;
}

AddressLimits::Key AddressLimits::key_of_uid(std::uint32_t uid) {
  Key key{};
  for (std::size_t at = 0; at < sizeof uid; ++at) {
    key[at] = static_cast<std::uint8_t>(uid >> (8 * at));
  }
  return key;
}

bool AddressLimits::has_room(const Key& key) const {
  const auto found = counts_.find(key);
  return found == counts_.end() ? all_ > 0 && unproven_ > 0
                                : found->second.all < all_ && found->second.unproven < unproven_;
}

void AddressLimits::add(const Key& key, bool is_proven) {
  Count& count = counts_[key];
  ++count.all;
  if (!is_proven) {
    ++count.unproven;
    ++unproven_now_;
  }
}

void AddressLimits::prove(const Key& key) {
  const auto found = counts_.find(key);
  CHECK(found != counts_.end() && found->second.unproven > 0);
  --found->second.unproven;
  --unproven_now_;
}

void AddressLimits::remove(const Key& key, bool is_proven) {
  if (!is_proven) {
    prove(key);
  }
  const auto found = counts_.find(key);
  CHECK(found != counts_.end() && found->second.all > 0);
  if (--found->second.all == 0) {
    counts_.erase(found);
  }
}

}  // namespace muster::agent
