#include "agent/client_desk.h"

#include <algorithm>

namespace muster::agent {

std::optional<std::uint64_t> ClientDesk::open(Instant now, Asker asker, Request request) {
  if (waiting_.size() >= kOpenMax) {
    return std::nullopt;
  }
  std::uint64_t number = rng_.next();
  while (number == 0 || waiting_.contains(number)) {
    number = rng_.next();
  }
  waiting_.emplace(number, Waiting{{std::move(asker), std::move(request)}, now + kForwardTimeout});
  return number;
}

std::optional<ClientDesk::Open> ClientDesk::close(std::uint64_t number) {
  const auto found = waiting_.find(number);
  if (found == waiting_.end()) {
    return std::nullopt;
  }
  Open open = std::move(found->second.open);
  waiting_.erase(found);
  return open;
}

std::vector<ClientDesk::Open> ClientDesk::expire(Instant now) {
  std::vector<Open> expired;
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    if (it->second.deadline <= now) {
      expired.push_back(std::move(it->second.open));
      it = waiting_.erase(it);
    } else {
      ++it;
    }
  }
  return expired;
}

Instant ClientDesk::next_deadline() const {
  Instant next = kNever;
  for (const auto& [number, waiting] : waiting_) {
    next = std::min(next, waiting.deadline);
  }
  return next;
}

}  // namespace muster::agent
