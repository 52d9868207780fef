#include "agent/front/client_desk.h"

#include <algorithm>

#include "gossip/base/check.h"

namespace muster::agent {

std::optional<std::uint64_t> ClientDesk::open(Instant now, Open question, Duration patience) {
  if (waiting_.size() >= kOpenMax) {
    return std::nullopt;
  }
  std::uint64_t number = rng_.next();
  while (number == 0 || waiting_.contains(number)) {
    number = rng_.next();
  }
  waiting_.emplace(number, Waiting{std::move(question), now + patience});
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

template <class IsOver>
std::vector<ClientDesk::Open> ClientDesk::close_if(IsOver is_over) {
  std::vector<Open> closed;
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    if (is_over(it->second)) {
      closed.push_back(std::move(it->second.open));
      it = waiting_.erase(it);
    } else {
      ++it;
    }
  }
  return closed;
}

std::vector<ClientDesk::Open> ClientDesk::expire(Instant now) {
  return close_if([now](const Waiting& waiting) { return waiting.deadline <= now; });
}

std::vector<ClientDesk::Open> ClientDesk::give_up(HostId asked) {
  CHECK(!asked.is_zero());
  return close_if([asked](const Waiting& waiting) { return waiting.open.asked == asked; });
}

std::vector<ClientDesk::Open> ClientDesk::take_back(HostId leader) {
  CHECK(!leader.is_zero());
  return close_if([leader](const Waiting& waiting) {
    const Open& open = waiting.open;
    return open.waits || (open.follows_leader && !open.asked.is_zero() && open.asked != leader);
  });
}

bool ClientDesk::is_copy(HostId from, Nonce nonce) {
  if (!passed_on_.insert({from, nonce}).second) {
    return true;
  }
  passed_on_in_order_.emplace_back(from, nonce);
  if (passed_on_in_order_.size() > kCopiesKnownMax) {
    passed_on_.erase(passed_on_in_order_.front());
    passed_on_in_order_.pop_front();
  }
  return false;
}

Instant ClientDesk::next_deadline() const {
  Instant next = kNever;
  for (const auto& [number, waiting] : waiting_) {
    next = std::min(next, waiting.deadline);
  }
  return next;
}

}  // namespace muster::agent
