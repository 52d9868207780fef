#pragma once
// Which link keys are let in, and as whom. The event loop writes it; the thread that answers
// handshakes asks it too. Every call holds a lock for about a microsecond: snapshots that are
// swapped would be copied whole for each of ten thousand hosts at a start.

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

  /// Takes in, changes or takes out: kNobody takes out. kLogin is nobody's key: a CHECK fails.
  /// False when nothing was changed, for the key is none or a new one is one too many.
  bool admit(const Admit& admit);
  /// Who that key is; nothing when it is not let in.
  std::optional<Sender> find(std::string_view key) const;

 private:
  std::size_t keys_max_;
  mutable std::mutex mutex_;
  std::map<std::string, Sender, std::less<>> senders_;
};

}  // namespace muster::gossip
