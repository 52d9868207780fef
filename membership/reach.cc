#include "membership/reach.h"

#include <algorithm>
#include <iterator>

#include "membership/mutants.h"

namespace muster::membership {
namespace {

/// After this many unanswered questions Reach gives the link up, and again every kUnansweredMax
/// later: the kernel's back-off on the old link would pass ten seconds.
constexpr int kUnansweredBeforeRedial = 3;

}  // namespace

Doubted Reach::fresh(Doubt doubt) {
  Doubted each;
  each.doubt = doubt;
  each.answers = doubt != Doubt::kSuspect;
  return each;
}

void Reach::doubt(Instant now, HostId host, Doubt doubt) {
  const auto known = doubted_.find(host);
  if (host == self_) {
    return;
  }
  if (doubt == Doubt::kGone) {
    doubted_.erase(host);
    return;
  }
  if (doubt == Doubt::kNone) {
    if (known != doubted_.end()) {
      known->second.doubt = doubt;
      forget_if_met(known);
    }
    return;
  }
  if (known == doubted_.end()) {
    begin(now, host, doubt);
    return;
  }
  Doubted& each = known->second;
  each.doubt = doubt;
  if (!each.has_answered && doubt == Doubt::kSuspect) {
    each.answers = false;
  }
}

void Reach::on_unanswered(Instant now, HostId host) {
  if (!asking_ || host == self_) {
    return;
  }
  const auto known = doubted_.find(host);
  Doubted& each = known == doubted_.end() ? begin(now, host, Doubt::kNone) : known->second;
  each.is_unmet = true;
}

void Reach::forget_if_met(Doubts::iterator place) {
  const bool is_unmet = asking_ && place->second.is_unmet;
  if (place->second.doubt == Doubt::kNone && !is_unmet) {
    doubted_.erase(place);
  }
}

Doubted& Reach::begin(Instant now, HostId host, Doubt doubt) {
  Doubted& each = doubted_.emplace(host, fresh(doubt)).first->second;
  if (asking_) {
    ask(now, host, each);  // At once: a placement may wait for it.
  }
  return each;
}

void Reach::set_asking(Instant now, bool asking) {
  if (asking == asking_) {
    return;
  }
  asking_ = asking;
  cursor_ = HostId();
  round_at_ = now;
  slice_at_ = now;
  for (auto host = doubted_.begin(); host != doubted_.end();) {
    output_.changed.push_back(host->first);
    host->second = fresh(host->second.doubt);
    host = host->second.doubt == Doubt::kNone ? doubted_.erase(host) : std::next(host);
  }
}

void Reach::on_ack(Instant now, HostId from, Nonce nonce) {
  const auto found = doubted_.find(from);
  if (!asking_ || found == doubted_.end() || nonce == Nonce()) {
    return;
  }
  Doubted& each = found->second;
  if (std::find(each.asked.begin(), each.asked.end(), nonce) == each.asked.end() &&
      !mutant(MembershipMutant::kOldAnswerReaches)) {
    return;
  }
  each.unanswered = 0;
  each.has_answered = true;
  if (!each.answers && now - each.lost_at >= kRegainAfter) {
    set_answers(now, from, each, true);
  }
  each.is_unmet = each.is_unmet && !each.answers;
  forget_if_met(found);
}

void Reach::paused() {
  for (auto& [host, each] : doubted_) {
    each.unanswered = 0;
  }
}

void Reach::tick(Instant now) {
  if (!asking_ || now < slice_at_) {
    return;
  }
  slice_at_ = now + kSlicePeriod;
  if (cursor_.is_zero()) {
    round_at_ = now;
  }
  auto host = doubted_.upper_bound(cursor_);
  for (std::size_t count = 0; host != doubted_.end() && count < kAsksASlice; ++host, ++count) {
    if (now - host->second.asked_at >= kAskPeriod) {
      ask(now, host->first, host->second);
    }
    cursor_ = host->first;
  }
  if (host == doubted_.end()) {
    cursor_ = HostId();
    slice_at_ = std::max(slice_at_, round_at_ + kAskPeriod);
  }
}

void Reach::ask(Instant now, HostId host, Doubted& each) {
  const int patience = each.has_answered ? kUnansweredMax : 1;
  if (each.answers && each.unanswered >= patience) {
    set_answers(now, host, each, false);
  }
  if (each.unanswered % kUnansweredMax == kUnansweredBeforeRedial) {
    output_.drop_links.push_back(host);
  }
  ++each.unanswered;
  each.asked_at = now;
  const Nonce nonce(rng_.next() | 1U);
  each.asked[each.next] = nonce;
  each.next = (each.next + 1) % each.asked.size();
  output_.asks.emplace_back(host, nonce);
}

void Reach::set_answers(Instant now, HostId host, Doubted& each, bool answers) {
  each.answers = answers;
  each.lost_at = answers ? each.lost_at : now;
  output_.changed.push_back(host);
}

Instant Reach::next_deadline() const {
  return asking_ && !doubted_.empty() ? slice_at_ : kNever;
}

bool Reach::answers(HostId host) const {
  const auto found = doubted_.find(host);
  if (found == doubted_.end()) {
    return true;
  }
  return asking_ ? found->second.answers : found->second.doubt != Doubt::kSuspect;
}

}  // namespace muster::membership
