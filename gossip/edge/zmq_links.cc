#include "gossip/edge/zmq_links.h"

#include <algorithm>

#include "gossip/base/check.h"
#include "gossip/edge/boot_clock.h"
#include "gossip/wire/wire.h"

namespace muster::gossip {
namespace {

/// A dial to a peer that was just found listening completes in about one round trip or fails.
constexpr Duration kAfterKnock = std::chrono::milliseconds(250);
/// Time between two looks at an ended link that libzmq still holds.
constexpr Duration kRecheck = std::chrono::milliseconds(1);
/// Descriptors remembered for one link: its own and those of dials abandoned just before.
constexpr std::size_t kLinkFdsMax = 4;
/// Time between two searches for idle links.
constexpr Duration kIdleLookPeriod = std::chrono::seconds(1);
/// Limit of the monitor events read from one socket in one turn.
constexpr int kEventsPerTurn = 1024;
constexpr Channel kLinkChannels[] = {Channel::kControl, Channel::kBulk};

}  // namespace

// Keys of both ends.

void ZmqLinks::expect(const Expect& expect) {
  switch (expected_.expect(expect)) {
    case ExpectedKeys::Change::kNone:
      return;
    case ExpectedKeys::Change::kNew:
      drop(expect.at);
      return;
    case ExpectedKeys::Change::kTooMany:
      ++stats_.dropped_keys_full;
      return;
  }
}

void ZmqLinks::dial_with(const DialWith& with) {
  if (std::exchange(dials_with_, with.key) == with.key) {
    return;
  }
  drop_all();
}

/// Null if this host has no key of the kind.
const LinkKeys* ZmqLinks::own_keys(const Endpoint& at) const {
  if (dials_with_ == DialWith::Key::kLink) {
    const bool is_previous = options_.previous_link.has_value() && knows_previous_.contains(at);
    return is_previous ? &*options_.previous_link : &options_.link;
  }
  return options_.ticket.has_value() ? &*options_.ticket : nullptr;
}

void ZmqLinks::take_out(std::string_view key) {
  for (const Endpoint& at : expected_.take_out(key)) {
    drop(at);
  }
}

bool ZmqLinks::attribute(const std::string& id, Received& received) {
  const auto dial = dialled_.find(id);
  const auto link = dial == dialled_.end() ? links_.end() : links_.find(dial->second);
  if (link == links_.end()) {
    return false;
  }
  received.link = link->first.second;
  link->second.used = boot_now();
  // A link never outlives the key that it was dialled for.
  const std::string* expected = expected_.find(received.link);
  CHECK(expected != nullptr);
  const auto sender = admitted_.find(*expected);
  if (sender.has_value() && sender->kind == Sender::Kind::kHost) {
    received.sender = *sender;
  }
  return true;
}

// Messages on links.

void ZmqLinks::send(const Send& send) {
  if (send.bytes.empty() || send.bytes.size() > kMessageBytesMax) {
    ++stats_.dropped_too_large;
    return;
  }
  const LinkKey key(send.channel, send.to);
  auto link = links_.find(key);
  if (link == links_.end()) {
    link = dial(key);
  }
  if (link == links_.end()) {
    return;
  }
  if (link->second.is_over()) {
    ++stats_.dropped_link_ending;
    return;
  }
  switch (sockets_.send(out_of(send.channel), link->second.id, send.bytes)) {
    case SendOutcome::kSent:
      ++stats_.sent;
      link->second.used = boot_now();
      break;
    case SendOutcome::kQueueFull:
      ++stats_.dropped_queue_full;
      break;
    case SendOutcome::kUnreachable:
      ++stats_.dropped_link_ending;
      begin_end(link, boot_now());
      break;
  }
}

ZmqLinks::Links::iterator ZmqLinks::dial(const LinkKey& key) {
  const Instant now = boot_now();
  const LinkKeys* own = own_keys(key.second);
  const std::string* expected = expected_.find(key.second);
  if (own == nullptr || expected == nullptr) {
    ++stats_.dropped_no_key;
    if (expected == nullptr) {
      pending_.push_back(LinkDown{key.second, LinkLoss::kUnproven});
    }
    return links_.end();
  }
  if (links_.size() >= options_.links_max && !make_room(now)) {
    ++stats_.dropped_links_full;
    return links_.end();
  }
  ZmqLink link;
  link.id = std::to_string(++last_dial_);
  link.used = now;
  link.deadline = now + kDialTimeout;
  ++stats_.dials;
  if (!sockets_.connect(key.first, link.id, key.second, *own, *expected)) {
    link.deadline = now;  // The next turn reports it.
  }
  dialled_.emplace(link.id, key);
  unsettled_.insert(key);
  return links_.emplace(key, std::move(link)).first;
}

bool ZmqLinks::make_room(Instant now) {
  auto idlest = links_.end();
  for (auto link = links_.begin(); link != links_.end(); ++link) {
    if (link->second.state == ZmqLink::State::kUp &&
        (idlest == links_.end() || link->second.used < idlest->second.used)) {
      idlest = link;
    }
  }
  if (idlest == links_.end() || now - idlest->second.used < kLinkIdleMin) {
    return false;
  }
  close_idle(idlest);
  return true;
}

ZmqLinks::Links::iterator ZmqLinks::close_idle(Links::iterator link) {
  sockets_.disconnect(link->first.first, link->first.second);
  ++stats_.closed_idle;
  dialled_.erase(link->second.id);
  return links_.erase(link);
}

void ZmqLinks::drop(const Endpoint& peer) {
  for (const Channel channel : kLinkChannels) {
    if (const auto link = links_.find({channel, peer}); link != links_.end()) {
      drop(link);
    }
  }
}

void ZmqLinks::drop(Links::iterator link) {
  sockets_.disconnect(link->first.first, link->first.second);
  dialled_.erase(link->second.id);
  unsettled_.erase(link->first);
  links_.erase(link);
}

void ZmqLinks::give_up(const Endpoint& peer) {
  const Instant now = boot_now();
  for (const Channel channel : kLinkChannels) {
    const auto link = links_.find({channel, peer});
    if (link == links_.end()) {
      continue;
    }
    const ZmqLink& dial = link->second;
    const bool is_young =
        dial.state == ZmqLink::State::kUp && now - dial.up_at < options_.young_link;
    if (!is_young && !dial.is_shaking_hands() && dial.state != ZmqLink::State::kResting) {
      drop(link);
    }
  }
}

void ZmqLinks::drop_all() {
  while (!links_.empty()) {
    drop(Endpoint(links_.begin()->first.second));
  }
}

// The life of a link.

void ZmqLinks::begin_end(Links::iterator link, Instant now) {
  link->second.state = ZmqLink::State::kEnding;
  unsettled_.insert(link->first);
  link->second.deadline = now + kKnockTimeout;
  link->second.knock.reset();
  if (!link->second.is_refused) {
    link->second.knock.emplace(link->first.second);
  }
}

void ZmqLinks::finish(Links::iterator link, LinkLoss loss) {
  sockets_.disconnect(link->first.first, link->first.second);
  ++stats_.links_down;
  pending_.push_back(LinkDown{link->first.second, loss});
  dialled_.erase(link->second.id);
  if (link->second.has_to_rest) {
    link->second.state = ZmqLink::State::kResting;
    link->second.deadline = boot_now() + kRefusedRest;
    link->second.knock.reset();
    return;
  }
  unsettled_.erase(link->first);
  links_.erase(link);
}

void ZmqLinks::read_monitor(Channel channel, Instant now) {
  for (int i = 0; i < kEventsPerTurn && sockets_.may_have_events(channel); ++i) {
    const auto event = sockets_.next_event(channel);
    if (!event.has_value()) {
      return;
    }
    on_event(channel, *event, now);
  }
}

/// A peer that was away when our key changed admits the previous one: the next dial to there tries
/// the other key of the two.
void ZmqLinks::on_refused(Links::iterator link) {
  link->second.is_refused = !link->second.is_proven;
  if (link->second.is_refused) {
    link->second.knock.reset();  // An earlier send that failed may have begun to knock.
  }
  ++stats_.refused_by_peer;
  const Endpoint& at = link->first.second;
  const bool was_last = !options_.previous_link.has_value() || knows_previous_.erase(at) > 0;
  if (!was_last && knows_previous_.size() < kExpectedKeysMax) {
    knows_previous_.insert(at);
  }
  link->second.has_to_rest = link->second.is_refused && was_last;
}

void ZmqLinks::on_event(Channel channel, const MonitorEvent& event, Instant now) {
  const auto found = links_.find({channel, event.peer});
  if (found == links_.end()) {
    return;  // Late word of a dial that was dropped.
  }
  ZmqLink& link = found->second;
  const bool is_ending = link.is_over();
  switch (event.kind) {
    case ZMQ_EVENT_CONNECTED:
      if (link.fds.size() >= kLinkFdsMax) {
        link.fds.erase(link.fds.begin());
      }
      link.fds.push_back(event.value);
      if (link.state == ZmqLink::State::kDialing && !link.knock.has_value()) {
        link.deadline = now + kHandshakeTimeout;
      }
      break;
    case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
      on_handshake(found);
      break;
    case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
      // Its DISCONNECTED comes next, and tells the connection.
      on_refused(found);
      break;
    case ZMQ_EVENT_DISCONNECTED:
      // All events come from one io thread in order and a descriptor is closed after its last one:
      // a descriptor of an older dial is never mistaken for ours.
      if (!is_ending &&
          std::find(link.fds.begin(), link.fds.end(), event.value) != link.fds.end()) {
        begin_end(found, now);
      }
      break;
    case ZMQ_EVENT_CLOSED:
      on_connecter_closed(link, event.peer);
      break;
    default:
      break;
  }
}

void ZmqLinks::on_handshake(Links::iterator link) {
  ZmqLink& dial = link->second;
  if (dial.fds.empty()) {
    return;  // Late word of a dial that was dropped.
  }
  dial.is_proven = true;
  if (dial.state == ZmqLink::State::kDialing) {
    dial.state = ZmqLink::State::kUp;
    dial.up_at = boot_now();
    unsettled_.erase(link->first);
    dial.deadline = kNever;
    dial.knock.reset();
    ++stats_.links_up;
    pending_.push_back(LinkUp{link->first.second});
  }
}

/// A connect attempt ended without a connection: our dial was refused, or libzmq clears away an
/// earlier dial that was dropped. Only the knock can tell, so the dial goes on meanwhile.
void ZmqLinks::on_connecter_closed(ZmqLink& link, const Endpoint& peer) {
  if (link.state == ZmqLink::State::kDialing && link.fds.empty() && !link.knock.has_value()) {
    link.knock.emplace(peer);
  }
}

/// Up to a thousand links are up and have no timer of their own: one look a second covers them.
void ZmqLinks::run_timers(Instant now) {
  const std::vector<LinkKey> unsettled(unsettled_.begin(), unsettled_.end());
  for (const LinkKey& key : unsettled) {
    const auto link = links_.find(key);
    CHECK(link != links_.end() && link->second.state != ZmqLink::State::kUp);
    look_at(link, now);
  }
  if (now < idle_look_at_) {
    return;
  }
  idle_look_at_ = now + kIdleLookPeriod;
  for (auto link = links_.begin(); link != links_.end();) {
    const bool is_idle =
        link->second.state == ZmqLink::State::kUp && now - link->second.used > kLinkIdleMax;
    link = is_idle ? close_idle(link) : std::next(link);
  }
}

void ZmqLinks::look_at(Links::iterator link, Instant now) {
  switch (link->second.state) {
    case ZmqLink::State::kDialing:
      look_at_dial(link, now);
      return;
    case ZmqLink::State::kEnding:
      look_at_end(link, now);
      return;
    case ZmqLink::State::kResting:
      if (now >= link->second.deadline) {
        unsettled_.erase(link->first);
        links_.erase(link);
      }
      return;
    case ZmqLink::State::kUp:
      return;
  }
}

void ZmqLinks::look_at_dial(Links::iterator link, Instant now) {
  ZmqLink& dial = link->second;
  if (dial.knock.has_value()) {
    const KnockAnswer answer = dial.knock->answer();
    if (answer == KnockAnswer::kRefused) {
      finish(link, LinkLoss::kRefused);
      return;
    }
    if (answer == KnockAnswer::kListening && dial.loss != LinkLoss::kReset) {
      dial.deadline = std::min(dial.deadline, now + kAfterKnock);
      dial.loss = LinkLoss::kReset;
    }
  }
  if (now >= dial.deadline) {
    finish(link, dial.loss);
  }
}

void ZmqLinks::look_at_end(Links::iterator link, Instant now) {
  // A peer that refuses our key is there: there is no knock, and its refusal counts as silence.
  const bool has_knocked = link->second.knock.has_value();
  const KnockAnswer answer = has_knocked ? link->second.knock->answer() : KnockAnswer::kSilent;
  const bool late = now >= link->second.deadline;
  if (answer == KnockAnswer::kPending && !late) {
    return;
  }
  // libzmq ends a lost dial by its address, a moment after it reported the loss. A new dial to that
  // address must not exist yet, or libzmq would end it as well: first see that the id is gone. (A
  // dead connection loses the empty message, and receivers drop empty messages.)
  if (!late &&
      sockets_.send(out_of(link->first.first), link->second.id, "") != SendOutcome::kUnreachable) {
    return;
  }
  switch (answer) {
    case KnockAnswer::kRefused:
      finish(link, LinkLoss::kRefused);
      return;
    case KnockAnswer::kListening:
      finish(link, link->second.is_proven ? LinkLoss::kReset : LinkLoss::kUnproven);
      return;
    case KnockAnswer::kSilent:
    case KnockAnswer::kPending:
      break;
  }
  finish(link, LinkLoss::kTimeout);
}

std::vector<TransportInput> ZmqLinks::take_events(Instant now) {
  for (const Channel channel : kLinkChannels) {
    read_monitor(channel, now);
  }
  run_timers(now);
  return std::exchange(pending_, {});
}

void ZmqLinks::add_descriptors(std::vector<pollfd>& others) const {
  for (const LinkKey& key : unsettled_) {
    const ZmqLink& link = links_.at(key);
    if (link.knock.has_value() && link.knock->fd() >= 0) {
      others.push_back({link.knock->fd(), POLLOUT, 0});
    }
  }
}

Instant ZmqLinks::next_deadline() const {
  Instant next = kNever;
  for (const LinkKey& key : unsettled_) {
    const ZmqLink& link = links_.at(key);
    const bool answered = !link.knock.has_value() || link.knock->fd() < 0;
    next = std::min(next, link.deadline);
    if (link.state == ZmqLink::State::kEnding && answered) {
      next = std::min(next, boot_now() + kRecheck);
    }
  }
  return next;
}

}  // namespace muster::gossip
