// The door of HTTP from the settings of an agent: names, ports that are taken, sockets and
// certificates that come again.

#include "agent/edge/run/web_parts.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "agent/edge/event_log.h"
#include "gossip/edge/tcp_listener.h"
#include "tests/agent/edge/door/http_client.h"

namespace muster::agent {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;  // NOLINT: literals only.

constexpr char kGetVersion[] = "GET /v1/version HTTP/1.1\r\nhost: localhost\r\n\r\n";

class WebPartsTest : public testing::Test {
 protected:
  WebPartsTest() {
    std::string name = testing::TempDir() + "muster_web_XXXXXX";
    home_ = mkdtemp(name.data());
    EXPECT_TRUE(open_event_log(false, "info", log()));
    options_.name = "node1";
    options_.data_dir = home_;
    options_.listen = gossip::Endpoint::ipv4(127, 0, 0, 1, 7450);
    options_.web.https = gossip::Endpoint::ipv4(127, 0, 0, 1, 0);
    options_.web.is_asked_for = true;
  }
  ~WebPartsTest() override {
    door_.reset();
    parts_.reset();
    EXPECT_TRUE(open_event_log(false, "info", ""));
    fs::remove_all(home_);
  }

  std::string log() const { return home_ / "muster.log"; }
  std::string logged() const {
    std::ifstream file(log());
    return {std::istreambuf_iterator<char>(file), {}};
  }
  /// As the log says it.
  std::uint16_t https_port() const {
    constexpr std::string_view kAt = "at=127.0.0.1:";
    const std::string text = logged();
    const std::size_t at = text.rfind(kAt);
    return at == std::string::npos
               ? std::uint16_t{0}
               : static_cast<std::uint16_t>(std::stoi(text.substr(at + kAt.size())));
  }
  Status begin() {
    parts_ = std::make_unique<WebParts>(options_, "", std::nullopt);
    if (const Status prepared = parts_->prepare(); !prepared) {
      return prepared;
    }
    auto door = parts_->open(Rng(1));
    if (!door) {
      return door.error();
    }
    door_ = *std::move(door);
    return ok();
  }
  void turn() { parts_->turn(now_ += WebParts::kCertificatePeriod, *door_); }
  /// Whether a question came from that client's request.
  bool hears(HttpClient& client) {
    EXPECT_TRUE(client.send(kGetVersion));
    std::vector<pollfd> fds;
    for (const int fd : door_->fds()) {
      fds.push_back({fd, POLLIN, 0});
    }
    return poll(fds.data(), fds.size(), kClientPatienceMs) > 0 && !door_->take(now_).empty();
  }

  fs::path home_;
  RunOptions options_;
  Instant now_{1000s};
  std::unique_ptr<WebParts> parts_;
  std::unique_ptr<WebDoor> door_;
};

TEST_F(WebPartsTest, LoginsComeByTheSocketAndOthersNeedAToken) {
  ASSERT_TRUE(begin());
  EXPECT_EQ(door_->fds().size(), 2U);
  HttpClient login = HttpClient::over_unix(home_ / "http.sock");
  EXPECT_TRUE(hears(login));
  HttpClient stranger = HttpClient::over_tcp(https_port());
  ASSERT_TRUE(stranger.start_tls());
  EXPECT_FALSE(hears(stranger));
  EXPECT_EQ(stranger.answer().rfind("HTTP/1.1 401", 0), 0U);
}

TEST_F(WebPartsTest, WithoutHttpsTheSocketIsThere) {
  options_.web.https = std::nullopt;
  ASSERT_TRUE(begin());
  EXPECT_EQ(door_->fds().size(), 1U);
  turn();
  EXPECT_FALSE(fs::exists(home_ / "https"));
}

TEST_F(WebPartsTest, ATakenPortEndsTheStartOnlyIfItWasAskedFor) {
  gossip::TcpListener other;
  ASSERT_TRUE(other.open(gossip::Endpoint::ipv4(127, 0, 0, 1, 0)));
  options_.web.https = other.endpoint();
  const Status refused = begin();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
  options_.web.is_asked_for = false;
  ASSERT_TRUE(begin());
  EXPECT_EQ(door_->fds().size(), 1U);
  EXPECT_NE(logged().find("event=https_port_taken"), std::string::npos) << logged();
  turn();
  EXPECT_EQ(door_->fds().size(), 1U);
}

TEST_F(WebPartsTest, TheFilesOfASiteHaveToBeGoodWhateverTheAddress) {
  options_.web.is_asked_for = false;
  options_.web.certificate = home_ / "none.crt";
  options_.web.key = home_ / "none.key";
  const Status refused = begin();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kNotFound);
}

TEST_F(WebPartsTest, AnAuthorityOfItsOwnThatIsDamagedTakesHttpsAloneAway) {
  fs::create_directory(home_ / "https");
  std::ofstream(home_ / "https" / "authority.pem") << "damaged";
  fs::permissions(home_ / "https" / "authority.pem", fs::perms(0600));
  EXPECT_FALSE(begin());
  options_.web.is_asked_for = false;
  ASSERT_TRUE(begin());
  EXPECT_EQ(door_->fds().size(), 1U);
  EXPECT_NE(logged().find("event=https_off"), std::string::npos) << logged();
}

TEST_F(WebPartsTest, ARemovedSocketIsServedAgain) {
  ASSERT_TRUE(begin());
  fs::remove(home_ / "http.sock");
  turn();
  EXPECT_EQ(door_->fds().size(), 2U);
  EXPECT_NE(logged().find("event=socket_renewed"), std::string::npos) << logged();
  HttpClient login = HttpClient::over_unix(home_ / "http.sock");
  EXPECT_TRUE(hears(login));
}

TEST_F(WebPartsTest, ANewCertificateIsShownOnTheSamePort) {
  const auto write = [this](const HttpTls& tls) {
    std::ofstream(home_ / "site.crt") << tls.certificates;
    std::ofstream(home_ / "site.key") << tls.key;
    fs::permissions(home_ / "site.key", fs::perms(0600));
  };
  write(self_signed_tls());
  options_.web.certificate = home_ / "site.crt";
  options_.web.key = home_ / "site.key";
  ASSERT_TRUE(begin());
  const std::uint16_t port = https_port();
  HttpClient before = HttpClient::over_tcp(port);
  ASSERT_TRUE(before.start_tls());
  write(self_signed_tls());
  turn();
  EXPECT_NE(logged().find("event=https_certificate_taken"), std::string::npos) << logged();
  EXPECT_TRUE(before.is_closed());
  HttpClient after = HttpClient::over_tcp(port);
  EXPECT_TRUE(after.start_tls());
}

TEST_F(WebPartsTest, ADoorOfTheNextLifeIsOnTheSameSocket) {
  ASSERT_TRUE(begin());
  door_.reset();
  auto next = parts_->open(Rng(2));
  ASSERT_TRUE(next) << next.error().text;
  door_ = *std::move(next);
  HttpClient login = HttpClient::over_unix(home_ / "http.sock");
  EXPECT_TRUE(hears(login));
}

TEST(WebNames, AreThoseByWhichThisHostIsReached) {
  RunOptions options;
  options.name = "Node1";
  options.listen = gossip::Endpoint::ipv4(10, 0, 0, 1, 7450);
  options.web.https = gossip::Endpoint::ipv4(0, 0, 0, 0, 7449);
  EXPECT_EQ(web_names(options, "gpu1.example.com"),
            (HostNames{{"gpu1", "gpu1.example.com", "localhost", "node1"},
                       {"10.0.0.1", "127.0.0.1", "::1"}}));
  options.name = std::string(64, 'a');  // Too long for a label.
  options.web.https = gossip::Endpoint::ipv4(10, 0, 0, 2, 7449);
  EXPECT_EQ(web_names(options, ""),
            (HostNames{{"localhost"}, {"10.0.0.1", "10.0.0.2", "127.0.0.1", "::1"}}));
}

TEST(WebNames, OfACertificateCountForBrowsers) {
  const HostNames own{{"localhost", "node1"}, {"127.0.0.1"}};
  const HostNames site{{"*.example.com", "muster.example.org"}, {"10.0.0.9"}};
  EXPECT_EQ(browser_names(own, site),
            (std::vector<std::string>{"10.0.0.9", "127.0.0.1", "localhost", "localhost.example.com",
                                      "muster.example.org", "node1", "node1.example.com"}));
}

}  // namespace
}  // namespace muster::agent
