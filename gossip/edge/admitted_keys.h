#pragma once
// AdmittedKeys holds the link keys that are let in, each with its sender. The event loop writes it;
// the thread of ZmqZap reads it, too. Each call holds a lock for about a microsecond. Swapped
// snapshots were rejected: a start with ten thousand hosts would copy ten thousand of them.

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "gossip/wire/transport.h"

namespace muster::gossip {

/// Four times the hosts of the largest cluster: each may have two keys while it changes them, and
/// there are tickets.
inline constexpr std::size_t kAdmittedKeysMax = 40'000;

class AdmittedKeys {
 public:
  explicit AdmittedKeys(std::size_t keys_max = kAdmittedKeysMax) : keys_max_(keys_max) {}

  /// Adds or changes a key; kNobody removes it. Precondition: not kLogin, which has no key. False,
  /// and no change, if the key is malformed or would be one too many.
  bool admit(const Admit& admit);
  /// The sender of that key; nullopt if the key is not admitted.
  std::optional<Sender> find(std::string_view key) const;

 private:
  std::size_t keys_max_;
  mutable std::mutex mutex_;
  std::map<std::string, Sender, std::less<>> senders_;
};

}  // namespace muster::gossip
