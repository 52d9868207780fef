#include "gossip/edge/admitted_keys.h"

#include "gossip/base/check.h"

namespace muster::gossip {

bool AdmittedKeys::admit(const Admit& admit) {
  CHECK(admit.who.kind != Sender::Kind::kLogin);
  if (admit.key.size() != kLinkKeyBytes) {
    return false;
  }
  const std::lock_guard lock(mutex_);
  if (admit.who.kind == Sender::Kind::kNobody) {
    senders_.erase(admit.key);
    return true;
  }
  const auto known = senders_.find(admit.key);
  if (known != senders_.end()) {
    known->second = admit.who;
    return true;
  }
  if (senders_.size() >= keys_max_) {
    return false;
  }
  senders_.emplace(admit.key, admit.who);
  return true;
}

std::optional<Sender> AdmittedKeys::find(std::string_view key) const {
  const std::lock_guard lock(mutex_);
  const auto known = senders_.find(key);
  return known == senders_.end() ? std::nullopt : std::optional<Sender>(known->second);
}

}  // namespace muster::gossip
