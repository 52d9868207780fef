#include "agent/gang/renewals.h"

#include <algorithm>
#include <utility>

#include "gossip/base/check.h"

namespace muster::agent {
namespace {

constexpr std::size_t kRenewalsMax = 64;  // Over 5 min of unanswered renewals.

}  // namespace

void Renewals::begin(Instant now, GangOutbox& out) {
  if (renew_at_ == kNever) {
    renew_at_ = now + out.draw(interval_ / 2, interval_);
  }
}

void Renewals::hasten(Instant now) {
  renew_at_ = std::min(renew_at_, now);
}

void Renewals::leader_changed(Instant now) {
  if (renew_at_ != kNever) {
    renew_at_ = now;
  }
}

void Renewals::send(Instant now, scheduler::Renew renew, GangOutbox& out) {
  if (renew.tokens.empty()) {
    renew_at_ = kNever;
    under_way_.clear();
    return;
  }
  renew_at_ = now + interval_;
  if (!out.has_leader()) {
    return;
  }
  std::vector<Token> tokens = renew.tokens;
  const Nonce nonce = out.send(std::move(renew));
  under_way_.emplace(nonce, Renewal{now, std::move(tokens)});
  if (under_way_.size() > kRenewalsMax) {
    under_way_.erase(std::min_element(
        under_way_.begin(), under_way_.end(),
        [](const auto& a, const auto& b) { return a.second.sent < b.second.sent; }));
  }
}

std::optional<Renewal> Renewals::take(Nonce nonce) {
  const auto found = under_way_.find(nonce);
  if (found == under_way_.end()) {
    return std::nullopt;
  }
  Renewal renewal = std::move(found->second);
  under_way_.erase(found);
  return renewal;
}

std::vector<Nonce> Renewals::under_way() const {
  std::vector<Nonce> nonces;
  for (const auto& [nonce, renewal] : under_way_) {
    nonces.push_back(nonce);
  }
  return nonces;
}

void Renewals::check_invariants() const {
  CHECK(under_way_.size() <= kRenewalsMax);
  CHECK(under_way_.empty() || renew_at_ != kNever);
}

}  // namespace muster::agent
