#include "agent/edge/door/tls_watch.h"

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace muster::agent {
namespace {

constexpr std::string_view kPlainHttpAnswer =
    "HTTP/1.1 400 Bad Request\r\n"
    "content-type: text/plain\r\n"
    "x-content-type-options: nosniff\r\n"
    "cache-control: no-store\r\n"
    "content-length: 57\r\n"
    "connection: close\r\n"
    "\r\n"
    "This port speaks HTTPS: ask again with https:// in front\n";

/// A request that fits here is read before the connection is closed. Unread bytes would make the
/// kernel reset it, and the client might lose the answer.
constexpr std::size_t kDrainedMax = 16 * 1024;

ssize_t pull(gnutls_transport_ptr_t watch, void* to, std::size_t size) {
  return static_cast<TlsWatch*>(watch)->read(to, size);
}

/// The session never waits: its socket does not block.
int pull_timeout(gnutls_transport_ptr_t watch, unsigned int) {
  return static_cast<TlsWatch*>(watch)->has_input() ? 1 : 0;
}

/// The client's Finished is its last message of a handshake. If it is wrong, the handshake fails
/// right behind this.
int on_finished_message(gnutls_session_t session, unsigned int, unsigned int, unsigned int incoming,
                        const gnutls_datum_t*) {
  gnutls_transport_ptr_t watch = nullptr;
  gnutls_transport_ptr_t socket = nullptr;
  gnutls_transport_get_ptr2(session, &watch, &socket);
  if (incoming != 0) {
    static_cast<TlsWatch*>(watch)->finished();
  }
  return 0;
}

/// The code of GnuTLS that says whether the key is that of the certificate.
int fit(gnutls_x509_crt_t certificate, gnutls_x509_privkey_t key) {
  std::array<unsigned char, 32> one{};
  std::array<unsigned char, 32> other{};
  std::size_t one_size = one.size();
  std::size_t other_size = other.size();
  const int code =
      gnutls_x509_crt_get_key_id(certificate, GNUTLS_KEYID_USE_SHA256, one.data(), &one_size);
  if (code < 0) {
    return code;
  }
  const int key_code =
      gnutls_x509_privkey_get_key_id(key, GNUTLS_KEYID_USE_SHA256, other.data(), &other_size);
  return key_code < 0   ? key_code
         : one == other ? GNUTLS_E_SUCCESS
                        : GNUTLS_E_CERTIFICATE_KEY_MISMATCH;
}

}  // namespace

void TlsWatch::watch(void* session, int fd, const TlsChoice& choice,
                     std::function<void()> on_handshaken) {
  fd_ = fd;
  choice_ = &choice;
  on_handshaken_ = std::move(on_handshaken);
  const auto tls = static_cast<gnutls_session_t>(session);
  // GnuTLS writes to a descriptor and reads through us.
  gnutls_transport_set_ptr2(
      tls, this, reinterpret_cast<gnutls_transport_ptr_t>(static_cast<std::intptr_t>(fd)));
  gnutls_transport_set_pull_function(tls, pull);
  gnutls_transport_set_pull_timeout_function(tls, pull_timeout);
  gnutls_handshake_set_hook_function(tls, GNUTLS_HANDSHAKE_FINISHED, GNUTLS_HOOK_PRE,
                                     on_finished_message);
}

long TlsWatch::read(void* to, unsigned long size) {
  const ssize_t count = recv(fd_, to, size, 0);
  if (count > 0 && !std::exchange(has_read_, true)) {
    // A record of TLS never begins with a letter, and a method of HTTP always does.
    const char first = *static_cast<const char*>(to);
    if (first >= 'A' && first <= 'Z') {
      answer_plain_http();
    }
  }
  return count;
}

bool TlsWatch::has_input() const {
  pollfd ready{fd_, POLLIN, 0};
  return poll(&ready, 1, 0) > 0;
}

void TlsWatch::finished() {
  if (on_handshaken_) {
    std::exchange(on_handshaken_, nullptr)();
  }
}

const TlsPair* TlsWatch::pair() {
  if (pair_ == nullptr) {
    pair_ = choice_->now();
  }
  return pair_.get();
}

void TlsWatch::answer_plain_http() const {
  std::array<char, kDrainedMax> rest{};
  [[maybe_unused]] const ssize_t drained = recv(fd_, rest.data(), rest.size(), MSG_DONTWAIT);
  // A new connection has room for it in the kernel; the rest of the handshake fails by itself.
  [[maybe_unused]] const ssize_t sent =
      send(fd_, kPlainHttpAnswer.data(), kPlainHttpAnswer.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

// gnutls_certificate_set_x509_key_mem() leaks the certificates of a pair that it refuses (3.7.9).
Status check_tls(const HttpTls& tls) {
  const auto datum = [](const std::string& text) {
    return gnutls_datum_t{reinterpret_cast<unsigned char*>(const_cast<char*>(text.data())),
                          static_cast<unsigned int>(text.size())};
  };
  const gnutls_datum_t text = datum(tls.certificates);
  const gnutls_datum_t key_text = datum(tls.key);
  gnutls_x509_crt_t* certificates = nullptr;
  unsigned int count = 0;
  gnutls_x509_privkey_t key = nullptr;
  int code = gnutls_x509_crt_list_import2(&certificates, &count, &text, GNUTLS_X509_FMT_PEM, 0);
  if (code >= 0) {
    code = gnutls_x509_privkey_init(&key);
  }
  if (code >= 0) {
    code = gnutls_x509_privkey_import2(key, &key_text, GNUTLS_X509_FMT_PEM, nullptr, 0);
  }
  if (code >= 0) {
    code = fit(certificates[0], key);
  }
  for (unsigned int i = 0; i < count; ++i) {
    gnutls_x509_crt_deinit(certificates[i]);
  }
  gnutls_free(certificates);
  if (key != nullptr) {
    gnutls_x509_privkey_deinit(key);
  }
  if (code < 0) {
    return Error{ErrorCode::kInvalid, std::string("cannot use the key and certificate of HTTPS: ") +
                                          gnutls_strerror(code) +
                                          "; give both in PEM, the own certificate first"};
  }
  return ok();
}

}  // namespace muster::agent
