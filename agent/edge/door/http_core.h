#pragma once
// HttpCore is the state of an HttpServer between three sides: the library's thread, which tells it
// what happens to connections; the owner, who takes questions and answers; and the reaper, which
// closes connections that are late. One mutex guards all of it.
//
// Order of locks: that of a response of the library, HttpCore, HttpStream, the library's own.
// TlsChoice has one of its own, under which no other is taken.

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "agent/edge/door/address_limits.h"
#include "agent/edge/door/connection_crowd.h"
#include "agent/edge/door/http_server.h"
#include "agent/edge/door/tls_choice.h"
#include "agent/edge/door/tls_watch.h"

struct MHD_Connection;

namespace muster::agent {

/// From the first line of a request to the last byte of its answer.
struct HttpExchange {
  std::string target{};  ///< As it came.
  bool has_head = false;
  HttpRequest request{};
  std::optional<HttpAnswer> answer{};  ///< Or a refusal.
  std::shared_ptr<HttpStream> stream{};
  std::uint64_t number = 0;     ///< Of its question; 0 = none yet.
  std::size_t body_seen = 0;    ///< Bytes that came, kept or dropped.
  std::size_t body_held = 0;    ///< Bytes that count in HttpHoldings::bodies.
  std::size_t answer_held = 0;  ///< Bytes that count in HttpHoldings::answers.
  Instant answer_by = kNever;   ///< When the whole answer must be sent.
};

struct HttpConnection {
  enum class Phase : std::uint8_t {
    kHandshake,
    kHead,  ///< Of its first request, or behind the first line of a later one.
    kBody,
    kWaiting,  ///< Suspended: for the owner.
    kAnswering,
    kIdle,
    kCut,  ///< Shut down; the library will close it.
  };

  MHD_Connection* link = nullptr;
  int fd = -1;  ///< Owned by the library, which closes it behind on_closed().
  HttpPeer peer{};
  AddressLimits::Key key{};
  bool is_proven = false;
  Phase phase = Phase::kHead;
  Instant deadline = kNever;
  HttpExchange exchange{};
  TlsWatch tls{};
  std::atomic<std::uint64_t> progress{0};  ///< Of large answers, by the library's thread.
  std::uint64_t seen_progress = 0;         ///< At the reaper's last look.
  int stalls = 0;                          ///< Looks since it last moved.
};

/// The questions that have no answer.
struct OpenQuestions {
  std::map<std::uint64_t, HttpConnection*> waiting{};  ///< Suspended; by question.
  std::vector<HttpQuestion> untaken{};                 ///< Of these.
  std::uint64_t last_number = 0;
};

/// Bytes that all connections hold together.
struct HttpHoldings {
  std::size_t bodies = 0;               ///< Of requests that have no answer.
  std::size_t answers = 0;              ///< Of large answers under way.
  std::set<HttpConnection*> readers{};  ///< Of these answers.
};

class HttpCore {
 public:
  explicit HttpCore(HttpServerOptions options);
  ~HttpCore();
  HttpCore(const HttpCore&) = delete;
  HttpCore& operator=(const HttpCore&) = delete;

  /// As they were at the start.
  const HttpServerOptions& options() const { return options_; }

  // ---- the owner, as HttpServer says ----
  std::vector<HttpQuestion> take();
  int wake_fd() const { return wake_fd_; }
  void answer(std::uint64_t number, HttpAnswer answer, std::shared_ptr<HttpStream> stream);
  void proven(std::uint64_t number);
  Status set_tls(const HttpTls& tls, std::vector<std::string> names);
  HttpStats stats() const;

  // ---- the library's thread ----
  /// Whether a new connection may come from there.
  bool may_enter(const gossip::Endpoint& client);
  /// `client` is nullopt on a unix socket, `session` null without TLS. The connection lives until
  /// on_closed().
  HttpConnection* on_started(MHD_Connection* link, int fd,
                             const std::optional<gossip::Endpoint>& client, void* session);
  void on_closed(HttpConnection* connection);
  /// The first line of a request was read.
  void on_target(HttpConnection& connection, std::string_view target);
  /// Of the first line of a request.
  struct Line {
    const char* method;
    std::size_t target_size;  ///< Of the whole target, which on_target() may have seen cut off.
  };
  /// A call of the library's handler; `size` is set to 0 as bytes are taken. False: close it.
  bool on_call(HttpConnection& connection, const Line& line, const char* bytes, std::size_t* size);
  /// The request is over, with its answer or without.
  void on_completed(HttpConnection& connection);

  // ---- the end: first end(), then the library is stopped ----
  /// Lets go of all questions and streams, so that the library has no suspended connection.
  void end();

 private:
  void set_phase(HttpConnection& connection, HttpConnection::Phase phase, Duration limit);
  void on_handshaken(HttpConnection& connection);
  /// It has no request under way, and showed no proof. Makes room among those.
  void add_stranger(HttpConnection& connection);
  void on_head(HttpConnection& connection, const Line& line);
  bool on_body(HttpConnection& connection, std::string_view bytes);
  void refuse(HttpConnection& connection, HttpAnswer refusal);
  void ask(HttpConnection& connection);
  /// Makes room for an answer of that size, at the cost of readers that stand still. False: there
  /// is no room.
  bool hold_answer(HttpConnection& connection, std::size_t bytes);
  /// Sends the answer of the exchange; unlocks.
  bool send(HttpConnection& connection, std::unique_lock<std::mutex>& lock);
  void give(HttpConnection& connection, HttpAnswer answer);
  void end_exchange(HttpConnection& connection);
  /// How long it may be without a request.
  Duration idle_limit(const HttpConnection& connection) const;
  /// Makes room among answers that the kernel holds for their clients.
  void end_unread();
  void release_body(HttpExchange& exchange);
  void release_answer(HttpConnection& connection);
  void drop_untaken(std::uint64_t number);
  void reap();
  void expire(HttpConnection& connection, Instant now);
  void expire_idle(HttpConnection& connection, Instant now);
  void expire_question(HttpConnection& connection);
  void look_at_reader(HttpConnection& connection, Instant now);
  void cut_reader(HttpConnection& connection);
  void cut(HttpConnection& connection);

  HttpServerOptions options_;  ///< `browser` is guarded as what follows; the rest never changes.
  TlsChoice tls_;
  const int wake_fd_;
  mutable std::mutex mutex_;  ///< Guards what follows.
  std::map<HttpConnection*, std::unique_ptr<HttpConnection>> connections_;
  ConnectionCrowd strangers_;  ///< Without a proof, and without a request under way.
  ConnectionCrowd unread_;     ///< Idle; the kernel held a part of their last answer at its end.
  AddressLimits addresses_;
  OpenQuestions open_;
  HttpHoldings held_;
  HttpStats stats_;
  bool is_ending_ = false;
  Instant next_look_ = kNever;  ///< Of the reaper, who is woken for an earlier deadline.
  std::condition_variable reaper_wake_;
  std::thread reaper_;
};

}  // namespace muster::agent
