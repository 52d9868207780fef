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
constexpr int kReaderLooks = 15;
/// A larger answer counts in HttpLimits::answers_bytes.
constexpr std::size_t kLargeAnswer = 32 * 1024;
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
  return std::exchange(open_.untaken, {});
}

void HttpCore::answer(std::uint64_t number, HttpAnswer answer, std::shared_ptr<HttpStream> stream) {
  const std::lock_guard lock(mutex_);
  const auto found = open_.waiting.find(number);
  if (found == open_.waiting.end()) {
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
  open_.waiting.erase(connection.exchange.number);
  connection.exchange.answer = std::move(answer);
  connection.deadline = kNever;
  MHD_resume_connection(connection.link);
}

void HttpCore::drop_untaken(std::uint64_t number) {
  std::erase_if(open_.untaken,
                [number](const HttpQuestion& question) { return question.number == number; });
}

void HttpCore::proven(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  const auto found = open_.waiting.find(number);
  if (found != open_.waiting.end() && !std::exchange(found->second->is_proven, true)) {
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
  stats.questions_now = open_.waiting.size();
  stats.bodies_bytes_now = held_.bodies;
  return stats;
}

void HttpCore::end() {
  const std::lock_guard lock(mutex_);
  is_ending_ = true;
  for (const auto& [number, connection] : open_.waiting) {
    MHD_resume_connection(connection->link);
  }
  open_.waiting.clear();
  open_.untaken.clear();
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
    // Also for what the kernel holds behind the end of the connection.
    const auto unread_ms = static_cast<unsigned int>(to_ms(options_.deadlines.reader));
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unread_ms, sizeof unread_ms);
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
  add_stranger(connection);
  return &connection;
}

void HttpCore::add_stranger(HttpConnection& connection) {
  if (connection.is_proven || connection.phase == Phase::kCut) {
    return;
  }
  strangers_.remove(connection);  // Its request ended without an answer.
  strangers_.add(connection, connection.key, boot_now());
  if (strangers_.size() > options_.limits.strangers) {
    ++stats_.cut_silent;
    cut(*strangers_.first_to_go().connection);
  }
}

void HttpCore::on_closed(HttpConnection* connection) {
  const std::lock_guard lock(mutex_);
  end_exchange(*connection);
  strangers_.remove(*connection);
  unread_.remove(*connection);
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
  unread_.remove(connection);
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
  } else if (held_.bodies + bytes.size() > limits.bodies_bytes) {
    refuse(connection, busy_answer());
  } else {
    exchange.request.body.append(bytes);
    exchange.body_held += bytes.size();
    held_.bodies += bytes.size();
  }
  return true;
}

/// The whole request is there.
void HttpCore::ask(HttpConnection& connection) {
  HttpExchange& exchange = connection.exchange;
  if (connection.phase == Phase::kBody && open_.waiting.size() >= options_.limits.questions) {
    refuse(connection, busy_answer());
    return;
  }
  // Suspended before anybody can answer, or the answer would resume a connection that is not.
  MHD_suspend_connection(connection.link);
  if (connection.phase != Phase::kBody) {
    return;
  }
  strangers_.remove(connection);
  exchange.number = ++open_.last_number;
  open_.waiting.emplace(exchange.number, &connection);
  ++stats_.questions;
  set_phase(connection, Phase::kWaiting, options_.deadlines.question);
  open_.untaken.push_back({exchange.number, std::exchange(exchange.request, {}), connection.peer});
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
  strangers_.remove(connection);
  if (!hold_answer(connection, answer.body.size())) {
    ++stats_.refused_busy;
    answer = busy_answer();
  }
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

bool HttpCore::hold_answer(HttpConnection& connection, std::size_t bytes) {
  if (bytes <= kLargeAnswer) {
    return true;
  }
  const std::size_t most = options_.limits.answers_bytes;
  while (held_.answers + bytes > most && !held_.readers.empty()) {
    HttpConnection& slowest =
        **std::max_element(held_.readers.begin(), held_.readers.end(),
                           [](const HttpConnection* one, const HttpConnection* other) {
                             return one->stalls < other->stalls;
                           });
    if (slowest.stalls == 0) {
      return false;
    }
    cut_reader(slowest);
  }
  connection.exchange.answer_held = bytes;
  held_.answers += bytes;
  held_.readers.insert(&connection);
  return true;
}

void HttpCore::on_completed(HttpConnection& connection) {
  const std::lock_guard lock(mutex_);
  end_exchange(connection);
  // A small answer is the kernel's at once, whether the client reads it or not.
  const HttpDeadlines& deadlines = options_.deadlines;
  const bool is_unread = unsent_bytes(connection.fd) > 0 && deadlines.reader < deadlines.idle;
  set_phase(connection, Phase::kIdle, is_unread ? deadlines.reader : idle_limit(connection));
  add_stranger(connection);
  if (is_unread && connection.phase == Phase::kIdle) {
    unread_.remove(connection);
    unread_.add(connection, connection.key, boot_now());
    end_unread();
  }
}

Duration HttpCore::idle_limit(const HttpConnection& connection) const {
  const HttpDeadlines& deadlines = options_.deadlines;
  return connection.is_proven ? deadlines.idle : std::min(deadlines.idle, deadlines.head);
}

void HttpCore::end_unread() {
  while (unread_.size() > options_.limits.unread) {
    const auto [oldest, since] = unread_.first_to_go();
    if (unsent_bytes(oldest->fd) == 0) {
      unread_.remove(*oldest);
      oldest->deadline +=
          std::max<Duration>(Duration(0), idle_limit(*oldest) - options_.deadlines.reader);
    } else if (boot_now() - since < options_.deadlines.confirmed) {
      return;  // Room is made as the next answer comes to its end.
    } else {
      cut_reader(*oldest);
    }
  }
}

void HttpCore::end_exchange(HttpConnection& connection) {
  HttpExchange& exchange = connection.exchange;
  release_body(exchange);
  release_answer(connection);
  open_.waiting.erase(exchange.number);
  drop_untaken(exchange.number);
  if (exchange.stream != nullptr) {
    exchange.stream->leave();
  }
  exchange = {};
}

void HttpCore::release_body(HttpExchange& exchange) {
  held_.bodies -= std::exchange(exchange.body_held, 0);
}

void HttpCore::release_answer(HttpConnection& connection) {
  held_.answers -= std::exchange(connection.exchange.answer_held, 0);
  held_.readers.erase(&connection);
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
  const bool was_unread = unread_.remove(connection);
  if (unsent_bytes(connection.fd) > 0) {
    return cut_reader(connection);
  }
  const Duration rest = idle_limit(connection) - options_.deadlines.reader;
  if (was_unread && rest > Duration(0)) {
    connection.deadline = now + rest;
    return;
  }
  ++stats_.closed_idle;
  cut(connection);
}

/// A question that nobody took was surely not carried out.
void HttpCore::expire_question(HttpConnection& connection) {
  const std::uint64_t number = connection.exchange.number;
  const bool is_untaken =
      std::any_of(open_.untaken.begin(), open_.untaken.end(),
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
  cut_reader(connection);
}

void HttpCore::cut_reader(HttpConnection& connection) {
  ++stats_.cut_readers;
  forget_unsent(connection.fd);
  cut(connection);
}

/// The descriptor is still this connection's: on_closed(), behind which the library closes it,
/// takes the same lock. The library sees the end of the socket and closes it.
void HttpCore::cut(HttpConnection& connection) {
  connection.phase = Phase::kCut;
  strangers_.remove(connection);
  unread_.remove(connection);
  release_answer(connection);
  connection.deadline = kNever;
  shutdown(connection.fd, SHUT_RDWR);
  if (connection.exchange.stream != nullptr) {
    connection.exchange.stream->leave();
  }
}

}  // namespace muster::agent
