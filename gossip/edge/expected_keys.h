#pragma once
// ExpectedKeys maps an endpoint to the link key that listens there. ZmqLinks dials no other
// endpoint.

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gossip/edge/admitted_keys.h"
#include "gossip/wire/transport.h"

namespace muster::gossip {

/// A control port and a bulk port for every key.
inline constexpr std::size_t kExpectedKeysMax = 2 * kAdmittedKeysMax;

class ExpectedKeys {
 public:
  enum class Change {
    kNone,     ///< The endpoint had this key before.
    kNew,      ///< A link to the endpoint, if there is one, was dialled for another key.
    kTooMany,  ///< The table is full; it did not change.
  };

  explicit ExpectedKeys(std::size_t keys_max = kExpectedKeysMax) : keys_max_(keys_max) {}

  /// A malformed key means that no key is expected.
  Change expect(const Expect& expect);
  /// Null if no key is expected there; valid until the next change.
  const std::string* find(const Endpoint& at) const;
  /// Removes this key from all endpoints, and returns these.
  std::vector<Endpoint> take_out(std::string_view key);

 private:
  void forget(const Endpoint& at);

  std::size_t keys_max_;
  std::map<Endpoint, std::string> keys_;
  std::map<std::string, std::set<Endpoint>, std::less<>> endpoints_;  ///< Of keys_, by key.
};

}  // namespace muster::gossip
