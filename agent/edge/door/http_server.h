#pragma once
// HttpServer is the HTTP door on one listening socket: HTTPS on a TCP port, or plain HTTP on a unix
// socket, whose clients are known by their uid. It reads whole requests and hands them to its owner
// as questions; the owner answers by number, from any thread, in any order.
//
// Two threads work here: the library's own, which reads and writes, and the reaper, which closes
// connections that pass a deadline (HttpDeadlines). The library closes neither a client that never
// begins nor one that drips.
//
// The server itself refuses: a header or a body that is too large (431, 413), requests that
// browser_refusal() refuses, more questions than HttpLimits says (503). The library alone answers
// what it cannot parse (400, 414, 431), without our headers. All other answers have the headers
// that keep a browser from guessing, storing, framing and running.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/api/rest/http_message.h"
#include "agent/edge/door/http_options.h"
#include "agent/edge/door/http_stream.h"
#include "gossip/base/result.h"

namespace muster::agent {

struct HttpPeer {
  std::optional<std::uint32_t> uid{};  ///< Over a unix socket, as the kernel says it.
  std::string address{};               ///< Over TCP: "10.0.0.1", "fe80::1"; else "".
};

struct HttpQuestion {
  std::uint64_t number = 0;  ///< Never used twice.
  HttpRequest request{};
  HttpPeer peer{};
};

/// Since the start, but for those that say "now".
struct HttpStats {
  std::uint64_t connections_now = 0;
  std::uint64_t unproven_now = 0;
  std::uint64_t questions_now = 0;  ///< Taken or not, without an answer.
  std::uint64_t bodies_bytes_now = 0;
  std::uint64_t accepted = 0;
  std::uint64_t refused_address = 0;  ///< Its address had too many connections.
  std::uint64_t cut_silent = 0;       ///< Handshake or header too late, or too many of them.
  std::uint64_t cut_body = 0;
  std::uint64_t cut_readers = 0;
  std::uint64_t closed_idle = 0;
  std::uint64_t questions = 0;
  std::uint64_t refused_requests = 0;  ///< 400, 403, 413, 421, 431 of the server.
  std::uint64_t refused_busy = 0;      ///< 503 of the server.
  std::uint64_t late = 0;              ///< Questions that were not answered in time.
  std::uint64_t dropped_answers = 0;   ///< The question was over, or had an answer.
};

class HttpCore;

class HttpServer {
 public:
  /// kInvalid: no key and certificate that belong together, or not an address of this host.
  /// kConflict: the port is taken. kIo: the system refuses. An error leaves no socket open.
  static Result<std::unique_ptr<HttpServer>> start(HttpServerOptions options);
  /// Closes all connections, whatever they wait for. Streams are gone. The owner makes no other
  /// call meanwhile.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// Where it listens, with the real port; is_none() on a unix socket.
  gossip::Endpoint endpoint() const { return endpoint_; }

  // ---- thread safe; none blocks ----

  /// The new questions, in the order in which they came; at most HttpLimits::questions.
  std::vector<HttpQuestion> take();
  /// Readable while take() would return some.
  int wake_fd() const;
  /// Dropped and counted if the client is gone, or the question had an answer.
  void answer(std::uint64_t number, HttpAnswer answer);
  /// Sends status and header of `head`, then the bytes that are pushed to `stream`, until it ends.
  /// The body of `head` is not sent. The stream is_gone() at once if the question is over. Not for
  /// a HEAD.
  void answer_stream(std::uint64_t number, HttpAnswer head, std::shared_ptr<HttpStream> stream);
  /// The client of this question, which has no answer yet, showed a valid proof: its connection
  /// no longer counts as unproven.
  void proven(std::uint64_t number);
  /// Of a server of HTTPS: the handshakes that begin from now on show this certificate, and
  /// browsers may ask by these names (BrowserRules::names). Connections go on with the one before.
  /// kInvalid, kIo: as of start(); then nothing has changed.
  Status set_tls(const HttpTls& tls, std::vector<std::string> names);
  HttpStats stats() const;

 private:
  struct Library;

  HttpServer();

  gossip::Endpoint endpoint_{};
  std::unique_ptr<HttpCore> core_;
  std::unique_ptr<Library> library_;
};

}  // namespace muster::agent
