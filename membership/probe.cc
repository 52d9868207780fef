#include "membership/probe.h"

#include <algorithm>

#include "gossip/base/check.h"

namespace muster::membership {
namespace {

/// A subject whose calls were not refuted for so long starts again at the shortest back-off.
constexpr Duration kBackOffForgotten = std::chrono::seconds(60);

}  // namespace

void SubjectProbe::begin_round(Instant now) {
  CHECK(is_idle());
  began = now;
  silent = 0;
  refused = 0;
  is_pausing = false;
  is_vetoed = false;
  is_sampled = false;
  is_dropped = false;
  sent = 0;
  call_nonce = Nonce();
  round_at = kNever;
}

Nonce SubjectProbe::attempt(Instant now, Duration timeout, Rng& rng) {
  const Nonce nonce(rng.next() | 1U);
  nonces[sent % kNoncesMax] = nonce;
  ++sent;
  is_pausing = false;
  last_sent = now;
  attempt_at = now + timeout;
  return nonce;
}

bool SubjectProbe::knows(Nonce nonce) const {
  const auto end = nonces.begin() + static_cast<std::ptrdiff_t>(std::min(sent, kNoncesMax));
  return std::find(nonces.begin(), end, nonce) != end;
}

void SubjectProbe::sample(bool unanswered) {
  if (is_sampled) {
    return;
  }
  is_sampled = true;
  window = (window << 1 | (unanswered ? 1U : 0U)) & ((1U << kWindowRounds) - 1);
}

void SubjectProbe::end_round(Instant next) {
  attempt_at = kNever;
  is_pausing = false;
  round_at = next;
}

void SubjectProbe::back_off(Instant now) {
  if (now - refuted_at > kBackOffForgotten) {
    call_back_off = kCallBackOffMin;
  } else {
    call_back_off = std::min(call_back_off * 2, kCallBackOffMax);
  }
  refuted_at = now;
  call_from = std::max(call_from, now + call_back_off);
}

}  // namespace muster::membership
