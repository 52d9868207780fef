#include "agent/edge/door/http_core.h"

#include <linux/sockios.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "agent/api/request.h"
#include "agent/api/rest/problem.h"
#include "agent/edge/door/http_head.h"
#include "agent/edge/door/http_reply.h"
#include "gossip/base/check.h"
#include "gossip/edge/boot_clock.h"

namespace muster::agent {
namespace {

using Phase = HttpConnection::Phase;

/// A reader is looked at so often within its deadline.
constexpr int kReaderLooks = 4;
/// The reaper rests at least so long between two looks at all connections.
constexpr Duration kReaperRest = std::chrono::milliseconds(20);
/// A door that is full may have room again after this time.
constexpr std::uint64_t kBusyRetryMs = 1'000;

HttpAnswer busy_answer() {
  return problem(503, ResponseStatus::kNoQuorum,
                 "this node has too many requests to answer: nothing was done; ask again, or ask "
                 "another node",
                 kBusyRetryMs);
}

HttpAnswer late_answer() {
  return problem(504, ResponseStatus::kUnknown,
                 "this node did not answer in time: it may have been done; ask again under the "
                 "same idempotency-key");
}

/// Bytes that the kernel holds for the client, who has not confirmed them.
std::uint64_t unsent_bytes(int fd) {
  int count = 0;
  return ioctl(fd, SIOCOUTQ, &count) == 0 ? static_cast<std::uint64_t>(count) : 0;
}

/// Its end drops what the kernel holds, which it would keep for minutes otherwise.
void forget_unsent(int fd) {
  const linger at_once{1, 0};
  setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

bool has_hung_up(int fd) {
  pollfd state{fd, POLLRDHUP, 0};
  return poll(&state, 1, 0) > 0 && (state.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

std::uint32_t uid_of_peer(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  const bool is_known = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
  // The highest number is the kernel's "no user".
  return is_known ? peer.uid : UINT32_MAX;
}

}  // namespace

HttpCore::HttpCore(HttpServerOptions options)
    : options_(std::move(options)),
      wake_fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      addresses_(options_.limits.per_address, options_.limits.unproven_per_address) {
  CHECK(wake_fd_ >= 0);
  reaper_ = std::thread([this] { reap(); });
}

HttpCore::~HttpCore() {
  end();
  reaper_.join();
  close(wake_fd_);
}

// ---- the owner ----

std::vector<HttpQuestion> HttpCore::take() {
  const std::lock_guard lock(mutex_);
  eventfd_t count = 0;
  eventfd_read(wake_fd_, &count);
  return std::exchange(untaken_, {});
}

void HttpCore::answer(std::uint64_t number, HttpAnswer answer, std::shared_ptr<HttpStream> stream) {
  const std::lock_guard lock(mutex_);
  const auto found = waiting_.find(number);
  if (found == waiting_.end()) {
    ++stats_.dropped_answers;
    if (stream != nullptr) {
      stream->leave();
    }
    return;
  }
  HttpConnection& connection = *found->second;
  connection.exchange.stream = std::move(stream);
  give(connection, std::move(answer));
}

/// The library calls its handler again, which finds the answer.
void HttpCore::give(HttpConnection& connection, HttpAnswer answer) {
  drop_untaken(connection.exchange.number);
  waiting_.erase(connection.exchange.number);
  connection.exchange.answer = std::move(answer);
  connection.deadline = kNever;
  MHD_resume_connection(connection.link);
}

void HttpCore::drop_untaken(std::uint64_t number) {
  std::erase_if(untaken_,
                [number](const HttpQuestion& question) { return question.number == number; });
}

void HttpCore::proven(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  const auto found = waiting_.find(number);
  if (found != waiting_.end() && !std::exchange(found->second->is_proven, true)) {
    addresses_.prove(found->second->key);
  }
}

Status HttpCore::set_tls(const HttpTls& tls, std::vector<std::string> names) {
  if (const Status taken = tls_.set(tls); !taken) {
    return taken;
  }
  const std::lock_guard lock(mutex_);
  options_.browser.names = std::move(names);
  return ok();
}

HttpStats HttpCore::stats() const {
  const std::lock_guard lock(mutex_);
  HttpStats stats = stats_;
  stats.connections_now = connections_.size();
  stats.unproven_now = addresses_.unproven();
  stats.questions_now = waiting_.size();
  stats.bodies_bytes_now = bodies_bytes_;
  return stats;
}

void HttpCore::end() {
  const std::lock_guard lock(mutex_);
  is_ending_ = true;
  for (const auto& [number, connection] : waiting_) {
    MHD_resume_connection(connection->link);
  }
  waiting_.clear();
  untaken_.clear();
  for (const auto& [at, connection] : connections_) {
    if (connection->exchange.stream != nullptr) {
      connection->exchange.stream->leave();
    }
  }
  reaper_wake_.notify_all();
}

// ---- the library's thread ----

bool HttpCore::may_enter(const gossip::Endpoint& client) {
  const std::lock_guard lock(mutex_);
  const bool has_room = addresses_.has_room(AddressLimits::key_of(client));
  stats_.refused_address += has_room ? 0 : 1;
  return has_room;
}

HttpConnection* HttpCore::on_started(MHD_Connection* link, int fd,
                                     const std::optional<gossip::Endpoint>& client, void* session) {
  auto made = std::make_unique<HttpConnection>();
  HttpConnection& connection = *made;
  connection.link = link;
  connection.fd = fd;
  if (client.has_value()) {
    const int yes = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    connection.peer.address = client->ip_text();
    connection.key = AddressLimits::key_of(*client);
  } else {
    connection.peer.uid = uid_of_peer(fd);
    connection.key = AddressLimits::key_of_uid(*connection.peer.uid);
    connection.is_proven = true;
  }
  if (session != nullptr) {
    connection.tls.watch(session, fd, tls_, [this, &connection] { on_handshaken(connection); });
  }
  const std::lock_guard lock(mutex_);
  // TCP clients were asked about in may_enter(). A uid is known only here.
  const bool has_room = client.has_value() || addresses_.has_room(connection.key);
  ++stats_.accepted;
  addresses_.add(connection.key, connection.is_proven);
  connections_.emplace(&connection, std::move(made));
  if (!has_room) {
    ++stats_.refused_address;
    cut(connection);
  } else if (session != nullptr) {
    set_phase(connection, Phase::kHandshake, options_.deadlines.handshake);
  } else {
    set_phase(connection, Phase::kHead, options_.deadlines.head);
  }
  return &connection;
}

void HttpCore::on_closed(HttpConnection* connection) {
  const std::lock_guard lock(mutex_);
  end_exchange(*connection);
  addresses_.remove(connection->key, connection->is_proven);
  connections_.erase(connection);
}

void HttpCore::set_phase(HttpConnection& connection, Phase phase, Duration limit) {
  if (connection.phase == Phase::kCut) {
    return;
  }
  connection.phase = phase;
  connection.deadline = boot_now() + limit;
  if (connection.deadline < next_look_) {
    next_look_ = connection.deadline;
    reaper_wake_.notify_all();
  }
}

void HttpCore::on_handshaken(HttpConnection& connection) {
  const std::lock_guard lock(mutex_);
  if (connection.phase == Phase::kHandshake) {
    set_phase(connection, Phase::kHead, options_.deadlines.head);
  }
}

void HttpCore::on_target(HttpConnection& connection, std::string_view target) {
  const std::lock_guard lock(mutex_);
  connection.exchange.target = target;
  // A client may not drip the rest of a later request for as long as it may be idle. That of the
  // first has its deadline since the connection began.
  if (connection.phase == Phase::kIdle || connection.phase == Phase::kHandshake) {
    set_phase(connection, Phase::kHead, options_.deadlines.head);
  }
}

bool HttpCore::on_call(HttpConnection& connection, const Line& line, const char* bytes,
                       std::size_t* size) {
  std::unique_lock lock(mutex_);
  if (is_ending_ || connection.phase == Phase::kCut) {
    return false;
  }
  HttpExchange& exchange = connection.exchange;
  if (!exchange.has_head) {
    on_head(connection, line);
    return connection.phase == Phase::kAnswering ? send(connection, lock) : true;
  }
  if (*size != 0) {
    const std::string_view part(bytes, std::exchange(*size, 0));
    return on_body(connection, part);
  }
  if (!exchange.answer.has_value()) {
    ask(connection);
  }
  return exchange.answer.has_value() ? send(connection, lock) : true;
}

void HttpCore::on_head(HttpConnection& connection, const Line& line) {
  HttpExchange& exchange = connection.exchange;
  // A target with a zero byte in it is refused as one that is not readable.
  const bool is_whole = exchange.target.size() == line.target_size;
  HttpHead head =
      read_head(connection.link, line.method, is_whole ? exchange.target : "", options_);
  exchange.has_head = true;
  exchange.request = std::move(head.request);
  set_phase(connection, Phase::kBody, options_.deadlines.body);
  if (head.refusal.has_value()) {
    refuse(connection, *std::move(head.refusal));
  }
  if (head.must_answer_now) {
    set_phase(connection, Phase::kAnswering, options_.deadlines.reader);
  }
}

void HttpCore::refuse(HttpConnection& connection, HttpAnswer refusal) {
  ++(refusal.status == 503 ? stats_.refused_busy : stats_.refused_requests);
  release_body(connection.exchange);
  connection.exchange.request = {};
  connection.exchange.answer = std::move(refusal);
}

bool HttpCore::on_body(HttpConnection& connection, std::string_view bytes) {
  HttpExchange& exchange = connection.exchange;
  exchange.body_seen += bytes.size();
  if (exchange.answer.has_value()) {
    return exchange.body_seen <= kDroppedBodyMax;
  }
  const HttpLimits& limits = options_.limits;
  if (exchange.body_seen > limits.body_bytes) {
    refuse(connection,
           problem(413, ResponseStatus::kUsage,
                   "the body has more than " + std::to_string(limits.body_bytes) + " bytes"));
  } else if (bodies_bytes_ + bytes.size() > limits.bodies_bytes) {
    refuse(connection, busy_answer());
  } else {
    exchange.request.body.append(bytes);
    exchange.body_held += bytes.size();
    bodies_bytes_ += bytes.size();
  }
  return true;
}

/// The whole request is there.
void HttpCore::ask(HttpConnection& connection) {
  HttpExchange& exchange = connection.exchange;
  if (connection.phase == Phase::kBody && waiting_.size() >= options_.limits.questions) {
    refuse(connection, busy_answer());
    return;
  }
  // Suspended before anybody can answer, or the answer would resume a connection that is not.
  MHD_suspend_connection(connection.link);
  if (connection.phase != Phase::kBody) {
    return;
  }
  exchange.number = ++last_number_;
  waiting_.emplace(exchange.number, &connection);
  ++stats_.questions;
  set_phase(connection, Phase::kWaiting, options_.deadlines.question);
  untaken_.push_back({exchange.number, std::exchange(exchange.request, {}), connection.peer});
  eventfd_write(wake_fd_, 1);
}

bool HttpCore::send(HttpConnection& connection, std::unique_lock<std::mutex>& lock) {
  HttpExchange& exchange = connection.exchange;
  HttpAnswer answer = *std::exchange(exchange.answer, std::nullopt);
  std::shared_ptr<HttpStream> stream = exchange.stream;
  release_body(exchange);
  connection.stalls = 0;
  exchange.answer_by = stream == nullptr ? boot_now() + options_.deadlines.answer : kNever;
  set_phase(connection, Phase::kAnswering, options_.deadlines.reader / kReaderLooks);
  lock.unlock();
  const auto status = static_cast<unsigned int>(answer.status);
  MHD_Response* response = stream == nullptr
                               ? make_response(std::move(answer), connection.progress)
                               : make_stream_response(std::move(answer), std::move(stream),
                                                      connection.link, connection.progress);
  const bool is_queued = MHD_queue_response(connection.link, status, response) == MHD_YES;
  MHD_destroy_response(response);
  return is_queued;
}

void HttpCore::on_completed(HttpConnection& connection) {
  const std::lock_guard lock(mutex_);
  end_exchange(connection);
  // A small answer is the kernel's at once, whether the client reads it or not.
  const HttpDeadlines& deadlines = options_.deadlines;
  connection.is_unread = unsent_bytes(connection.fd) > 0 && deadlines.reader < deadlines.idle;
  set_phase(connection, Phase::kIdle, connection.is_unread ? deadlines.reader : deadlines.idle);
}

void HttpCore::end_exchange(HttpConnection& connection) {
  HttpExchange& exchange = connection.exchange;
  release_body(exchange);
  waiting_.erase(exchange.number);
  drop_untaken(exchange.number);
  if (exchange.stream != nullptr) {
    exchange.stream->leave();
  }
  exchange = {};
}

void HttpCore::release_body(HttpExchange& exchange) {
  bodies_bytes_ -= std::exchange(exchange.body_held, 0);
}

// ---- the reaper ----

void HttpCore::reap() {
  pthread_setname_np(pthread_self(), "muster-door");
  std::unique_lock lock(mutex_);
  while (!is_ending_) {
    const Instant now = boot_now();
    next_look_ = kNever;
    for (const auto& [at, connection] : connections_) {
      if (connection->deadline <= now) {
        expire(*connection, now);
      }
      next_look_ = std::min(next_look_, connection->deadline);
    }
    if (next_look_ == kNever) {
      reaper_wake_.wait(lock);
      continue;
    }
    const Instant planned = next_look_;
    reaper_wake_.wait_for(lock, std::max<Duration>(kReaperRest, planned - now),
                          [&] { return is_ending_ || next_look_ < planned; });
  }
}

void HttpCore::expire(HttpConnection& connection, Instant now) {
  switch (connection.phase) {
    case Phase::kHandshake:
    case Phase::kHead:
      ++stats_.cut_silent;
      return cut(connection);
    case Phase::kBody:
      ++stats_.cut_body;
      return cut(connection);
    case Phase::kIdle:
      return expire_idle(connection, now);
    case Phase::kWaiting:
      return expire_question(connection);
    case Phase::kAnswering:
      return look_at_reader(connection, now);
    case Phase::kCut:
      return;
  }
}

void HttpCore::expire_idle(HttpConnection& connection, Instant now) {
  const bool is_unread = unsent_bytes(connection.fd) > 0;
  if (std::exchange(connection.is_unread, false) && !is_unread) {
    connection.deadline = now + (options_.deadlines.idle - options_.deadlines.reader);
    return;
  }
  ++(is_unread ? stats_.cut_readers : stats_.closed_idle);
  if (is_unread) {
    forget_unsent(connection.fd);
  }
  cut(connection);
}

/// A question that nobody took was surely not carried out.
void HttpCore::expire_question(HttpConnection& connection) {
  const std::uint64_t number = connection.exchange.number;
  const bool is_untaken =
      std::any_of(untaken_.begin(), untaken_.end(),
                  [number](const HttpQuestion& question) { return question.number == number; });
  ++stats_.late;
  give(connection, is_untaken ? busy_answer() : late_answer());
}

void HttpCore::look_at_reader(HttpConnection& connection, Instant now) {
  const std::shared_ptr<HttpStream>& stream = connection.exchange.stream;
  const std::uint64_t unsent = unsent_bytes(connection.fd);
  // Either changes as the client takes something: windows are filled, or the kernel's queue is
  // shorter.
  const std::uint64_t progress = connection.progress.load(std::memory_order_relaxed) * 31 + unsent;
  const bool waits_for_owner = stream != nullptr && stream->is_parked() && unsent == 0;
  const bool moved = std::exchange(connection.seen_progress, progress) != progress;
  connection.stalls = moved || waits_for_owner ? 0 : connection.stalls + 1;
  const bool is_gone = stream != nullptr && has_hung_up(connection.fd);
  if (is_gone) {
    return cut(connection);
  }
  if (connection.stalls < kReaderLooks && now < connection.exchange.answer_by) {
    connection.deadline = now + options_.deadlines.reader / kReaderLooks;
    return;
  }
  ++stats_.cut_readers;
  forget_unsent(connection.fd);
  cut(connection);
}

/// The descriptor is still this connection's: on_closed(), behind which the library closes it,
/// takes the same lock. The library sees the end of the socket and closes it.
void HttpCore::cut(HttpConnection& connection) {
  connection.phase = Phase::kCut;
  connection.deadline = kNever;
  shutdown(connection.fd, SHUT_RDWR);
  if (connection.exchange.stream != nullptr) {
    connection.exchange.stream->leave();
  }
}

}  // namespace muster::agent
