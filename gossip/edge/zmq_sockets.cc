#include "gossip/edge/zmq_sockets.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "gossip/base/check.h"
#include "gossip/edge/connection_mark.h"
#include "gossip/wire/message.h"
#include "gossip/wire/wire.h"

namespace muster::gossip {
namespace {

constexpr int kHandshakeMs = static_cast<int>(to_ms(kHandshakeTimeout));
/// Handshake limit of libzmq for a dial. The timer of the link has to end the dial first, or a
/// silent listener would count as one that fails its proof.
constexpr int kOutHandshakeMs = kHandshakeMs + 1000;
constexpr int kConnectMs = 1500;
/// A connection whose acknowledgement is overdue by so much ends (TCP_USER_TIMEOUT). Otherwise the
/// kernel backs off, up to two minutes, and delays all later messages long after the path is well.
constexpr int kUnacknowledgedMs = 5000;
constexpr int kOutQueue = 64;
/// Limit of the answers queued on one inbound connection.
constexpr int kAnswerQueue = 256;
/// Limit of the messages of one connection that wait to be read, each of up to a mebibyte. A peer
/// that sends faster than we read waits in its own kernel.
constexpr int kInQueue = 32;
/// The same of a connection of the CLI, which has one question open: 512 logins that send without
/// end may fill 1 GiB with this, and 16 GiB with kInQueue.
constexpr int kCliQueue = 2;
/// Dials of the CLI that wait in the kernel: all that the relay for other logins may have open.
constexpr int kCliBacklog = 512;
/// Bytes that CURVE adds to a frame. libzmq's limit of size counts them.
constexpr std::size_t kCurveBytes = 33;
/// Limit of the libzmq sockets in the context, monitors included; connections do not count.
constexpr int kSocketsMax = 64;
/// Inbound connections have an io thread of their own. Strangers may begin many handshakes, at half
/// a millisecond each: these never delay our own dials, probes and their answers. Messages of
/// members on connections that they made share that thread: libzmq cannot move a connection. Logins
/// have a third one, because any of them may dial without end.
constexpr int kIoThreads = 3;
constexpr std::uint64_t kOutThread = 1 << 0;
constexpr std::uint64_t kInThread = 1 << 1;
constexpr std::uint64_t kCliThread = 1 << 2;
/// ZMQ_ZAP_ENFORCE_DOMAIN: without a ZmqZap that answers for the domain, no peer comes in. The
/// header of 4.3.4 hides the number as a draft; the library honours it.
constexpr int kZapEnforceDomain = 93;
constexpr SocketIndex kInSockets[] = {kControlIn, kBulkIn};
/// sun_path holds 108 bytes, terminating zero included.
constexpr std::size_t kIpcPathMax = 107;

std::size_t monitor_of(Channel channel) {
  return kSocketCount + (channel == Channel::kControl ? 0 : 1);
}

std::string address_of(const Endpoint& endpoint) {
  return "tcp://" + endpoint.text();
}

std::optional<Endpoint> endpoint_of(std::string_view address) {
  constexpr std::string_view kScheme = "tcp://";
  if (!address.starts_with(kScheme)) {
    return std::nullopt;
  }
  return Endpoint::parse(address.substr(kScheme.size()), 0);
}

/// The property of a message; "" if libzmq has none of that name.
std::string property_of(const zmq::message_t& frame, const char* name) {
  const char* text = zmq_msg_gets(frame.handle(), name);
  return text == nullptr ? "" : text;
}

}  // namespace

SocketIndex in_of(Channel channel) {
  return channel == Channel::kControl ? kControlIn : kBulkIn;
}
SocketIndex out_of(Channel channel) {
  return channel == Channel::kControl ? kControlOut : kBulkOut;
}
bool is_out(std::size_t index) {
  return index == kControlOut || index == kBulkOut;
}
std::size_t listener_at(std::size_t index) {
  return index == kControlIn ? 0 : 1;
}
Channel channel_of(std::size_t index) {
  return index == kBulkIn || index == kBulkOut ? Channel::kBulk : Channel::kControl;
}

ZmqSockets::ZmqSockets() : context_(kIoThreads, kSocketsMax) {}

ZmqSockets::~ZmqSockets() {
  for (zmq::socket_t& socket : sockets_) {
    if (socket.handle() != nullptr) {
      zmq_socket_monitor(socket.handle(), nullptr, 0);
    }
  }
}

Status ZmqSockets::open(const ZmqTransport::Options& options, const AdmittedKeys& keys) {
  try {
    for (std::size_t index = 0; index < kSocketCount; ++index) {
      make_socket(static_cast<SocketIndex>(index));
    }
    sockets_[kCli].set(zmq::sockopt::linger, static_cast<int>(to_ms(options.last_answers)));
    make_monitor(kControlOut);
    make_monitor(kBulkOut);
    zap_.emplace(context_, keys, accepted_);
    for (const SocketIndex index : kInSockets) {
      lock(index, options.link);
      zap_->watch(sockets_[index]);
    }
    zap_->start();
    for (std::size_t place = 0; place < kWaitedCount; ++place) {
      places_[place].fd = socket_at(place).get(zmq::sockopt::fd);
    }
    const Status listens = options.listens ? listen_on(options) : ok();
    return listens ? bind_cli(options.ipc_path) : listens;
  } catch (const zmq::error_t& error) {
    return Error{ErrorCode::kIo, std::string("cannot open the transport: ") + error.what()};
  }
}

void ZmqSockets::make_socket(SocketIndex index) {
  zmq::socket_t socket(context_, zmq::socket_type::router);
  socket.set(zmq::sockopt::linger, 0);
  socket.set(zmq::sockopt::router_mandatory, true);
  const std::size_t frame_max = kMessageBytesMax + (index == kCli ? 0 : kCurveBytes);
  socket.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(frame_max));
  socket.set(zmq::sockopt::handshake_ivl, is_out(index) ? kOutHandshakeMs : kHandshakeMs);
  socket.set(zmq::sockopt::tcp_maxrt, kUnacknowledgedMs);
  socket.set(zmq::sockopt::rcvhwm, index == kCli ? kCliQueue : kInQueue);
  if (index == kCli) {
    socket.set(zmq::sockopt::backlog, kCliBacklog);
  }
  socket.set(zmq::sockopt::affinity, index == kCli   ? kCliThread
                                     : is_out(index) ? kOutThread
                                                     : kInThread);
  if (is_out(index)) {
    socket.set(zmq::sockopt::sndhwm, kOutQueue);
    socket.set(zmq::sockopt::reconnect_ivl, -1);
    socket.set(zmq::sockopt::connect_timeout, kConnectMs);
  } else {
    socket.set(zmq::sockopt::sndhwm, kAnswerQueue);
  }
  sockets_[index] = std::move(socket);
}

/// Sets up CURVE. The socket of the CLI has none: the kernel names its peers, and without a domain
/// libzmq does not ask the ZmqZap about it.
void ZmqSockets::lock(SocketIndex index, const LinkKeys& own) {
  zmq::socket_t& socket = sockets_[index];
  socket.set(zmq::sockopt::curve_server, true);
  socket.set(zmq::sockopt::curve_secretkey, own.secret_key);
  socket.set(zmq::sockopt::zap_domain, kZapDomain);
  const int is_enforced = 1;
  if (zmq_setsockopt(socket.handle(), kZapEnforceDomain, &is_enforced, sizeof is_enforced) != 0) {
    throw zmq::error_t();
  }
}

void ZmqSockets::make_monitor(SocketIndex index) {
  const std::string address = "inproc://monitor-" + std::to_string(index);
  const int kinds = ZMQ_EVENT_CONNECTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED |
                    ZMQ_EVENT_HANDSHAKE_FAILED_AUTH | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CLOSED;
  if (zmq_socket_monitor(sockets_[index].handle(), address.c_str(), kinds) != 0) {
    throw zmq::error_t();
  }
  zmq::socket_t monitor(context_, zmq::socket_type::pair);
  monitor.set(zmq::sockopt::linger, 0);
  // No limit: a lost event would delay the end of a link. Events are few, at most four a dial, and
  // are read every turn.
  monitor.set(zmq::sockopt::rcvhwm, 0);
  monitor.connect(address);
  monitors_[monitor_of(channel_of(index)) - kSocketCount] = std::move(monitor);
}

Status ZmqSockets::listen_on(const ZmqTransport::Options& options) {
  for (const SocketIndex index : kInSockets) {
    TcpListener& listener = listeners_[listener_at(index)];
    const Status opened = listener.open(index == kControlIn ? options.control : options.bulk);
    if (!opened) {
      return opened;
    }
    const int fd = listener.copy();
    if (fd < 0) {
      return Error{ErrorCode::kIo,
                   "cannot listen on " + listener.endpoint().text() + ": no descriptor is left"};
    }
    bind_tcp(index, fd);
  }
  return ok();
}

/// libzmq accepts on `fd` from now on, and closes it in the end. The bind cannot fail: there is no
/// address to resolve or to take.
void ZmqSockets::bind_tcp(SocketIndex index, int fd) {
  sockets_[index].set(zmq::sockopt::use_fd, fd);
  const std::string address = address_of(listeners_[listener_at(index)].endpoint());
  CHECK(zmq_bind(sockets_[index].handle(), address.c_str()) == 0);
}

/// A bound socket takes a new key only at its next bind. After an unbind its connections stay open
/// and deaf, and its listener accepts, with the old key, until the io thread closes it. Both were
/// measured.
bool ZmqSockets::rekey(const LinkKeys& own) {
  std::array<int, AcceptedConnections::kListeners> fds{-1, -1};
  const bool listens = listeners_[0].is_open();
  for (std::size_t i = 0; i < fds.size() && listens; ++i) {
    fds[i] = listeners_[i].copy();
    if (fds[i] < 0) {
      std::for_each(fds.begin(), fds.begin() + static_cast<std::ptrdiff_t>(i), close);
      return false;
    }
  }
  if (listens) {
    accepted_.end_all();
  }
  for (const SocketIndex index : kInSockets) {
    zmq::socket_t& socket = sockets_[index];
    places_[index].touched = true;
    socket.set(zmq::sockopt::curve_secretkey, own.secret_key);
    if (listens) {
      const std::string bound = socket.get(zmq::sockopt::last_endpoint);
      CHECK(zmq_unbind(socket.handle(), bound.c_str()) == 0);
      bind_tcp(index, fds[listener_at(index)]);
    }
  }
  return true;
}

Status ZmqSockets::bind_cli(const std::string& path) {
  if (path.empty()) {
    return ok();
  }
  if (path.size() > kIpcPathMax) {
    return Error{ErrorCode::kInvalid, "the path " + path + " is longer than " +
                                          std::to_string(kIpcPathMax) +
                                          " bytes: choose a shorter --data-dir"};
  }
  // The mode has to be right from the start: others could connect in the moment before a chmod.
  const mode_t before = umask(0177);
  const int rc = zmq_bind(sockets_[kCli].handle(), ("ipc://" + path).c_str());
  const int error = zmq_errno();
  umask(before);
  if (rc != 0) {
    return Error{ErrorCode::kIo, "cannot make the socket " + path + ": " + zmq_strerror(error)};
  }
  is_cli_bound_ = true;
  cli_file_ = file_at(path);
  return ok();
}

std::optional<ZmqSockets::FileId> ZmqSockets::file_at(const std::string& path) {
  struct stat found {};
  return lstat(path.c_str(), &found) == 0 ? std::optional(FileId{found.st_dev, found.st_ino})
                                          : std::nullopt;
}

bool ZmqSockets::renew_cli(const std::string& path) {
  if (path.empty()) {
    return false;
  }
  if (!is_cli_bound_) {
    return bind_cli(path).has_value();
  }
  if (file_at(path) != cli_file_) {
    places_[kCli].touched = true;
    zmq_unbind(sockets_[kCli].handle(), ("ipc://" + path).c_str());
    is_cli_bound_ = false;
  }
  return false;
}

bool ZmqSockets::connect(Channel channel, const std::string& id, const Endpoint& peer,
                         const LinkKeys& own, const std::string& expected) {
  zmq::socket_t& socket = sockets_[out_of(channel)];
  places_[out_of(channel)].touched = true;
  try {
    // libzmq ends a lost dial by the text of its address. With IPV6 set it would know an IPv4
    // address under another text, and the dial would never end.
    socket.set(zmq::sockopt::ipv6, !peer.is_ipv4());
    socket.set(zmq::sockopt::connect_routing_id, id);
    // A dial uses the keys that are set at its connect.
    socket.set(zmq::sockopt::curve_publickey, own.public_key);
    socket.set(zmq::sockopt::curve_secretkey, own.secret_key);
    socket.set(zmq::sockopt::curve_serverkey, expected);
    socket.connect(address_of(peer));
  } catch (const zmq::error_t&) {
    return false;
  }
  return true;
}

void ZmqSockets::disconnect(Channel channel, const Endpoint& peer) {
  places_[out_of(channel)].touched = true;
  // It fails if libzmq has already closed the dial, which is fine.
  zmq_disconnect(sockets_[out_of(channel)].handle(), address_of(peer).c_str());
}

SendOutcome ZmqSockets::send(std::size_t index, const std::string& id, const std::string& bytes) {
  void* socket = sockets_[index].handle();
  places_[index].touched = true;
  if (zmq_send(socket, id.data(), id.size(), ZMQ_DONTWAIT | ZMQ_SNDMORE) < 0) {
    return zmq_errno() == EAGAIN ? SendOutcome::kQueueFull : SendOutcome::kUnreachable;
  }
  // A ROUTER that took the id takes the payload, too; it drops the payload if the connection ends
  // in between.
  zmq_send(socket, bytes.data(), bytes.size(), ZMQ_DONTWAIT);
  return SendOutcome::kSent;
}

zmq::socket_t& ZmqSockets::socket_at(std::size_t place) {
  return place < kSocketCount ? sockets_[place] : monitors_[place - kSocketCount];
}

bool ZmqSockets::receive(std::size_t place, zmq::message_t& frame) {
  places_[place].touched = true;
  places_[place].ready = zmq_msg_recv(frame.handle(), socket_at(place).handle(), ZMQ_DONTWAIT) >= 0;
  return places_[place].ready;
}

ReadOutcome ZmqSockets::read(std::size_t index, Incoming& message) {
  zmq::message_t head;
  if (!receive(index, head)) {
    return ReadOutcome::kNothing;
  }
  // The frames of a message arrive together: reading the rest never waits.
  zmq::message_t payload;
  std::size_t frames = 1;
  for (bool more = head.more(); more && receive(index, payload); ++frames) {
    more = payload.more();
  }
  if (frames != 2 || payload.empty()) {
    return ReadOutcome::kMalformed;
  }
  if (payload.size() > kSmallFrameBytes && !begins_as_message(payload.to_string_view())) {
    ConnectionMark(zmq_msg_get(payload.handle(), ZMQ_SRCFD)).end();
    return ReadOutcome::kNoise;
  }
  message.id = head.to_string();
  message.bytes = payload.to_string();
  message.fd = zmq_msg_get(payload.handle(), ZMQ_SRCFD);
  message.proof =
      is_out(index) ? "" : property_of(payload, index == kCli ? "Peer-Address" : "User-Id");
  return ReadOutcome::kMessage;
}

std::optional<MonitorEvent> ZmqSockets::next_event(Channel channel) {
  const std::size_t monitor = monitor_of(channel);
  zmq::message_t head;
  zmq::message_t address;
  std::uint16_t kind = 0;
  std::int32_t value = 0;
  if (!receive(monitor, head) || !receive(monitor, address) ||
      head.size() < sizeof kind + sizeof value) {
    return std::nullopt;
  }
  std::memcpy(&kind, head.data(), sizeof kind);
  std::memcpy(&value, static_cast<const char*>(head.data()) + sizeof kind, sizeof value);
  return MonitorEvent{kind, value, endpoint_of(address.to_string_view()).value_or(Endpoint())};
}

bool ZmqSockets::may_have_events(Channel channel) const {
  return places_[monitor_of(channel)].ready;
}

/// Asks libzmq for events, which clears the descriptor.
bool ZmqSockets::look(std::size_t place) {
  places_[place].ready = (socket_at(place).get(zmq::sockopt::events) & ZMQ_POLLIN) != 0;
  places_[place].touched = places_[place].ready;
  return places_[place].ready;
}

bool ZmqSockets::wait(int timeout_ms, std::vector<pollfd>& others) {
  bool any = false;
  for (std::size_t place = 0; place < kWaitedCount; ++place) {
    any = (places_[place].touched && look(place)) || any;
  }
  const std::size_t count = others.size();
  for (const Place& place : places_) {
    others.push_back({place.fd, POLLIN, 0});
  }
  const int fired = poll(others.data(), others.size(), any ? 0 : timeout_ms);
  for (std::size_t i = 0; i < others.size() && fired > 0; ++i) {
    const bool is_own = i >= count;
    if (others[i].revents != 0) {
      any = !is_own || look(i - count) || any;
    }
  }
  others.resize(count);
  return any;
}

}  // namespace muster::gossip
