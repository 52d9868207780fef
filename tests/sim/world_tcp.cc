// The World's connections when they behave as TCP's do (WorldOptions::tcp_links).

#include <algorithm>
#include <utility>

#include "tests/sim/world.h"
#include "tests/sim/world_host.h"

namespace muster::sim {

/// Whether the other end is the process that this connection was made to.
bool World::is_same_process(const StreamKey& key, const Link& via) const {
  const Host& dialled = *hosts_[key.to];
  return via.target_life == dialled.listening_life && dialled.node != nullptr;
}

/// True if a message that leaves the sender now reaches the receiver.
bool World::carries(const StreamKey& key) {
  return hosts_[key.receiver()]->is_powered && network_.carries(key.sender(), key.receiver());
}

void World::hand_over(const StreamKey& key, Link& via, gossip::Received message) {
  const std::uint32_t to = key.receiver();
  const Instant when =
      std::max(std::max(now_, via.ready) + network_.delay(key.sender(), to), via.last_arrival);
  via.last_arrival = when;
  queue_.push(when, Deliver{to, hosts_[to]->life, std::move(message)});
}

void World::send_over_tcp(const StreamKey& key, Link& via, gossip::Received message) {
  const bool is_closed = via.closed_epoch == via.epoch;
  if (is_closed && key.is_answer) {
    return;
  }
  const bool passes = carries(key);
  if (is_closed && passes) {
    if (!network_.is_cut(key.to, key.from)) {
      lose_link(key, via, false);
    }
    return;
  }
  const bool arrives = passes && is_same_process(key, via);
  const bool is_acknowledged = arrives && !network_.is_cut(key.receiver(), key.sender());
  const auto found = streams_.find(key);
  const bool is_known = found != streams_.end() && found->second.epoch == via.epoch;
  if (!is_known && is_acknowledged) {
    hand_over(key, via, std::move(message));
    return;
  }
  TcpStream& stream = is_known ? found->second : streams_[key];
  if (!is_known) {
    stream = TcpStream{via.epoch, now_, kResendMin, {}};
    queue_.push(now_ + kResendMin, Resend{key, via.epoch});
  }
  if (arrives && stream.waiting.empty()) {
    hand_over(key, via, std::move(message));
  } else if (stream.waiting.size() < kWaitingMax) {
    stream.waiting.push_back(std::move(message));
  }
}

void World::lose_link(const StreamKey& key, Link& via, bool timed_out) {
  queue_.push(
      now_ + (timed_out ? Duration(0) : network_.one_way() + network_.one_way()),
      LinkLost{key.from, key.to, key.channel, via.epoch, hosts_[key.from]->life, timed_out});
}

void World::on(const Resend& event) {
  const StreamKey& key = event.key;
  const auto found = streams_.find(key);
  if (found == streams_.end() || found->second.epoch != event.epoch) {
    return;
  }
  TcpStream& stream = found->second;
  Link& via = link(key.from, key.to, key.channel);
  if (via.epoch != event.epoch || via.state != Link::State::kUp ||
      hosts_[key.sender()]->node == nullptr) {
    streams_.erase(found);
    return;
  }
  const Duration silence = now_ - stream.unacknowledged_since;
  if (options_.user_timeout > Duration(0) && silence >= options_.user_timeout) {
    streams_.erase(found);
    if (key.is_answer) {
      via.closed_epoch = via.epoch;  // The dialling host learns of it when it speaks.
    } else {
      lose_link(key, via, true);
    }
    return;
  }
  const bool arrives = carries(key);
  const bool is_acknowledged = arrives && !network_.is_cut(key.receiver(), key.sender());
  if (arrives && (via.closed_epoch == via.epoch || !is_same_process(key, via))) {
    if (!network_.is_cut(key.receiver(), key.sender())) {
      streams_.erase(found);
      lose_link(key, via, false);
      return;
    }
    // Its refusal is lost: to the sender it is silence.
    stream.resend_after = std::min(2 * stream.resend_after, kResendMax);
    queue_.push(now_ + stream.resend_after, Resend{key, event.epoch});
    return;
  }
  if (arrives) {
    for (gossip::Received& message : std::exchange(stream.waiting, {})) {
      hand_over(key, via, std::move(message));
    }
  }
  if (is_acknowledged) {
    streams_.erase(found);
    return;
  }
  stream.resend_after = std::min(2 * stream.resend_after, kResendMax);
  Instant next = now_ + stream.resend_after;
  if (options_.user_timeout > Duration(0)) {
    next = std::min(next, stream.unacknowledged_since + options_.user_timeout);
  }
  queue_.push(next, Resend{key, event.epoch});
}

}  // namespace muster::sim
