#pragma once
// HttpDoor is a fixture with a door, on a unix socket or on a TCP port, and clients of it.

#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/edge/door/http_server.h"
#include "gossip/base/check.h"
#include "tests/agent/edge/door/http_client.h"

namespace muster::agent {

inline constexpr char kGetJobs[] = "GET /v1/jobs HTTP/1.1\r\nhost: localhost\r\n\r\n";

class HttpDoor : public testing::Test {
 protected:
  HttpDoor() { CHECK(mkdtemp(folder_) != nullptr); }
  ~HttpDoor() override {
    server_.reset();
    unlink(path().c_str());
    rmdir(folder_);
  }

  std::string path() const { return std::string(folder_) + "/door"; }

  void start_on_unix(HttpServerOptions options = {}) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path().data(), path().size());
    options.unix_socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(bind(options.unix_socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    CHECK(listen(options.unix_socket, 64) == 0);
    start(std::move(options));
  }

  void start_on_tcp(HttpServerOptions options = {}) {
    options.endpoint = gossip::Endpoint::ipv4(127, 0, 0, 1, 0);
    options.tls = self_signed_tls();
    options.browser.names = {"localhost"};
    start(std::move(options));
  }

  HttpClient unix_client() const { return HttpClient::over_unix(path()); }
  /// From 127.0.0.`source`.
  HttpClient tcp_client(std::uint8_t source = 1) const {
    return HttpClient::over_tcp(server_->endpoint().port, source);
  }

  /// The next question; number 0 if there is no question in time.
  HttpQuestion question() {
    while (questions_.empty()) {
      pollfd ready{server_->wake_fd(), POLLIN, 0};
      if (poll(&ready, 1, kClientPatienceMs) <= 0) {
        ADD_FAILURE() << "no question came";
        return {};
      }
      for (HttpQuestion& question : server_->take()) {
        questions_.push_back(std::move(question));
      }
    }
    HttpQuestion first = std::move(questions_.front());
    questions_.pop_front();
    return first;
  }

  /// Looks each millisecond.
  template <class Condition>
  void wait_until(Condition condition) {
    for (int looks = 0; looks < kClientPatienceMs && !condition(server_->stats()); ++looks) {
      poll(nullptr, 0, 1);
    }
    EXPECT_TRUE(condition(server_->stats()));
  }

  std::unique_ptr<HttpServer> server_;

 private:
  void start(HttpServerOptions options) {
    auto started = HttpServer::start(std::move(options));
    ASSERT_TRUE(started.has_value()) << started.error().text;
    server_ = *std::move(started);
  }

  char folder_[32] = "/tmp/muster-door-XXXXXX";
  std::deque<HttpQuestion> questions_;
};

}  // namespace muster::agent
