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
#include "agent/edge/run/derived_signer.h"
#include "gossip/edge/boot_clock.h"
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
  /// As a voter of this secret does. False if nothing was asked for.
  bool certify(std::uint64_t authority = 1, const std::string& secret = "a secret of 16 bytes",
               Duration ago = {}) {
    const auto wish = parts_->wish(now_ += WebParts::kAskAgainPeriod, authority);
    if (!wish.has_value()) {
      return false;
    }
    const HttpSigner::Authority of{secret, "lab"};
    const auto certificates = signer_.certify(of, *wish, (unix_now_ms() - to_ms(ago)) / 1000);
    EXPECT_TRUE(certificates) << certificates.error().text;
    parts_->take({{*certificates, *signer_.root(of), authority}, ""});
    return true;
  }
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
  DerivedSigner signer_{"example.com"};
  Instant now_{1000s};
  std::unique_ptr<WebParts> parts_;
  std::unique_ptr<WebDoor> door_;
};

TEST_F(WebPartsTest, LoginsComeByTheSocketAndOthersNeedAToken) {
  ASSERT_TRUE(begin());
  EXPECT_EQ(door_->stats().size(), 2U);
  HttpClient login = HttpClient::over_unix(home_ / "http.sock");
  EXPECT_TRUE(hears(login));
  ASSERT_TRUE(certify());
  HttpClient stranger = HttpClient::over_tcp(https_port());
  ASSERT_TRUE(stranger.start_tls());
  EXPECT_FALSE(hears(stranger));
  EXPECT_EQ(stranger.answer().rfind("HTTP/1.1 401", 0), 0U);
}

TEST_F(WebPartsTest, WithoutHttpsTheSocketIsThere) {
  options_.web.https = std::nullopt;
  ASSERT_TRUE(begin());
  EXPECT_EQ(door_->stats().size(), 1U);
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
  EXPECT_EQ(door_->stats().size(), 1U);
  EXPECT_NE(logged().find("event=https_port_taken"), std::string::npos) << logged();
  turn();
  EXPECT_EQ(door_->stats().size(), 1U);
}

TEST_F(WebPartsTest, TheFilesOfASiteHaveToBeGoodWhateverTheAddress) {
  options_.web.is_asked_for = false;
  options_.web.certificate = home_ / "none.crt";
  options_.web.key = home_ / "none.key";
  const Status refused = begin();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kNotFound);
}

TEST_F(WebPartsTest, HttpsBeginsWhenAVoterHasSigned) {
  ASSERT_TRUE(begin());
  EXPECT_EQ(parts_->http_root(), "");
  HttpClient early = HttpClient::over_tcp(https_port());
  EXPECT_FALSE(early.start_tls());
  ASSERT_TRUE(certify());
  EXPECT_NE(logged().find("event=https_certificate_taken"), std::string::npos) << logged();
  HttpClient later = HttpClient::over_tcp(https_port());
  EXPECT_TRUE(later.start_tls());
  EXPECT_NE(parts_->http_root(), "");
  EXPECT_FALSE(certify()) << "it is good for sixty days";
}

TEST_F(WebPartsTest, AnotherAuthorityGivesAnotherCertificateAndCutsNoConnection) {
  ASSERT_TRUE(begin());
  ASSERT_TRUE(certify());
  HttpClient kept = HttpClient::over_tcp(https_port());
  ASSERT_TRUE(kept.start_tls());
  const std::string root = parts_->http_root();
  ASSERT_TRUE(certify(2, "another secret of the cluster"));
  EXPECT_NE(parts_->http_root(), root);
  EXPECT_FALSE(kept.has_hung_up(0));
  HttpClient later = HttpClient::over_tcp(https_port());
  ASSERT_TRUE(later.start_tls());
  EXPECT_NE(later.shown_certificate(), kept.shown_certificate());
}

TEST_F(WebPartsTest, AReasonOfAVoterIsLoggedOnceAndAskedAgain) {
  ASSERT_TRUE(begin());
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(parts_->wish(now_ += WebParts::kAskPeriod, 1).has_value());
    parts_->take({{}, "no secret"});
  }
  const std::string text = logged();
  const std::size_t first = text.find("event=https_certificate_refused");
  ASSERT_NE(first, std::string::npos) << text;
  EXPECT_EQ(text.find("event=https_certificate_refused", first + 1), std::string::npos) << text;
  EXPECT_FALSE(parts_->wish(now_, 1).has_value()) << "it does not ask twice at once";
}

TEST_F(WebPartsTest, TheEndOfTheCertificateIsToldOnce) {
  ASSERT_TRUE(begin());
  EXPECT_EQ(parts_->certificate_ends(), 0);
  ASSERT_TRUE(certify());
  turn();
  EXPECT_GT(parts_->certificate_ends(), unix_now_ms() / 1000);
  EXPECT_EQ(logged().find("https_certificate_ended"), std::string::npos);
  ASSERT_TRUE(certify(2, "another secret of the cluster", std::chrono::hours(100 * 24)));
  EXPECT_LT(parts_->certificate_ends(), unix_now_ms() / 1000);
  turn();
  turn();
  const std::string text = logged();
  const std::size_t first = text.find("event=https_certificate_ended");
  ASSERT_NE(first, std::string::npos) << text;
  EXPECT_EQ(text.find("event=https_certificate_ended", first + 1), std::string::npos) << text;
}

TEST_F(WebPartsTest, ARemovedSocketIsServedAgain) {
  ASSERT_TRUE(begin());
  fs::remove(home_ / "http.sock");
  turn();
  EXPECT_EQ(door_->stats().size(), 2U);
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
  EXPECT_FALSE(before.has_hung_up(0));
  HttpClient after = HttpClient::over_tcp(port);
  ASSERT_TRUE(after.start_tls());
  EXPECT_NE(after.shown_certificate(), before.shown_certificate());
  EXPECT_FALSE(certify()) << "a site has its own";
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

TEST_F(WebPartsTest, TheDoorCountsByServer) {
  ASSERT_TRUE(begin());
  EXPECT_EQ(parts_->https().port, https_port());
  HttpClient login = HttpClient::over_unix(home_ / "http.sock");
  EXPECT_TRUE(hears(login));
  const std::vector<DoorStats> all = door_->stats();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_FALSE(all[0].is_https);
  EXPECT_EQ(all[0].stats.questions, 1U);
  EXPECT_TRUE(all[1].is_https);
  EXPECT_EQ(all[1].stats.questions, 0U);
}

TEST(HttpsPlace, IsWhereOtherHostsReachIt) {
  using gossip::Endpoint;
  const Endpoint control = Endpoint::ipv4(10, 0, 0, 7, 7450);
  const Endpoint six = *Endpoint::parse("[fd00::7]:7450", 0);
  struct Case {
    std::string listens;
    Endpoint control;
    std::string place;
  };
  for (const Case& each : std::vector<Case>{{"10.0.0.9:7449", control, "10.0.0.9:7449"},
                                            {"0.0.0.0:7449", control, "10.0.0.7:7449"},
                                            {"[::]:7449", control, "10.0.0.7:7449"},
                                            {"[::]:7449", six, "[fd00::7]:7449"},
                                            {"0.0.0.0:7449", six, ""},
                                            {"127.0.0.1:7449", control, ""}}) {
    const Endpoint place = https_place(*Endpoint::parse(each.listens, 0), each.control);
    EXPECT_EQ(place.is_none() ? "" : place.text(), each.place) << each.listens;
  }
  const Endpoint local = Endpoint::ipv4(127, 0, 0, 1, 7450);
  EXPECT_EQ(https_place(Endpoint::ipv4(127, 0, 0, 1, 9), local).text(), "127.0.0.1:9");
  EXPECT_TRUE(https_place(Endpoint(), control).is_none());
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
