#pragma once
// TlsWatch sees two things of a TLS connection that the HTTP library does not tell: the end of its
// handshake, and that a client speaks HTTP to the TLS port, which gets a sentence that it can read.
// It also keeps the key and certificates of its handshake for as long as the session may use them.
// Also here: whether a key and a certificate are good.

#include <functional>
#include <memory>

#include "agent/edge/door/http_options.h"
#include "agent/edge/door/tls_choice.h"
#include "gossip/base/result.h"

namespace muster::agent {

class TlsWatch {
 public:
  TlsWatch() = default;
  TlsWatch(const TlsWatch&) = delete;
  TlsWatch& operator=(const TlsWatch&) = delete;

  /// `session`: a gnutls_session_t before its handshake, whose socket is `fd`. It reads through
  /// this object, which outlives it, as `choice` does. `on_handshaken` is called once, by the
  /// session's thread.
  void watch(void* session, int fd, const TlsChoice& choice, std::function<void()> on_handshaken);

  // ---- called by GnuTLS, through watch() ----
  long read(void* to, unsigned long size);
  bool has_input() const;
  void finished();
  /// The pair that was chosen when the handshake first asked; valid as long as this object.
  const TlsPair* pair();

 private:
  void answer_plain_http() const;

  int fd_ = -1;
  bool has_read_ = false;
  const TlsChoice* choice_ = nullptr;
  std::shared_ptr<const TlsPair> pair_;
  std::function<void()> on_handshaken_;
};

/// kInvalid: the key or the certificate cannot be read, or they do not belong together.
Status check_tls(const HttpTls& tls);

}  // namespace muster::agent
