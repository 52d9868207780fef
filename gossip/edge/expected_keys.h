#pragma once
// Which link key listens at which endpoint: without one an endpoint is not dialled.

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
    kNone,     ///< It was so before.
    kNew,      ///< A link to there, if there is one, was dialled for another key.
    kTooMany,  ///< Nothing was changed.
  };

  explicit ExpectedKeys(std::size_t keys_max = kExpectedKeysMax) : keys_max_(keys_max) {}

  /// What is no key is taken as none.
  Change expect(const Expect& expect);
  /// Null where none is expected; valid until the next change.
  const std::string* find(const Endpoint& at) const;
  /// Expects this key nowhere any more, and says where it was.
  std::vector<Endpoint> take_out(std::string_view key);

 private:
  void forget(const Endpoint& at);

  std::size_t keys_max_;
  std::map<Endpoint, std::string> keys_;
  std::map<std::string, std::set<Endpoint>, std::less<>> endpoints_;  ///< Of keys_, by key.
};

}  // namespace muster::gossip
