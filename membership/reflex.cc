#include "membership/reflex.h"

#include <algorithm>

#include "gossip/base/check.h"
#include "membership/codec.h"
#include "membership/mutants.h"
#include "membership/rings.h"

namespace muster::membership {
namespace {

using gossip::Envelope;

/// The largest Probe is an envelope with an epoch behind it. Larger ones wait.
constexpr std::size_t kProbeBytesMax = 256;

}  // namespace

Duration probe_me_next(Instant now, const std::vector<HostId>& observers, HostId observer) {
  const Duration period = probe_period(observers.size());
  const auto place = std::lower_bound(observers.begin(), observers.end(), observer);
  if (place == observers.end() || *place != observer) {
    return period;
  }
  const auto count = static_cast<std::int64_t>(observers.size());
  const Duration slot = period * (place - observers.begin()) / count;
  const Duration phase = now.time_since_epoch() % period;
  const Duration wait = (slot - phase + period) % period;
  return wait < period / 2 ? wait + period : wait;
}

std::optional<Reflex::Answer> Reflex::answer(Instant now, const gossip::Received& received) const {
  const HostId from = received.sender.host;
  if (received.sender.kind != gossip::Sender::Kind::kHost || from == view_.self ||
      received.route.value() == 0 || received.bytes.size() > kProbeBytesMax ||
      gossip::type_in(received.bytes) != gossip::MessageType::kProbe ||
      mutant(MembershipMutant::kReflexWaits)) {
    return std::nullopt;
  }
  const Result<gossip::Message> message = gossip::decode(received.bytes);
  if (!message) {
    return std::nullopt;
  }
  const Envelope& probe = message->envelope();
  const bool is_plain = probe.version == view_.ack.version &&
                        (probe.from.is_zero() || probe.from == from) &&
                        (probe.cluster.is_zero() || probe.cluster == view_.cluster) &&
                        gossip::epoch_of(probe) == gossip::epoch_of(view_.ack) &&
                        decode_body(probe.type, message->body()).has_value();
  if (!is_plain) {
    return std::nullopt;
  }
  Envelope ack = view_.ack;
  ack.nonce = probe.nonce;
  const Ack body{probe_me_next(now, view_.observers, from), view_.newest};
  return Answer{gossip::encode(ack, encode(body)),
                std::binary_search(view_.trusted.begin(), view_.trusted.end(), from)};
}

}  // namespace muster::membership
