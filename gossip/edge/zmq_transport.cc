#include "gossip/edge/zmq_transport.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "gossip/base/check.h"
#include "gossip/edge/admitted_keys.h"
#include "gossip/edge/boot_clock.h"
#include "gossip/edge/connection_mark.h"
#include "gossip/edge/login_relay.h"
#include "gossip/edge/proof_text.h"
#include "gossip/edge/route_table.h"
#include "gossip/edge/zmq_links.h"
#include "gossip/edge/zmq_sockets.h"
#include "gossip/wire/wire.h"

namespace muster::gossip {
namespace {

using std::chrono::milliseconds;

}  // namespace

class ZmqTransport::Impl {
 public:
  explicit Impl(Options options) : options_(std::move(options)), routes_(options_.routes_max) {}
  ~Impl() {
    if (relay_ != nullptr) {
      relay_->accept_no_more();
    }
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Status open();
  Endpoint listening(Channel channel) const { return sockets_.listening(channel); }
  const Stats& stats();
  std::vector<std::string> take_plain_peers() { return sockets_.take_plain_peers(); }
  ZmqLinks& links() { return links_; }
  void reply(const Reply& reply);
  void admit(const Admit& admit);
  void rekey(LinkKeys link);
  bool wait(Duration timeout, std::span<const int> extra_fds);
  bool readable(int fd) const {
    return std::find(readable_.begin(), readable_.end(), fd) != readable_.end();
  }
  std::vector<TransportInput> take_inputs();

 private:
  void try_rekey();
  void accept_logins();
  Instant next_deadline() const { return std::min(links_.next_deadline(), rekey_at_); }
  bool read_message(std::size_t index, std::vector<TransportInput>& inputs,
                    std::size_t& bytes_read);
  bool attribute(std::size_t index, Incoming& message, Received& received);
  bool attribute_by_key(std::size_t index, Incoming& message, Received& received);

  Options options_;
  AdmittedKeys keys_;
  std::unique_ptr<LoginRelay> relay_;  ///< Ends after the sockets: it passes their last answers on.
  ZmqSockets sockets_;
  Stats stats_;
  ZmqLinks links_{options_, keys_, sockets_, stats_};
  RouteTable routes_;
  std::size_t next_socket_ = 0;  ///< The socket to read next, so that none starves in a flood.
  std::vector<int> readable_;
  std::optional<LinkKeys> next_link_;  ///< The pair of a rekey() that waits.
  Instant rekey_at_ = kNever;          ///< When to try it again.
  Instant rekey_after_ = kLongAgo;     ///< The earliest time of the next rekey.
  Instant cli_look_at_{};
};

Status ZmqTransport::Impl::open() {
  if (!options_.link.are_keys() || (options_.ticket.has_value() && !options_.ticket->are_keys())) {
    return Error{ErrorCode::kInvalid, "the transport was given no keys for its links"};
  }
  const Status opened = sockets_.open(options_, keys_);
  if (opened) {
    accept_logins();
  }
  return opened;
}

/// Without a descriptor the next call tries again.
void ZmqTransport::Impl::accept_logins() {
  if (options_.logins == nullptr || !options_.logins->is_open() || options_.ipc_path.empty()) {
    return;
  }
  if (relay_ == nullptr) {
    const std::uint32_t own = geteuid();
    auto relay = LoginRelay::start(
        {options_.ipc_path, own, {own, kConnectionsOfLoginMax, connections_of_logins_max()}});
    if (!relay) {
      return;
    }
    relay_ = std::move(*relay);
  }
  relay_->accept_at(*options_.logins);
}

const ZmqTransport::Stats& ZmqTransport::Impl::stats() {
  const ZmqZap::Refused refused = sockets_.refused();
  stats_.refused_unknown_key = refused.unknown_key;
  stats_.refused_no_curve = refused.no_curve;
  stats_.refused_malformed = refused.malformed;
  stats_.refused_early_tickets = refused.early_tickets;
  stats_.ended_unfinished = sockets_.ended_unfinished();
  if (relay_ != nullptr) {
    stats_.refused_logins = relay_->stats().refused;
    stats_.held_logins = relay_->stats().held;
    stats_.failed_logins = relay_->stats().failed;
  }
  return stats_;
}

void ZmqTransport::Impl::admit(const Admit& admit) {
  if (!keys_.admit(admit)) {
    ++stats_.dropped_keys_full;
    return;
  }
  if (admit.who.kind != Sender::Kind::kNobody) {
    return;
  }
  for (const ConnectionMark& connection : routes_.take_out(admit.key)) {
    connection.end();
  }
  links_.take_out(admit.key);
}

void ZmqTransport::Impl::rekey(LinkKeys link) {
  CHECK(link.are_keys());
  next_link_ = std::move(link);
  try_rekey();
}

void ZmqTransport::Impl::try_rekey() {
  const Instant now = boot_now();
  if (now < rekey_after_ || !sockets_.rekey(*next_link_)) {
    ++stats_.rekeys_put_off;
    rekey_at_ = std::max(rekey_after_, now + kRekeyRetry);
    return;
  }
  ++stats_.rekeys;
  rekey_after_ = now + kRekeyRetry;
  rekey_at_ = kNever;
  options_.previous_link = std::exchange(options_.link, std::move(*next_link_));
  next_link_.reset();
  routes_.forget_proven();
  links_.drop_all();
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

// Incoming.

bool ZmqTransport::Impl::wait(Duration timeout, std::span<const int> extra_fds) {
  const Duration until_timer = next_deadline() - boot_now();
  const Duration sleep = !links_.has_events()
                             ? std::clamp(std::min(timeout, until_timer), Duration(0), timeout)
                             : Duration(0);
  std::vector<pollfd> others;
  for (const int fd : extra_fds) {
    others.push_back({fd, POLLIN, 0});
  }
  links_.add_descriptors(others);
  const auto sleep_ms = std::chrono::ceil<milliseconds>(sleep).count();
  const bool any = sockets_.wait(static_cast<int>(sleep_ms), others);
  readable_.clear();
  for (std::size_t i = 0; i < extra_fds.size(); ++i) {
    if (others[i].revents != 0) {
      readable_.push_back(extra_fds[i]);
    }
  }
  return any || links_.has_events() || boot_now() >= next_deadline();
}

std::vector<TransportInput> ZmqTransport::Impl::take_inputs() {
  if (boot_now() >= rekey_at_) {
    try_rekey();
  }
  if (boot_now() >= cli_look_at_) {
    cli_look_at_ = boot_now() + kCliLookPeriod;
    stats_.cli_renewed += sockets_.renew_cli(options_.ipc_path) ? 1U : 0U;
    accept_logins();
  }
  std::vector<TransportInput> inputs = links_.take_events(boot_now());
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

/// False if the socket has no message now; a dropped message counts as read.
bool ZmqTransport::Impl::read_message(std::size_t index, std::vector<TransportInput>& inputs,
                                      std::size_t& bytes_read) {
  Incoming message;
  switch (sockets_.read(index, message)) {
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
  bytes_read += message.bytes.size();
  Received received{Route(), channel_of(index), std::move(message.bytes)};
  received.at = boot_now();
  const int fd = message.fd;
  if (!attribute(index, message, received)) {
    ++stats_.dropped_unproven;
    if (index == kCli) {
      ConnectionMark(fd).end();
    }
  } else {
    inputs.push_back(std::move(received));
  }
  return true;
}

/// Sets the sender, and the route or link, of a message. False if there is no proof of the sender.
bool ZmqTransport::Impl::attribute(std::size_t index, Incoming& message, Received& received) {
  if (is_out(index)) {
    return links_.attribute(message.id, received);
  }
  if (index != kCli) {
    return attribute_by_key(index, message, received);
  }
  const auto uid = uid_of_peer_address(message.proof);
  if (!uid.has_value()) {
    return false;
  }
  received.sender.kind = Sender::Kind::kLogin;
  received.sender.uid = *uid;
  received.route = routes_.touch({index, std::move(message.id)}, "", message.fd);
  return true;
}

bool ZmqTransport::Impl::attribute_by_key(std::size_t index, Incoming& message,
                                          Received& received) {
  const auto key = key_of_user_id(message.proof);
  auto sender = key.has_value() ? keys_.find(*key) : std::nullopt;
  if (!sender.has_value()) {
    // Its key was admitted at the handshake but is no longer.
    ConnectionMark(message.fd).end();
    return false;
  }
  received.sender = std::move(*sender);
  received.route = routes_.touch({index, std::move(message.id)}, *key, message.fd);
  return true;
}

// The public interface.

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
  impl_->links().send(send);
}
void ZmqTransport::reply(const Reply& reply) {
  impl_->reply(reply);
}
void ZmqTransport::drop(const DropLink& drop) {
  impl_->links().give_up(drop.peer);
}
void ZmqTransport::admit(const Admit& admit) {
  impl_->admit(admit);
}
void ZmqTransport::expect(const Expect& expect) {
  impl_->links().expect(expect);
}
void ZmqTransport::dial_with(const DialWith& with) {
  impl_->links().dial_with(with);
}
void ZmqTransport::rekey(LinkKeys link) {
  impl_->rekey(std::move(link));
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
std::vector<std::string> ZmqTransport::take_plain_peers() {
  return impl_->take_plain_peers();
}
bool ZmqTransport::wait(Duration timeout, std::span<const int> extra_fds) {
  return impl_->wait(timeout, extra_fds);
}

}  // namespace muster::gossip
