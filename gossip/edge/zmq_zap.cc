#include "gossip/edge/zmq_zap.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstring>
#include <optional>
#include <utility>

#include "gossip/base/check.h"
#include "gossip/edge/boot_clock.h"
#include "gossip/edge/proof_text.h"

namespace muster::gossip {
namespace {

constexpr char kZapAddress[] = "inproc://zeromq.zap.01";
constexpr std::string_view kZapVersion = "1.0";
constexpr std::string_view kCurve = "CURVE";
/// Frames of a question: version, request id, domain, address, routing id, mechanism and, for
/// CURVE, the key.
enum Frame : std::size_t { kVersion, kRequestId, kDomain, kAddress, kRoutingId, kMechanism, kKey };
constexpr std::size_t kCurveFrames = kKey + 1;
/// PLAIN has a name and a password.
constexpr std::size_t kFramesMax = kCurveFrames + 1;
/// Limit of the answers and events of each source in one turn, so that no flood hides another.
constexpr int kPerTurn = 256;

struct MonitorWord {
  std::uint16_t kind = 0;  ///< 0: malformed.
  std::int32_t value = 0;
};

/// nullopt if there is no event.
std::optional<MonitorWord> next_word(zmq::socket_t& monitor) {
  zmq::message_t head;
  zmq::message_t address;
  if (zmq_msg_recv(head.handle(), monitor.handle(), ZMQ_DONTWAIT) < 0 ||
      zmq_msg_recv(address.handle(), monitor.handle(), ZMQ_DONTWAIT) < 0) {
    return std::nullopt;
  }
  MonitorWord word;
  if (head.size() >= sizeof word.kind + sizeof word.value) {
    std::memcpy(&word.kind, head.data(), sizeof word.kind);
    std::memcpy(&word.value, static_cast<const char*>(head.data()) + sizeof word.kind,
                sizeof word.value);
  }
  return word;
}

std::vector<std::string> reply_of(std::string request_id, const char* status, const char* text,
                                  std::string user_id) {
  return {std::string(kZapVersion), std::move(request_id), status, text, std::move(user_id), ""};
}

}  // namespace

ZmqZap::ZmqZap(zmq::context_t& context, const AdmittedKeys& keys, AcceptedConnections& connections)
    : context_(context),
      keys_(keys),
      connections_(connections),
      questions_(context, zmq::socket_type::rep),
      is_over_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  questions_.set(zmq::sockopt::linger, 0);
  questions_.bind(kZapAddress);
}

ZmqZap::~ZmqZap() {
  if (thread_.joinable()) {
    const std::uint64_t one = 1;
    CHECK(write(is_over_fd_, &one, sizeof one) == sizeof one);
    thread_.join();
  }
  if (is_over_fd_ >= 0) {
    close(is_over_fd_);
  }
}

void ZmqZap::watch(zmq::socket_t& listener) {
  CHECK(!thread_.joinable() && monitors_.size() < AcceptedConnections::kListeners);
  monitors_.push_back(make_monitor(listener, "accepted-" + std::to_string(monitors_.size()),
                                   ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CLOSED |
                                       ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL));
}

zmq::socket_t ZmqZap::make_monitor(zmq::socket_t& listener, const std::string& name, int kinds) {
  const std::string address = "inproc://" + name;
  if (zmq_socket_monitor(listener.handle(), address.c_str(), kinds) != 0) {
    throw zmq::error_t();
  }
  zmq::socket_t monitor(context_, zmq::socket_type::pair);
  monitor.set(zmq::sockopt::linger, 0);
  // No limit: a full queue would block libzmq's own thread. Our thread only reads and answers.
  monitor.set(zmq::sockopt::rcvhwm, 0);
  monitor.connect(address);
  return monitor;
}

void ZmqZap::start() {
  if (is_over_fd_ < 0) {
    errno = EMFILE;
    throw zmq::error_t();
  }
  thread_ = std::thread([this] { run(); });
}

ZmqZap::Refused ZmqZap::refused() const {
  return {unknown_key_, no_curve_, malformed_, early_tickets_};
}

void ZmqZap::run() {
  std::vector<zmq_pollitem_t> items = {{nullptr, is_over_fd_, ZMQ_POLLIN, 0},
                                       {questions_.handle(), 0, ZMQ_POLLIN, 0}};
  for (zmq::socket_t& monitor : monitors_) {
    items.push_back({monitor.handle(), 0, ZMQ_POLLIN, 0});
  }
  for (;;) {
    zmq_poll(items.data(), static_cast<int>(items.size()), -1);
    if (items[0].revents != 0) {
      return;
    }
    for (int i = 0; i < kPerTurn && answer_one(); ++i) {
    }
    for (std::size_t listener = 0; listener < monitors_.size(); ++listener) {
      for (int i = 0; i < kPerTurn && read_event(listener); ++i) {
      }
    }
  }
}

/// False if there is no question.
bool ZmqZap::answer_one() {
  std::vector<std::string> request;
  zmq::message_t frame;
  do {
    // The frames of a question arrive together: reading the rest never waits.
    if (zmq_msg_recv(frame.handle(), questions_.handle(), ZMQ_DONTWAIT) < 0) {
      return false;
    }
    if (request.size() <= kFramesMax) {
      request.push_back(frame.to_string());
    }
  } while (frame.more());
  const std::vector<std::string> reply = decide(request);
  for (std::size_t i = 0; i < reply.size(); ++i) {
    const int more = i + 1 < reply.size() ? ZMQ_SNDMORE : 0;
    zmq_send(questions_.handle(), reply[i].data(), reply[i].size(), ZMQ_DONTWAIT | more);
  }
  return true;
}

std::vector<std::string> ZmqZap::decide(const std::vector<std::string>& request) {
  const std::string id = request.size() > kRequestId ? request[kRequestId] : "";
  if (request.size() <= kMechanism || request[kVersion] != kZapVersion ||
      request[kDomain] != kZapDomain) {
    ++malformed_;
    return reply_of(id, "400", "malformed", "");
  }
  if (request[kMechanism] != kCurve) {
    ++no_curve_;
    return reply_of(id, "400", "not CURVE", "");
  }
  if (request.size() != kCurveFrames || request[kKey].size() != kLinkKeyBytes) {
    ++malformed_;
    return reply_of(id, "400", "malformed", "");
  }
  const auto sender = keys_.find(request[kKey]);
  if (!sender.has_value()) {
    ++unknown_key_;
    return reply_of(id, "400", "unknown key", "");
  }
  if (sender->kind == Sender::Kind::kTicket && !joins_.take(request[kAddress], boot_now())) {
    ++early_tickets_;
    return reply_of(id, "400", "too many joins", "");
  }
  return reply_of(id, "200", "", user_id_of(request[kKey]));
}

/// False if there is no event.
bool ZmqZap::read_event(std::size_t listener) {
  const auto word = next_word(monitors_[listener]);
  if (!word.has_value()) {
    return false;
  }
  switch (word->kind) {
    case ZMQ_EVENT_ACCEPTED:
      connections_.on_accepted(listener, word->value);
      break;
    case ZMQ_EVENT_DISCONNECTED:
      on_ended(listener, word->value);
      break;
    case ZMQ_EVENT_CLOSED:
      connections_.on_closed(listener);
      break;
    case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
      on_failure(listener, static_cast<std::uint32_t>(word->value));
      break;
    default:
      break;
  }
  return true;
}

void ZmqZap::on_failure(std::size_t listener, std::uint32_t reason) {
  is_plain_[listener] = reason == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH;
  ++(is_plain_[listener] ? no_curve_ : malformed_);
}

void ZmqZap::on_ended(std::size_t listener, int fd) {
  const std::string from = connections_.on_ended(listener, fd);
  if (std::exchange(is_plain_[listener], false) && !from.empty()) {
    plain_peers_.add(from);
  }
}

}  // namespace muster::gossip
