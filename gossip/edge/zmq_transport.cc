#include "gossip/edge/zmq_transport.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "gossip/base/check.h"
#include "gossip/edge/boot_clock.h"
#include "gossip/edge/route_table.h"
#include "gossip/edge/tcp_knock.h"
#include "gossip/edge/zmq_sockets.h"
#include "gossip/wire/wire.h"

namespace muster::gossip {
namespace {

using std::chrono::milliseconds;

/// A dial whose peer was just seen listening completes in about one round trip, or is gone.
constexpr Duration kAfterKnock = milliseconds(250);
/// How soon a link that libzmq has not let go of yet is looked at again.
constexpr Duration kRecheck = milliseconds(1);
/// Descriptors remembered for one link: its own and those of dials abandoned just before.
constexpr std::size_t kLinkFdsMax = 4;
/// How often idle links are looked for.
constexpr Duration kIdleLookPeriod = std::chrono::seconds(1);
/// Monitor events read from one socket in one turn.
constexpr int kEventsPerTurn = 1024;
constexpr Channel kChannels[] = {Channel::kControl, Channel::kBulk};

}  // namespace

class ZmqTransport::Impl {
 public:
  explicit Impl(Options options) : options_(std::move(options)), routes_(options_.routes_max) {}

  Status open() { return sockets_.open(options_.control, options_.bulk, options_.ipc_path); }
  Endpoint listening(Channel channel) const { return sockets_.listening(channel); }
  const Stats& stats() const { return stats_; }
  void send(const Send& send);
  void reply(const Reply& reply);
  void drop(const Endpoint& peer);
  bool wait(Duration timeout, std::span<const int> extra_fds);
  bool readable(int fd) const {
    return std::find(readable_.begin(), readable_.end(), fd) != readable_.end();
  }
  std::vector<TransportInput> take_inputs();

 private:
  enum class LinkState {
    kDialing,  ///< Until the handshake succeeded or `deadline` passed.
    kUp,
    kEnding,  ///< The connection ended; the knock finds out how.
  };
  struct Link {
    std::string id;  ///< The dial's routing id.
    LinkState state = LinkState::kDialing;
    Instant deadline = kNever;
    LinkLoss loss = LinkLoss::kTimeout;  ///< What the deadline means.
    /// Connections made to this endpoint since the dial. A dial abandoned just before may still
    /// report one: then the end of either ends the link, which costs a redial at worst.
    std::vector<int> fds;
    std::optional<TcpKnock> knock;
    Instant used{};  ///< When it last carried a message, either way.
  };
  using LinkKey = std::pair<Channel, Endpoint>;
  using Links = std::map<LinkKey, Link>;

  Links::iterator dial(const LinkKey& key);
  bool make_room(Instant now);
  Links::iterator close_idle(Links::iterator link);
  void begin_end(Links::iterator link, Instant now);
  void finish(Links::iterator link, LinkLoss loss);
  void read_monitor(Channel channel, Instant now);
  void on_event(Channel channel, const MonitorEvent& event, Instant now);
  void on_connecter_closed(Link& link, const Endpoint& peer);
  void run_timers(Instant now);
  void look_at_dial(Links::iterator link, Instant now);
  void look_at_end(Links::iterator link, Instant now);
  bool read_message(std::size_t index, std::vector<TransportInput>& inputs,
                    std::size_t& bytes_read);
  Instant next_deadline() const;

  Options options_;
  ZmqSockets sockets_;
  Links links_;
  std::set<LinkKey> unsettled_;  ///< Of links_: those that are not up, and wait for something.
  Instant idle_look_at_{};
  std::map<std::string, LinkKey> dialled_;  ///< Of links_, by the dial's routing id.
  RouteTable routes_;
  std::uint64_t last_dial_ = 0;
  std::size_t next_socket_ = 0;  ///< Who is read first next turn: nobody starves in a flood.
  std::vector<TransportInput> pending_;  ///< Link events not taken yet.
  std::vector<int> readable_;
  Stats stats_;
};

// Outgoing.

void ZmqTransport::Impl::send(const Send& send) {
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
  if (link->second.state == LinkState::kEnding) {
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

ZmqTransport::Impl::Links::iterator ZmqTransport::Impl::dial(const LinkKey& key) {
  const Instant now = boot_now();
  if (links_.size() >= options_.links_max && !make_room(now)) {
    ++stats_.dropped_links_full;
    return links_.end();
  }
  Link link;
  link.id = std::to_string(++last_dial_);
  link.used = now;
  link.deadline = now + kDialTimeout;
  ++stats_.dials;
  if (!sockets_.connect(key.first, link.id, key.second)) {
    link.deadline = now;  // Reported at the next turn.
  }
  dialled_.emplace(link.id, key);
  unsettled_.insert(key);
  return links_.emplace(key, std::move(link)).first;
}

bool ZmqTransport::Impl::make_room(Instant now) {
  auto idlest = links_.end();
  for (auto link = links_.begin(); link != links_.end(); ++link) {
    if (link->second.state == LinkState::kUp &&
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

ZmqTransport::Impl::Links::iterator ZmqTransport::Impl::close_idle(Links::iterator link) {
  sockets_.disconnect(link->first.first, link->first.second);
  ++stats_.closed_idle;
  dialled_.erase(link->second.id);
  return links_.erase(link);
}

void ZmqTransport::Impl::reply(const Reply& reply) {
  if (reply.bytes.empty() || reply.bytes.size() > kMessageBytesMax) {
    ++stats_.dropped_too_large;
    return;
  }
  const RouteTable::Address* address = routes_.find(reply.route);
  if (address == nullptr) {
    ++stats_.dropped_no_route;
    return;
  }
  switch (sockets_.send(address->first, address->second, reply.bytes)) {
    case SendOutcome::kSent:
      ++stats_.sent;
      break;
    case SendOutcome::kQueueFull:
      ++stats_.dropped_queue_full;
      break;
    case SendOutcome::kUnreachable:
      ++stats_.dropped_no_route;
      routes_.forget(reply.route);
      break;
  }
}

void ZmqTransport::Impl::drop(const Endpoint& peer) {
  for (const Channel channel : kChannels) {
    const auto link = links_.find({channel, peer});
    if (link != links_.end()) {
      sockets_.disconnect(link->first.first, link->first.second);
      dialled_.erase(link->second.id);
      unsettled_.erase(link->first);
      links_.erase(link);
    }
  }
}

// The life of a link.

void ZmqTransport::Impl::begin_end(Links::iterator link, Instant now) {
  link->second.state = LinkState::kEnding;
  unsettled_.insert(link->first);
  link->second.deadline = now + kKnockTimeout;
  link->second.knock.emplace(link->first.second);
}

void ZmqTransport::Impl::finish(Links::iterator link, LinkLoss loss) {
  sockets_.disconnect(link->first.first, link->first.second);
  ++stats_.links_down;
  pending_.push_back(LinkDown{link->first.second, loss});
  dialled_.erase(link->second.id);
  unsettled_.erase(link->first);
  links_.erase(link);
}

void ZmqTransport::Impl::read_monitor(Channel channel, Instant now) {
  for (int i = 0; i < kEventsPerTurn && sockets_.may_have_events(channel); ++i) {
    const auto event = sockets_.next_event(channel);
    if (!event.has_value()) {
      return;
    }
    on_event(channel, *event, now);
  }
}

void ZmqTransport::Impl::on_event(Channel channel, const MonitorEvent& event, Instant now) {
  const auto found = links_.find({channel, event.peer});
  if (found == links_.end() || found->second.state == LinkState::kEnding) {
    return;  // Late word of a dial that was dropped.
  }
  Link& link = found->second;
  switch (event.kind) {
    case ZMQ_EVENT_CONNECTED:
      if (link.fds.size() >= kLinkFdsMax) {
        link.fds.erase(link.fds.begin());
      }
      link.fds.push_back(event.value);
      break;
    case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
      if (link.state == LinkState::kDialing && !link.fds.empty()) {
        link.state = LinkState::kUp;
        unsettled_.erase(found->first);
        link.deadline = kNever;
        link.knock.reset();
        ++stats_.links_up;
        pending_.push_back(LinkUp{event.peer});
      }
      break;
    case ZMQ_EVENT_DISCONNECTED:
      // All events come from one io thread in order and a descriptor is closed after its last one:
      // a descriptor of an older dial is never mistaken for ours.
      if (std::find(link.fds.begin(), link.fds.end(), event.value) != link.fds.end()) {
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

/// A connect attempt ended without a connection: ours was refused, or one dropped while it dialled
/// is being cleared away. Only the knock can tell, so the dial goes on meanwhile.
void ZmqTransport::Impl::on_connecter_closed(Link& link, const Endpoint& peer) {
  if (link.state == LinkState::kDialing && link.fds.empty() && !link.knock.has_value()) {
    link.knock.emplace(peer);
  }
}

/// Up to a thousand links are up and wait for nothing: they are looked at once in a while.
void ZmqTransport::Impl::run_timers(Instant now) {
  const std::vector<LinkKey> unsettled(unsettled_.begin(), unsettled_.end());
  for (const LinkKey& key : unsettled) {
    const auto link = links_.find(key);
    CHECK(link != links_.end() && link->second.state != LinkState::kUp);
    if (link->second.state == LinkState::kDialing) {
      look_at_dial(link, now);
    } else {
      look_at_end(link, now);
    }
  }
  if (now < idle_look_at_) {
    return;
  }
  idle_look_at_ = now + kIdleLookPeriod;
  for (auto link = links_.begin(); link != links_.end();) {
    const bool is_idle =
        link->second.state == LinkState::kUp && now - link->second.used > kLinkIdleMax;
    link = is_idle ? close_idle(link) : std::next(link);
  }
}

void ZmqTransport::Impl::look_at_dial(Links::iterator link, Instant now) {
  Link& dial = link->second;
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

void ZmqTransport::Impl::look_at_end(Links::iterator link, Instant now) {
  const KnockAnswer answer = link->second.knock->answer();
  const bool late = now >= link->second.deadline;
  if (answer == KnockAnswer::kPending && !late) {
    return;
  }
  // libzmq ends a lost dial by its address, a moment after it reported the loss. A new dial to that
  // address must not exist yet, or it would be ended as well: so first see that the id is gone. (To
  // a dead connection the empty message goes nowhere, and receivers drop empty messages.)
  if (!late &&
      sockets_.send(out_of(link->first.first), link->second.id, "") != SendOutcome::kUnreachable) {
    return;
  }
  switch (answer) {
    case KnockAnswer::kRefused:
      finish(link, LinkLoss::kRefused);
      return;
    case KnockAnswer::kListening:
      finish(link, LinkLoss::kReset);
      return;
    case KnockAnswer::kSilent:
    case KnockAnswer::kPending:
      break;
  }
  finish(link, LinkLoss::kTimeout);
}

Instant ZmqTransport::Impl::next_deadline() const {
  Instant next = kNever;
  for (const LinkKey& key : unsettled_) {
    const Link& link = links_.at(key);
    const bool answered = link.knock.has_value() && link.knock->fd() < 0;
    next = std::min(next, link.deadline);
    if (link.state == LinkState::kEnding && answered) {
      next = std::min(next, boot_now() + kRecheck);
    }
  }
  return next;
}

// Incoming.

bool ZmqTransport::Impl::wait(Duration timeout, std::span<const int> extra_fds) {
  const Duration until_timer = next_deadline() - boot_now();
  const Duration sleep = pending_.empty()
                             ? std::clamp(std::min(timeout, until_timer), Duration(0), timeout)
                             : Duration(0);
  std::vector<pollfd> others;
  for (const int fd : extra_fds) {
    others.push_back({fd, POLLIN, 0});
  }
  for (const LinkKey& key : unsettled_) {
    const Link& link = links_.at(key);
    if (link.knock.has_value() && link.knock->fd() >= 0) {
      others.push_back({link.knock->fd(), POLLOUT, 0});
    }
  }
  const auto sleep_ms = std::chrono::ceil<milliseconds>(sleep).count();
  const bool any = sockets_.wait(static_cast<int>(sleep_ms), others);
  readable_.clear();
  for (std::size_t i = 0; i < extra_fds.size(); ++i) {
    if (others[i].revents != 0) {
      readable_.push_back(extra_fds[i]);
    }
  }
  return any || !pending_.empty() || boot_now() >= next_deadline();
}

std::vector<TransportInput> ZmqTransport::Impl::take_inputs() {
  const Instant now = boot_now();
  for (const Channel channel : kChannels) {
    read_monitor(channel, now);
  }
  run_timers(now);
  std::vector<TransportInput> inputs = std::exchange(pending_, {});
  std::size_t silent = 0;
  std::size_t bytes = 0;
  for (std::size_t count = 0; count < options_.messages_per_turn &&
                              bytes < options_.bytes_per_turn && silent < kSocketCount;) {
    const std::size_t index = next_socket_++ % kSocketCount;
    if (sockets_.may_read(index) && read_message(index, inputs, bytes)) {
      ++count;
      silent = 0;
    } else {
      ++silent;
    }
  }
  return inputs;
}

/// False when the socket has nothing now; a dropped message counts as read.
bool ZmqTransport::Impl::read_message(std::size_t index, std::vector<TransportInput>& inputs,
                                      std::size_t& bytes_read) {
  std::string id;
  std::string bytes;
  switch (sockets_.read(index, id, bytes)) {
    case ReadOutcome::kNothing:
      return false;
    case ReadOutcome::kMalformed:
      ++stats_.dropped_malformed;
      return true;
    case ReadOutcome::kNoise:
      ++stats_.dropped_noise;
      return true;
    case ReadOutcome::kMessage:
      break;
  }
  ++stats_.received;
  bytes_read += bytes.size();
  Received received{Route(), channel_of(index), std::move(bytes)};
  if (!is_out(index)) {
    received.route = routes_.touch({index, std::move(id)});
  } else if (const auto dial = dialled_.find(id); dial != dialled_.end()) {
    received.link = dial->second.second;
    if (const auto link = links_.find(dial->second); link != links_.end()) {
      link->second.used = boot_now();
    }
  }
  inputs.push_back(std::move(received));
  return true;
}

// The public face.

ZmqTransport::ZmqTransport(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ZmqTransport::~ZmqTransport() = default;

Result<std::unique_ptr<ZmqTransport>> ZmqTransport::open(Options options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  const Status opened = impl->open();
  if (!opened) {
    return opened.error();
  }
  return std::unique_ptr<ZmqTransport>(new ZmqTransport(std::move(impl)));
}

Endpoint ZmqTransport::control_endpoint() const {
  return impl_->listening(Channel::kControl);
}
Endpoint ZmqTransport::bulk_endpoint() const {
  return impl_->listening(Channel::kBulk);
}
void ZmqTransport::send(const Send& send) {
  impl_->send(send);
}
void ZmqTransport::reply(const Reply& reply) {
  impl_->reply(reply);
}
void ZmqTransport::drop(const DropLink& drop) {
  impl_->drop(drop.peer);
}
bool ZmqTransport::readable(int extra_fd) const {
  return impl_->readable(extra_fd);
}
std::vector<TransportInput> ZmqTransport::take_inputs() {
  return impl_->take_inputs();
}
const ZmqTransport::Stats& ZmqTransport::stats() const {
  return impl_->stats();
}
bool ZmqTransport::wait(Duration timeout, std::span<const int> extra_fds) {
  return impl_->wait(timeout, extra_fds);
}

}  // namespace muster::gossip
