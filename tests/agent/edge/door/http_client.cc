#include "tests/agent/edge/door/http_client.h"

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "gossip/base/check.h"

namespace muster::agent {
namespace {

/// Of the certificate, in seconds since 1970: nobody here looks at it.
constexpr std::int64_t kFarFuture = 4'102'444'800;

bool wait_for(int fd, short events, int wait_ms = kClientPatienceMs) {
  pollfd ready{fd, events, 0};
  return poll(&ready, 1, wait_ms) > 0;
}

std::size_t length_in(std::string_view head) {
  constexpr std::string_view kName = "content-length: ";
  std::string folded(head);
  for (char& letter : folded) {
    letter = letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  }
  const std::size_t at = folded.find(kName);
  std::size_t length = 0;
  if (at != std::string::npos) {
    std::from_chars(folded.data() + at + kName.size(), folded.data() + folded.size(), length);
  }
  return length;
}

}  // namespace

struct HttpClient::Session {
  gnutls_session_t tls = nullptr;
  gnutls_certificate_credentials_t credentials = nullptr;
};

HttpClient HttpClient::over_unix(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  CHECK(path.size() < sizeof address.sun_path);
  std::memcpy(address.sun_path, path.data(), path.size());
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  CHECK(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  return HttpClient(fd);
}

HttpClient HttpClient::over_tcp(std::uint16_t port, std::uint8_t source) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in own{};
  own.sin_family = AF_INET;
  own.sin_addr.s_addr = htonl((INADDR_LOOPBACK & ~std::uint32_t{0xff}) | source);
  CHECK(bind(fd, reinterpret_cast<sockaddr*>(&own), sizeof own) == 0);
  CHECK(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  return HttpClient(fd);
}

HttpClient::HttpClient(HttpClient&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      session_(std::exchange(other.session_, nullptr)),
      buffer_(std::move(other.buffer_)) {}

HttpClient::~HttpClient() {
  leave();
}

void HttpClient::leave() {
  if (session_ != nullptr) {
    gnutls_deinit(session_->tls);
    gnutls_certificate_free_credentials(session_->credentials);
    delete std::exchange(session_, nullptr);
  }
  if (fd_ >= 0) {
    close(std::exchange(fd_, -1));
  }
}

bool HttpClient::start_tls() {
  session_ = new Session;
  gnutls_certificate_allocate_credentials(&session_->credentials);
  gnutls_init(&session_->tls, GNUTLS_CLIENT | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL);
  gnutls_set_default_priority(session_->tls);
  gnutls_credentials_set(session_->tls, GNUTLS_CRD_CERTIFICATE, session_->credentials);
  gnutls_transport_set_int(session_->tls, fd_);
  int code = GNUTLS_E_AGAIN;
  while ((code = gnutls_handshake(session_->tls)) == GNUTLS_E_AGAIN ||
         code == GNUTLS_E_INTERRUPTED) {
    if (!wait_for(fd_, POLLIN)) {
      return false;
    }
  }
  return code == GNUTLS_E_SUCCESS;
}

std::string HttpClient::shown_certificate() const {
  unsigned int count = 0;
  const gnutls_datum_t* chain =
      session_ == nullptr ? nullptr : gnutls_certificate_get_peers(session_->tls, &count);
  return count == 0 ? "" : std::string(reinterpret_cast<const char*>(chain->data), chain->size);
}

bool HttpClient::send(std::string_view bytes) {
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t count =
        session_ == nullptr
            ? ::send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL)
            : gnutls_record_send(session_->tls, bytes.data() + sent, bytes.size() - sent);
    if (session_ != nullptr && (count == GNUTLS_E_AGAIN || count == GNUTLS_E_INTERRUPTED)) {
      wait_for(fd_, POLLOUT);
      continue;
    }
    if (count <= 0) {
      return false;
    }
    sent += static_cast<std::size_t>(count);
  }
  return true;
}

bool HttpClient::receive() {
  std::array<char, 64 * 1024> part{};
  while (true) {
    const bool is_buffered = session_ != nullptr && gnutls_record_check_pending(session_->tls) > 0;
    if (!is_buffered && !wait_for(fd_, POLLIN)) {
      ADD_FAILURE() << "nothing came in time";
      return false;
    }
    const ssize_t count = session_ == nullptr
                              ? recv(fd_, part.data(), part.size(), 0)
                              : gnutls_record_recv(session_->tls, part.data(), part.size());
    if (session_ != nullptr && (count == GNUTLS_E_AGAIN || count == GNUTLS_E_INTERRUPTED)) {
      continue;
    }
    if (count > 0) {
      buffer_.append(part.data(), static_cast<std::size_t>(count));
    }
    return count > 0;
  }
}

std::string HttpClient::until(std::string_view text) {
  while (buffer_.find(text) == std::string::npos) {
    if (!receive()) {
      return std::exchange(buffer_, "");
    }
  }
  const std::size_t end = buffer_.find(text) + text.size();
  std::string result = buffer_.substr(0, end);
  buffer_.erase(0, end);
  return result;
}

std::string HttpClient::answer() {
  std::string head = until("\r\n\r\n");
  const std::size_t length = length_in(head);
  while (buffer_.size() < length && receive()) {
  }
  const std::size_t taken = std::min(length, buffer_.size());
  head += buffer_.substr(0, taken);
  buffer_.erase(0, taken);
  return head;
}

bool HttpClient::is_closed() {
  std::array<char, 64 * 1024> part{};
  while (wait_for(fd_, POLLIN)) {
    if (recv(fd_, part.data(), part.size(), 0) <= 0) {
      return true;
    }
  }
  return false;
}

bool HttpClient::has_hung_up(int wait_ms) const {
  pollfd state{fd_, POLLRDHUP, 0};
  return poll(&state, 1, wait_ms) > 0;
}

HttpTls self_signed_tls() {
  gnutls_x509_privkey_t key = nullptr;
  gnutls_x509_crt_t certificate = nullptr;
  gnutls_x509_privkey_init(&key);
  gnutls_x509_crt_init(&certificate);
  const auto bits = static_cast<unsigned int>(GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1));
  CHECK(gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA, bits, 0) == GNUTLS_E_SUCCESS);
  const unsigned char serial = 1;
  constexpr std::string_view kName = "localhost";
  gnutls_x509_crt_set_version(certificate, 3);
  gnutls_x509_crt_set_serial(certificate, &serial, sizeof serial);
  gnutls_x509_crt_set_activation_time(certificate, 0);
  gnutls_x509_crt_set_expiration_time(certificate, kFarFuture);
  gnutls_x509_crt_set_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, 0, kName.data(),
                                static_cast<unsigned int>(kName.size()));
  gnutls_x509_crt_set_key(certificate, key);
  CHECK(gnutls_x509_crt_sign2(certificate, certificate, key, GNUTLS_DIG_SHA256, 0) ==
        GNUTLS_E_SUCCESS);
  gnutls_datum_t key_text{};
  gnutls_datum_t certificate_text{};
  CHECK(gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &key_text) == GNUTLS_E_SUCCESS);
  CHECK(gnutls_x509_crt_export2(certificate, GNUTLS_X509_FMT_PEM, &certificate_text) ==
        GNUTLS_E_SUCCESS);
  const auto text_of = [](const gnutls_datum_t& datum) {
    return std::string(reinterpret_cast<const char*>(datum.data), datum.size);
  };
  HttpTls tls{text_of(key_text), text_of(certificate_text)};
  gnutls_free(key_text.data);
  gnutls_free(certificate_text.data);
  gnutls_x509_crt_deinit(certificate);
  gnutls_x509_privkey_deinit(key);
  return tls;
}

}  // namespace muster::agent
