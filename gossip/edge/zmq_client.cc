#include "gossip/edge/zmq_client.h"

#include <grp.h>
#include <netdb.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include <zmq.hpp>

#include "gossip/edge/boot_clock.h"
#include "gossip/edge/tcp_knock.h"
#include "gossip/wire/endpoint.h"
#include "gossip/wire/wire.h"

namespace muster::gossip {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kTcp = "tcp://";
constexpr std::string_view kIpc = "ipc://";
constexpr int kKnockMs = 200;
constexpr int kQueue = 64;
constexpr char kMonitor[] = "inproc://connection";
constexpr char kStartHint[] =
    ": start one with `muster agent`, or name the one to ask with --node PATH, its data directory";

Error nobody_at(std::string_view where) {
  return {ErrorCode::kUnavailable, "no agent answers at " + std::string(where) + kStartHint};
}

/// Names the group that may write to a socket of root; "" if only root may.
std::string group_of(const struct stat& file) {
  if (!S_ISSOCK(file.st_mode) || (file.st_mode & S_IWGRP) == 0) {
    return "";
  }
  const group* found = getgrgid(file.st_gid);
  return found == nullptr ? "gid " + std::to_string(file.st_gid) : std::string(found->gr_name);
}

/// Names the owner of the path or, if the path cannot be read, that of the first readable directory
/// above.
std::string who_may_use(const std::string& path) {
  struct stat found {};
  std::string seen = path;
  while (stat(seen.c_str(), &found) != 0 && seen.find('/', 1) != std::string::npos) {
    seen.resize(seen.rfind('/'));
  }
  if (const std::string members = group_of(found); !members.empty()) {
    return "the agent at " + path + " answers root and the group " + members +
           ": have an operator add you to that group";
  }
  const passwd* owner = getpwuid(found.st_uid);
  const std::string who =
      owner == nullptr ? "uid " + std::to_string(found.st_uid) : std::string(owner->pw_name);
  return "the agent at " + path + " answers " +
         (found.st_uid == 0 ? "only root: run this as root"
                            : who + ", the user it runs as, and root: run this as one of them");
}

Status knock_ipc(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return Error{ErrorCode::kInvalid, "the socket path '" + path + "' is empty or too long"};
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    return Error{ErrorCode::kIo, std::string("cannot make a socket: ") + std::strerror(errno)};
  }
  const int rc = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const int error = errno;
  close(fd);
  if (rc == 0 || error == EAGAIN) {
    return ok();
  }
  if (error == EACCES) {
    return Error{ErrorCode::kDenied, who_may_use(path)};
  }
  return nobody_at(path);
}

/// Names are resolved here, once: libzmq would do it where no error can be seen.
Result<Endpoint> resolve(std::string_view text) {
  const auto numeric = Endpoint::parse(text, 0);
  if (numeric.has_value() && numeric->port != 0) {
    return *numeric;
  }
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    return Error{ErrorCode::kInvalid, "'" + std::string(text) + "' is not HOST:PORT"};
  }
  const std::string host(text.substr(0, colon));
  const std::string port(text.substr(colon + 1));
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0 || found == nullptr) {
    return Error{ErrorCode::kUnavailable, "the name '" + host + "' does not resolve"};
  }
  char digits[NI_MAXHOST] = {};
  getnameinfo(found->ai_addr, found->ai_addrlen, digits, sizeof digits, nullptr, 0, NI_NUMERICHOST);
  const bool six = found->ai_family == AF_INET6;
  freeaddrinfo(found);
  const std::string address = six ? "[" + std::string(digits) + "]" : std::string(digits);
  const auto endpoint = Endpoint::parse(address + ":" + port, 0);
  if (!endpoint.has_value() || endpoint->port == 0) {
    return Error{ErrorCode::kInvalid, "'" + std::string(text) + "' is not HOST:PORT"};
  }
  return *endpoint;
}

/// The address to give to libzmq, once a knock found a listener there.
Result<std::string> knock(std::string_view address) {
  if (address.starts_with(kIpc)) {
    const Status answered = knock_ipc(std::string(address.substr(kIpc.size())));
    if (!answered) {
      return answered.error();
    }
    return std::string(address);
  }
  if (!address.starts_with(kTcp)) {
    return Error{ErrorCode::kInvalid,
                 "'" + std::string(address) + "' is not an ipc:// or tcp:// address"};
  }
  const Result<Endpoint> endpoint = resolve(address.substr(kTcp.size()));
  if (!endpoint) {
    return endpoint.error();
  }
  if (TcpKnock(*endpoint).answer(kKnockMs) != KnockAnswer::kListening) {
    return nobody_at(endpoint->text());
  }
  return std::string(kTcp) + endpoint->text();
}

}  // namespace

class ZmqClient::Impl {
 public:
  Impl()
      : context_(1),
        socket_(context_, zmq::socket_type::dealer),
        ends_(context_, zmq::socket_type::pair) {
    socket_.set(zmq::sockopt::linger, 0);
    socket_.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(kMessageBytesMax));
    socket_.set(zmq::sockopt::sndhwm, kQueue);
    socket_.set(zmq::sockopt::rcvhwm, kQueue);
    if (zmq_socket_monitor(socket_.handle(), kMonitor, ZMQ_EVENT_DISCONNECTED) != 0) {
      throw zmq::error_t();
    }
    ends_.set(zmq::sockopt::linger, 0);
    ends_.connect(kMonitor);
  }
  /// Ends the monitor before its reader: libzmq leaks the memory of an event that it cannot send.
  ~Impl() { zmq_socket_monitor(socket_.handle(), nullptr, 0); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  zmq::socket_t& socket() { return socket_; }
  /// A socket that becomes readable when a connection ended.
  zmq::socket_t& ends() { return ends_; }

  /// Whether a connection ended since the last call.
  bool take_end() {
    bool has_ended = false;
    zmq::message_t frame;
    while (zmq_msg_recv(frame.handle(), ends_.handle(), ZMQ_DONTWAIT) >= 0) {
      has_ended = true;
    }
    return has_ended;
  }

  std::size_t unanswered = 0;  ///< Messages that were sent, less those that came.

 private:
  zmq::context_t context_;
  zmq::socket_t socket_;
  zmq::socket_t ends_;
};

ZmqClient::ZmqClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ZmqClient::ZmqClient(ZmqClient&&) noexcept = default;
ZmqClient& ZmqClient::operator=(ZmqClient&&) noexcept = default;
ZmqClient::~ZmqClient() = default;

Result<ZmqClient> ZmqClient::connect(std::string_view address) {
  const Result<std::string> target = knock(address);
  if (!target) {
    return target.error();
  }
  try {
    auto impl = std::make_unique<Impl>();
    impl->socket().set(zmq::sockopt::ipv6, target->find('[') != std::string::npos);
    impl->socket().connect(*target);
    return ZmqClient(std::move(impl));
  } catch (const zmq::error_t& error) {
    return Error{ErrorCode::kInvalid, "cannot use '" + *target + "': " + error.what()};
  }
}

Status ZmqClient::send(std::string bytes) {
  if (bytes.empty() || bytes.size() > kMessageBytesMax) {
    return Error{ErrorCode::kInvalid, "a message has 1 to " + std::to_string(kMessageBytesMax) +
                                          " bytes, this one " + std::to_string(bytes.size())};
  }
  if (impl_->unanswered == 0) {
    impl_->take_end();  // It took no answer with it, and libzmq has dialled again.
  }
  const int rc = zmq_send(impl_->socket().handle(), bytes.data(), bytes.size(), ZMQ_DONTWAIT);
  if (rc < 0) {
    return Error{ErrorCode::kUnavailable, std::string("not sent: ") + zmq_strerror(zmq_errno())};
  }
  ++impl_->unanswered;
  return ok();
}

Result<std::optional<std::string>> ZmqClient::receive(Duration timeout) {
  const Instant deadline = boot_now() + timeout;
  void* socket = impl_->socket().handle();
  for (bool has_ended = false;;) {
    zmq::message_t frame;
    if (zmq_msg_recv(frame.handle(), socket, ZMQ_DONTWAIT) >= 0) {
      const bool single = !frame.more();
      while (frame.more() && zmq_msg_recv(frame.handle(), socket, ZMQ_DONTWAIT) >= 0) {
      }
      if (single && !frame.empty()) {
        impl_->unanswered -= std::min<std::size_t>(impl_->unanswered, 1);
        return std::optional<std::string>(frame.to_string());
      }
      continue;
    }
    const int error = zmq_errno();
    const Duration left = deadline - boot_now();
    if (error != EAGAIN && error != EINTR) {
      return Error{ErrorCode::kIo, std::string("the connection failed: ") + zmq_strerror(error)};
    }
    if (has_ended) {
      return Error{ErrorCode::kIo, "the agent ended the connection"};
    }
    has_ended = impl_->take_end();
    if (has_ended) {
      continue;  // First read the messages that came before the end.
    }
    if (left <= Duration(0)) {
      return std::optional<std::string>();
    }
    zmq::pollitem_t items[] = {{socket, 0, ZMQ_POLLIN, 0},
                               {impl_->ends().handle(), 0, ZMQ_POLLIN, 0}};
    zmq_poll(items, std::size(items), std::chrono::ceil<milliseconds>(left).count());
  }
}

}  // namespace muster::gossip
