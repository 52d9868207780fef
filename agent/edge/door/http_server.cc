#include "agent/edge/door/http_server.h"

#include <fcntl.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "agent/edge/door/http_core.h"
#include "agent/edge/door/tls_choice.h"
#include "gossip/edge/kernel_address.h"
#include "gossip/edge/tcp_listener.h"
#include "gossip/ssh/ssh_private_key.h"

namespace muster::agent {
namespace {

/// Memory of a connection for its header, as text and parsed. A header of head_bytes fits.
constexpr std::size_t kHeadMemoryFactor = 2;
/// Above 32 KiB the library maps pages for it. A connection with TLS then costs the pages that it
/// touches, 18 KB in all, and they go back when it ends. A smaller piece comes from the heap, where
/// a connection cost 38 KB, and the process kept them.
constexpr std::size_t kHeadMemoryMin = 36 * 1024;

constexpr char kTlsVersions[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:%SERVER_PRECEDENCE";

HttpCore& core_of(void* self) {
  return *static_cast<HttpCore*>(self);
}

std::optional<gossip::Endpoint> endpoint_of_client(const sockaddr* address) {
  sockaddr_storage storage{};
  if (address->sa_family == AF_INET) {
    std::memcpy(&storage, address, sizeof(sockaddr_in));
  } else if (address->sa_family == AF_INET6) {
    std::memcpy(&storage, address, sizeof(sockaddr_in6));
  }
  return gossip::endpoint_of(storage);
}

// ---- called by the library, in its thread ----

MHD_Result on_accepted(void* self, const sockaddr* address, socklen_t) {
  const auto client = endpoint_of_client(address);
  return !client.has_value() || core_of(self).may_enter(*client) ? MHD_YES : MHD_NO;
}

void on_connection(void* self, MHD_Connection* link, void** own,
                   MHD_ConnectionNotificationCode code) {
  if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
    core_of(self).on_closed(static_cast<HttpConnection*>(*own));
    return;
  }
  const int fd = MHD_get_connection_info(link, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
  const sockaddr* address =
      MHD_get_connection_info(link, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
  const MHD_ConnectionInfo* tls = MHD_get_connection_info(link, MHD_CONNECTION_INFO_GNUTLS_SESSION);
  *own = core_of(self).on_started(link, fd, endpoint_of_client(address),
                                  tls == nullptr ? nullptr : tls->tls_session);
}

HttpConnection& connection_of(MHD_Connection* link) {
  return *static_cast<HttpConnection*>(
      MHD_get_connection_info(link, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context);
}

void* on_first_line(void* self, const char* target, MHD_Connection* link) {
  core_of(self).on_target(connection_of(link), target == nullptr ? "" : target);
  return nullptr;
}

/// Of the target as it came. The library shows it up to its first zero byte; in its memory the path
/// lies where the target began, and one blank behind the target the version.
std::size_t target_size(const char* path, const char* version) {
  return reinterpret_cast<std::uintptr_t>(version) - reinterpret_cast<std::uintptr_t>(path) - 1;
}

MHD_Result on_request(void* self, MHD_Connection* link, const char* path, const char* method,
                      const char* version, const char* bytes, std::size_t* size, void**) {
  const HttpCore::Line line{method, target_size(path, version)};
  return core_of(self).on_call(connection_of(link), line, bytes, size) ? MHD_YES : MHD_NO;
}

void on_request_over(void* self, MHD_Connection* link, void**, MHD_RequestTerminationCode) {
  core_of(self).on_completed(connection_of(link));
}

template <class Function>
std::intptr_t as_value(Function* function) {
  return reinterpret_cast<std::intptr_t>(function);
}

MHD_Daemon* start_library(HttpCore& core, int listening) {
  const HttpServerOptions& options = core.options();
  const bool is_https = options.endpoint.has_value();
  const auto memory = static_cast<std::intptr_t>(
      std::max(options.limits.head_bytes * kHeadMemoryFactor, kHeadMemoryMin));
  const auto most = static_cast<std::intptr_t>(options.limits.connections);
  std::vector<MHD_OptionItem> items = {
      {MHD_OPTION_LISTEN_SOCKET, listening, nullptr},
      {MHD_OPTION_CONNECTION_LIMIT, most, nullptr},
      {MHD_OPTION_CONNECTION_MEMORY_LIMIT, memory, nullptr},
      {MHD_OPTION_STRICT_FOR_CLIENT, 1, nullptr},
      {MHD_OPTION_NOTIFY_CONNECTION, as_value(on_connection), &core},
      {MHD_OPTION_NOTIFY_COMPLETED, as_value(on_request_over), &core},
      {MHD_OPTION_URI_LOG_CALLBACK, as_value(on_first_line), &core},
  };
  if (is_https) {
    items.push_back({MHD_OPTION_HTTPS_CERT_CALLBACK, 0, TlsChoice::callback()});
    items.push_back({MHD_OPTION_HTTPS_PRIORITIES, 0, const_cast<char*>(kTlsVersions)});
  }
  items.push_back({MHD_OPTION_END, 0, nullptr});
  // Not epoll: see the traps in README.md.
  unsigned int flags = static_cast<unsigned int>(MHD_USE_POLL_INTERNAL_THREAD) |
                       static_cast<unsigned int>(MHD_ALLOW_SUSPEND_RESUME);
  if (is_https) {
    flags |= static_cast<unsigned int>(MHD_USE_TLS);
  }
  return MHD_start_daemon(flags, 0, on_accepted, &core, on_request, &core, MHD_OPTION_ARRAY,
                          items.data(), MHD_OPTION_END);
}

Error listen_refusal(const Error& error, const gossip::Endpoint& at) {
  switch (error.code) {
    case ErrorCode::kConflict:
      return {error.code, "port " + std::to_string(at.port) + " on " + at.ip_text() +
                              " is in use: stop the program that holds it, or choose another port "
                              "for HTTPS (0 = any)"};
    case ErrorCode::kInvalid:
      return {error.code,
              at.ip_text() + " is not an address of this host: choose one of its own for HTTPS"};
    case ErrorCode::kNotFound:
    case ErrorCode::kCorrupt:
    case ErrorCode::kIo:
    case ErrorCode::kUnavailable:
    case ErrorCode::kUnknown:
    case ErrorCode::kImpossible:
    case ErrorCode::kDenied:
      return error;
  }
  return error;
}

bool has_tls(const HttpTls& tls) {
  return !tls.key.empty() || !tls.certificates.empty();
}

/// Closes on destruction.
struct OwnedSocket {
  explicit OwnedSocket(int number) : fd(number) {}
  ~OwnedSocket() {
    if (fd >= 0) {
      close(fd);
    }
  }
  OwnedSocket(const OwnedSocket&) = delete;
  OwnedSocket& operator=(const OwnedSocket&) = delete;
  int fd;
};

}  // namespace

struct HttpServer::Library {
  MHD_Daemon* daemon = nullptr;
};

HttpServer::HttpServer() : library_(std::make_unique<Library>()) {}

Result<std::unique_ptr<HttpServer>> HttpServer::start(HttpServerOptions options) {
  const OwnedSocket given(options.unix_socket);
  gossip::TcpListener listener;
  int listening = -1;
  if (options.endpoint.has_value()) {
    if (const Status good = has_tls(options.tls) ? check_tls(options.tls) : ok(); !good) {
      return good.error();
    }
    if (const Status open = listener.open(*options.endpoint); !open) {
      return listen_refusal(open.error(), *options.endpoint);
    }
    listening = listener.copy();
  } else {
    // No browser reaches a unix socket.
    options.browser.may_be_any_name = true;
    listening = fcntl(given.fd, F_DUPFD_CLOEXEC, 0);
  }
  if (listening < 0) {
    return Error{ErrorCode::kIo,
                 "cannot open a socket for HTTP: " + std::string(std::strerror(errno)) +
                     "; raise the limit of open files"};
  }
  std::unique_ptr<HttpServer> server(new HttpServer);
  server->endpoint_ = listener.endpoint();
  HttpTls tls = std::exchange(options.tls, {});
  std::vector<std::string> names = options.browser.names;
  server->core_ = std::make_unique<HttpCore>(std::move(options));
  const Status taken = has_tls(tls) ? server->core_->set_tls(tls, std::move(names)) : ok();
  gossip::wipe(tls.key);
  if (!taken) {
    close(listening);
    return taken.error();
  }
  // From here on the library owns `listening`. It needs a socket that does not block, and sees to
  // that itself.
  server->library_->daemon = start_library(*server->core_, listening);
  if (server->library_->daemon == nullptr) {
    return Error{ErrorCode::kIo,
                 "cannot start the HTTP server: the system refuses a thread or a descriptor; "
                 "raise the limits of open files and processes"};
  }
  return server;
}

HttpServer::~HttpServer() {
  if (core_ != nullptr) {
    core_->end();
  }
  if (library_->daemon != nullptr) {
    MHD_stop_daemon(library_->daemon);
  }
}

std::vector<HttpQuestion> HttpServer::take() {
  return core_->take();
}

int HttpServer::wake_fd() const {
  return core_->wake_fd();
}

void HttpServer::answer(std::uint64_t number, HttpAnswer answer) {
  core_->answer(number, std::move(answer), nullptr);
}

void HttpServer::answer_stream(std::uint64_t number, HttpAnswer head,
                               std::shared_ptr<HttpStream> stream) {
  core_->answer(number, std::move(head), std::move(stream));
}

void HttpServer::proven(std::uint64_t number) {
  core_->proven(number);
}

Status HttpServer::set_tls(const HttpTls& tls, std::vector<std::string> names) {
  return core_->set_tls(tls, std::move(names));
}

HttpStats HttpServer::stats() const {
  return core_->stats();
}

}  // namespace muster::agent
