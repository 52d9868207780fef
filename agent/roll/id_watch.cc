#include "agent/roll/id_watch.h"

#include <algorithm>
#include <utility>

#include "crdt/rows/host_state.h"
#include "membership/codec.h"

namespace muster::agent {

void IdWatch::seen(Instant now, std::string_view identity, StartId own_start) {
  const auto said = crdt::decode_identity(identity);
  if (said.has_value() && said->start_id != own_start) {
    seen_at(now, said->control);
  }
}

void IdWatch::seen_at(Instant now, const gossip::Endpoint& place) {
  if (place == own_) {
    suspects_ = true;  // That life was at this address: there is no other place to ask.
    row_awaited_until_ = kNever;
  }
  if (place.is_none() || place == own_ || place_.has_value() || doubled_) {
    return;
  }
  place_ = place;
  give_up_at_ = now + kIdAnswerWait;
  ask_at_ = now;
  tick(now);
}

void IdWatch::heard(Instant now, gossip::MessageType type, Nonce nonce, const Way& way) {
  const bool is_own_nonce = nonces_.contains(nonce);
  if (type == gossip::MessageType::kAck) {
    doubled_ = doubled_ || is_own_nonce;
    return;
  }
  if (is_own_nonce) {
    return;
  }
  if (type == gossip::MessageType::kProbe) {
    says_.push_back({way, gossip::MessageType::kAck, nonce});
  }
  if (!doubled_ && now >= ask_back_from_) {
    ask_back_from_ = now + kIdAskPeriod;
    ask(now, way);
  }
}

void IdWatch::suspect(Instant now) {
  if (!suspects_) {
    suspects_ = true;
    row_awaited_until_ = now + kIdAnswerWait;
  }
}

void IdWatch::ask(Instant now, const Way& way) {
  if (nonces_.size() < kIdNoncesMax) {
    const Nonce nonce(rng_.next() | 1U);
    nonces_.insert(nonce);
    forget_at_ = now + kIdAnswerWait;
    says_.push_back({way, gossip::MessageType::kProbe, nonce});
  }
}

void IdWatch::tick(Instant now) {
  if (now >= forget_at_) {
    nonces_.clear();
    forget_at_ = kNever;
  }
  if (now >= give_up_at_) {
    place_.reset();
    give_up_at_ = kNever;
    ask_at_ = kNever;
  }
  if (now >= row_awaited_until_) {
    row_awaited_until_ = kNever;
  }
  if (now >= ask_at_) {
    ask_at_ = now + kIdAskPeriod;
    ask(now, {gossip::Route(), *place_});
  }
}

Instant IdWatch::next_deadline() const {
  return std::min({ask_at_, give_up_at_, row_awaited_until_, forget_at_});
}

std::vector<IdWatch::Say> IdWatch::take_says() {
  return std::exchange(says_, {});
}

std::string body_of(const IdWatch::Say& say) {
  return membership::encode(say.type == gossip::MessageType::kAck
                                ? membership::Body(membership::Ack())
                                : membership::Body(membership::Probe()));
}

}  // namespace muster::agent
