#pragma once
// HttpServerOptions says where an HttpServer listens, whom it answers, and how much and how long a
// client may take. The limits and deadlines have their defaults here; tests shorten them.

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "agent/api/rest/browser_gate.h"
#include "gossip/base/time.h"
#include "gossip/wire/endpoint.h"

namespace muster::agent {

/// Both in PEM; the own certificate first, those that lead to the authority behind it.
struct HttpTls {
  std::string key;
  std::string certificates;
};

/// A connection that passes one is closed, but for `question`, which is answered.
struct HttpDeadlines {
  Duration handshake = std::chrono::seconds(3);
  Duration head = std::chrono::seconds(5);       ///< From the handshake to the end of the header.
  Duration body = std::chrono::seconds(30);      ///< From there to the end of the body.
  Duration question = std::chrono::seconds(10);  ///< Until the owner answers; then 504.
  Duration reader = std::chrono::seconds(30);  ///< In which the reader of an answer takes nothing.
  /// An answer that its client did not confirm for less is not dropped to make room: there are
  /// clients on the other side of the world.
  Duration confirmed = std::chrono::seconds(2);
  Duration answer = std::chrono::minutes(10);  ///< For a whole answer; streams have none.
  /// Between an answer and the next request; without a proof no longer than `head`.
  Duration idle = std::chrono::seconds(60);
};

struct HttpLimits {
  std::size_t connections = 8'192;        ///< More wait in the kernel.
  std::size_t per_address = 256;          ///< More are closed at once.
  std::size_t unproven_per_address = 64;  ///< Of these, without a proof so far.
  /// Connections without a proof and without a request under way; a further one ends the oldest of
  /// the address that has the most of them.
  std::size_t strangers = 768;
  std::size_t head_bytes = 16 * 1024;    ///< 431 beyond.
  std::size_t body_bytes = 1024 * 1024;  ///< 413 beyond.
  std::size_t bodies_bytes = 64 << 20;   ///< Of all requests that are not answered; then 503.
  /// Of all large answers that are not sent; then readers that stand still are cut, and without
  /// such a reader, 503.
  std::size_t answers_bytes = 16 << 20;
  /// Answers that the kernel holds as a whole for clients that do not read them; then the oldest of
  /// the address that has the most of them is dropped, with its connection.
  std::size_t unread = 256;
  std::size_t questions = 256;  ///< That wait for an answer; then 503.
};

struct HttpServerOptions {
  /// HTTPS here, with `tls`; port 0 = any free one.
  std::optional<gossip::Endpoint> endpoint{};
  /// Both empty = not known yet: handshakes fail until HttpServer::set_tls().
  HttpTls tls{};
  /// Or plain HTTP on this listening unix socket, which start() closes or the server owns. The
  /// kernel's uid is the proof, so each connection counts as proven.
  int unix_socket = -1;
  BrowserRules browser{};
  HttpDeadlines deadlines{};
  HttpLimits limits{};
};

}  // namespace muster::agent
