#include "agent/gang/relay/renewal_relay.h"

#include <algorithm>
#include <utility>

namespace muster::agent {
namespace {

/// After a change of the leader the short delay holds this long: by then every host knows of it.
constexpr Duration kFirst = std::chrono::seconds(5);

}  // namespace

void RenewalRelay::leader_changed(Instant now, HostId leader) {
  leader_ = leader;
  first_until_ = now + kFirst;
  again_at_ = kNever;
  own_.clear();
  if (leader_ == self_ || leader_.is_zero()) {
    gathered_.clear();
    bring_at_ = kNever;
    return;
  }
  for (auto& [host, brought] : std::exchange(brought_, {})) {
    if (now - brought.at < kBroughtMax) {
      gathered_.push_back(std::move(brought.renewal));
    }
  }
  if (!gathered_.empty()) {
    bring_at_ = now + kRelayDelayFirst;
  }
}

void RenewalRelay::carry_own(Instant now, HostId relay, Nonce nonce, scheduler::Renew renew) {
  const bool is_direct = relay.is_zero() || relay == leader_ || leader_ == self_;
  if (is_direct) {
    messages_.push_back({leader_, nonce, std::move(renew)});
    return;
  }
  own_.insert_or_assign(nonce, Own{now + kRelayPatience, renew});
  if (relay == self_) {
    add(now, self_, nonce, std::move(renew));
  } else {
    messages_.push_back({relay, nonce, std::move(renew)});
  }
}

void RenewalRelay::carry(Instant now, HostId from, Nonce nonce, scheduler::Renew renew) {
  if (leader_ != self_ && !leader_.is_zero() && gathered_.size() < kRelayHostsMax) {
    add(now, from, nonce, std::move(renew));
  }
}

void RenewalRelay::add(Instant now, HostId host, Nonce nonce, scheduler::Renew renew) {
  gathered_.push_back({host, nonce, std::move(renew)});
  if (bring_at_ == kNever) {
    bring_at_ = now + (now < first_until_ ? kRelayDelayFirst : kRelayDelay);
  }
}

void RenewalRelay::bring(Instant now) {
  bring_at_ = kNever;
  for (const scheduler::RelayedRenew& each : gathered_) {
    brought_.insert_or_assign(each.host, Brought{now, each});
  }
  again_at_ = std::min(again_at_, now + kRelayAgain);
  say(std::exchange(gathered_, {}));
}

void RenewalRelay::bring_again(Instant now) {
  again_at_ = kNever;
  std::vector<scheduler::RelayedRenew> renewals;
  // This process may have stood still, and the hosts may be gone since.
  std::erase_if(brought_, [&](const auto& each) { return now - each.second.at >= kBroughtMax; });
  for (auto& [host, brought] : brought_) {
    if (brought.is_again) {
      continue;
    }
    if (const Instant due = brought.at + kRelayAgain; due > now) {
      again_at_ = std::min(again_at_, due);
      continue;
    }
    brought.is_again = true;
    renewals.push_back(brought.renewal);
  }
  say(renewals);
}

void RenewalRelay::say(const std::vector<scheduler::RelayedRenew>& renewals) {
  scheduler::RelayedRenews message;
  for (const scheduler::RelayedRenew& each : renewals) {
    message.renews.push_back(each);
    if (message.renews.size() == scheduler::kRelayedMax) {
      messages_.push_back({leader_, Nonce(), std::exchange(message, {})});
    }
  }
  if (!message.renews.empty()) {
    messages_.push_back({leader_, Nonce(), std::move(message)});
  }
}

void RenewalRelay::acked(scheduler::RelayedAcks acks) {
  for (scheduler::RelayedAck& each : acks.acks) {
    const auto brought = brought_.find(each.host);
    if (brought != brought_.end() && brought->second.renewal.nonce == each.nonce) {
      brought_.erase(brought);
    }
    each.ack.proof = acks.proof;
    messages_.push_back({each.host, each.nonce, std::move(each.ack)});
  }
}

void RenewalRelay::own_acked(Nonce nonce) {
  own_.erase(nonce);
}

void RenewalRelay::tick(Instant now) {
  if (now >= bring_at_) {
    bring(now);
  }
  if (now >= again_at_) {
    bring_again(now);
  }
  for (auto own = own_.begin(); own != own_.end();) {
    if (now < own->second.direct_at) {
      ++own;
      continue;
    }
    messages_.push_back({leader_, own->first, std::move(own->second.renew)});
    own = own_.erase(own);
  }
}

Instant RenewalRelay::next_deadline() const {
  Instant deadline = std::min(bring_at_, again_at_);
  for (const auto& [nonce, own] : own_) {
    deadline = std::min(deadline, own.direct_at);
  }
  return deadline;
}

}  // namespace muster::agent
