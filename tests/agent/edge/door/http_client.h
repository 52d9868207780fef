#pragma once
// HttpClient is one connection to a door, as a test drives it byte by byte: over TCP, TLS or a unix
// socket. Each call waits at most kClientPatienceMs. Certificates for tests are made here, too.

#include <cstdint>
#include <string>
#include <string_view>

#include "agent/edge/door/http_options.h"

namespace muster::agent {

inline constexpr int kClientPatienceMs = 20'000;

class HttpClient {
 public:
  static HttpClient over_unix(const std::string& path);
  static HttpClient over_tcp(std::uint16_t port, std::uint8_t source = 1);
  HttpClient(HttpClient&& other) noexcept;
  HttpClient& operator=(HttpClient&&) = delete;
  ~HttpClient();

  /// The handshake. False if it fails.
  bool start_tls();
  /// The first certificate that the server showed, in DER; "" without TLS.
  std::string shown_certificate() const;
  /// False if the peer closed.
  bool send(std::string_view bytes);
  /// Header and body of one answer, by its content-length; or all up to the end.
  std::string answer();
  /// Bytes until `text` is among them, with those before; or all up to the end.
  std::string until(std::string_view text);
  /// Reads and drops until the peer closes; false if it does not.
  bool is_closed();
  /// The peer closed within `wait_ms`; reads no bytes.
  bool has_hung_up(int wait_ms) const;
  void leave();
  int fd() const { return fd_; }

 private:
  explicit HttpClient(int fd) : fd_(fd) {}
  /// Appends what comes; false at the end.
  bool receive();

  int fd_ = -1;
  struct Session;
  Session* session_ = nullptr;  ///< Owned; null without TLS.
  std::string buffer_;
};

/// A new P-256 key, and a certificate of it for "localhost" that signs itself.
HttpTls self_signed_tls();

}  // namespace muster::agent
