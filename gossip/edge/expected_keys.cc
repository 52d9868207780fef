#include "gossip/edge/expected_keys.h"

namespace muster::gossip {

ExpectedKeys::Change ExpectedKeys::expect(const Expect& expect) {
  const std::string key = expect.key.size() == kLinkKeyBytes ? expect.key : "";
  const std::string* known = find(expect.at);
  if (known == nullptr ? key.empty() : *known == key) {
    return Change::kNone;
  }
  if (known == nullptr && keys_.size() >= keys_max_) {
    return Change::kTooMany;
  }
  forget(expect.at);
  if (!key.empty()) {
    keys_.emplace(expect.at, key);
    endpoints_[key].insert(expect.at);
  }
  return Change::kNew;
}

const std::string* ExpectedKeys::find(const Endpoint& at) const {
  const auto known = keys_.find(at);
  return known == keys_.end() ? nullptr : &known->second;
}

std::vector<Endpoint> ExpectedKeys::take_out(std::string_view key) {
  const auto known = endpoints_.find(key);
  if (known == endpoints_.end()) {
    return {};
  }
  const std::vector<Endpoint> found(known->second.begin(), known->second.end());
  for (const Endpoint& at : found) {
    forget(at);
  }
  return found;
}

void ExpectedKeys::forget(const Endpoint& at) {
  const auto known = keys_.find(at);
  if (known == keys_.end()) {
    return;
  }
  const auto endpoints = endpoints_.find(known->second);
  endpoints->second.erase(at);
  if (endpoints->second.empty()) {
    endpoints_.erase(endpoints);
  }
  keys_.erase(known);
}

}  // namespace muster::gossip
