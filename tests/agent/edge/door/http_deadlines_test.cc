// Goal: no client holds a connection by silence, by drips or by not reading; no address holds too
// many; a stop waits for nobody. Method: a real server with deadlines of a tenth of a second.

#include <algorithm>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "tests/agent/edge/door/http_door.h"

namespace muster::agent {
namespace {

constexpr Duration kSoon = std::chrono::milliseconds(100);
/// A client that drips sends a byte so often, and at most so many.
constexpr int kDripMs = 5;
constexpr int kDripsMax = 4'000;
/// Its processor time is watched for so long.
constexpr int kWatchedMs = 400;

class HttpDeadlinesHold : public HttpDoor {
 protected:
  /// Sends `byte` again and again; true if the door ends it.
  static bool drips_until_cut(HttpClient& client, std::string_view byte) {
    for (int drips = 0; drips < kDripsMax; ++drips) {
      if (!client.send(byte) || client.has_hung_up(kDripMs)) {
        return true;
      }
    }
    return false;
  }
};

TEST_F(HttpDeadlinesHold, ASilentClientIsClosed) {
  HttpServerOptions options;
  options.deadlines.head = kSoon;
  start_on_unix(std::move(options));
  HttpClient client = unix_client();
  EXPECT_TRUE(client.is_closed());
  wait_until([](const HttpStats& stats) { return stats.connections_now == 0; });
  EXPECT_EQ(server_->stats().cut_silent, 1U);
}

TEST_F(HttpDeadlinesHold, AClientThatNeverBeginsItsHandshakeIsClosed) {
  HttpServerOptions options;
  options.deadlines.handshake = kSoon;
  start_on_tcp(std::move(options));
  std::vector<HttpClient> clients;
  for (int count = 0; count < 20; ++count) {
    clients.push_back(tcp_client());
  }
  for (HttpClient& client : clients) {
    EXPECT_TRUE(client.is_closed());
  }
  wait_until([](const HttpStats& stats) { return stats.connections_now == 0; });
  EXPECT_EQ(server_->stats().cut_silent, 20U);
  EXPECT_EQ(server_->stats().unproven_now, 0U);
}

TEST_F(HttpDeadlinesHold, AClientThatIsSilentBehindItsHandshakeHasTheTimeOfAHead) {
  HttpServerOptions options;
  options.deadlines.handshake = std::chrono::hours(1);
  options.deadlines.head = kSoon;
  start_on_tcp(std::move(options));
  HttpClient client = tcp_client();
  ASSERT_TRUE(client.start_tls());
  EXPECT_TRUE(client.is_closed());
  EXPECT_EQ(server_->stats().cut_silent, 1U);
}

// The beginning of a record of TLS: the library waits for more, and must not look again and again.
TEST_F(HttpDeadlinesHold, AHandshakeThatIsNotWholeTakesNoProcessor) {
  HttpServerOptions options;
  options.deadlines.handshake = std::chrono::hours(1);
  start_on_tcp(std::move(options));
  HttpClient client = tcp_client();
  ASSERT_TRUE(client.send(std::string_view("\x16\x03\x01\x01\x00", 5)));
  const std::clock_t before = std::clock();
  EXPECT_FALSE(client.has_hung_up(kWatchedMs));
  EXPECT_LT(std::clock() - before, CLOCKS_PER_SEC * kWatchedMs / 4'000);
}

TEST_F(HttpDeadlinesHold, AnEndThatComesTogetherWithBytesIsSeen) {
  HttpServerOptions options;
  options.deadlines.head = std::chrono::hours(1);
  options.deadlines.body = std::chrono::hours(1);
  start_on_unix(std::move(options));
  std::vector<HttpClient> clients;
  for (int count = 0; count < 50; ++count) {
    clients.push_back(unix_client());
    ASSERT_TRUE(clients.back().send(
        "POST / HTTP/1.1\r\nhost: a\r\nmuster-client: t\r\ncontent-length: 9\r\n\r\nx"));
    shutdown(clients.back().fd(), SHUT_WR);
  }
  for (HttpClient& client : clients) {
    ASSERT_TRUE(client.is_closed());
  }
  wait_until([](const HttpStats& stats) { return stats.connections_now == 0; });
}

TEST_F(HttpDeadlinesHold, ADrippingHeadIsCut) {
  HttpServerOptions options;
  options.deadlines.head = kSoon;
  start_on_unix(std::move(options));
  HttpClient client = unix_client();
  ASSERT_TRUE(client.send("GET / HTTP/1.1\r\nx: "));
  EXPECT_TRUE(drips_until_cut(client, "x"));
}

TEST_F(HttpDeadlinesHold, ADrippingHeadOfALaterRequestIsCutToo) {
  HttpServerOptions options;
  options.deadlines.head = kSoon;
  options.deadlines.idle = std::chrono::hours(1);
  start_on_unix(std::move(options));
  HttpClient client = unix_client();
  ASSERT_TRUE(client.send(kGetJobs));
  server_->answer(question().number, {});
  ASSERT_TRUE(client.answer().starts_with("HTTP/1.1 200"));
  ASSERT_TRUE(client.send("GET / HTTP/1.1\r\nx: "));
  EXPECT_TRUE(drips_until_cut(client, "x"));
}

TEST_F(HttpDeadlinesHold, ADrippingBodyIsCut) {
  HttpServerOptions options;
  options.deadlines.body = kSoon;
  start_on_unix(std::move(options));
  HttpClient client = unix_client();
  ASSERT_TRUE(
      client.send("POST / HTTP/1.1\r\nhost: a\r\nmuster-client: t\r\n"
                  "content-length: 100000\r\n\r\n"));
  EXPECT_TRUE(drips_until_cut(client, "x"));
  wait_until([](const HttpStats& stats) { return stats.connections_now == 0; });
  EXPECT_EQ(server_->stats().cut_body, 1U);
  EXPECT_EQ(server_->stats().bodies_bytes_now, 0U);
}

TEST_F(HttpDeadlinesHold, AnIdleConnectionIsClosed) {
  HttpServerOptions options;
  options.deadlines.idle = kSoon;
  start_on_unix(std::move(options));
  HttpClient client = unix_client();
  ASSERT_TRUE(client.send(kGetJobs));
  server_->answer(question().number, {});
  ASSERT_TRUE(client.answer().starts_with("HTTP/1.1 200"));
  EXPECT_TRUE(client.is_closed());
  EXPECT_EQ(server_->stats().closed_idle, 1U);
}

TEST_F(HttpDeadlinesHold, AReaderThatTakesNothingIsCut) {
  HttpServerOptions options;
  options.deadlines.reader = kSoon;
  start_on_unix(std::move(options));
  HttpClient client = unix_client();
  ASSERT_TRUE(client.send(kGetJobs));
  server_->answer(question().number, {200, "text/plain", {}, std::string(16 << 20, 'a')});
  EXPECT_TRUE(client.has_hung_up(kClientPatienceMs));
  wait_until([](const HttpStats& stats) { return stats.connections_now == 0; });
  EXPECT_EQ(server_->stats().cut_readers, 1U);
}

TEST_F(HttpDeadlinesHold, AnAddressHasOnlySoManyConnectionsWithoutProof) {
  HttpServerOptions options;
  options.limits.per_address = 5;
  options.limits.unproven_per_address = 3;
  start_on_tcp(std::move(options));
  std::vector<HttpClient> clients;
  for (int count = 0; count < 3; ++count) {
    clients.push_back(tcp_client());
    ASSERT_TRUE(clients.back().start_tls());
  }
  EXPECT_TRUE(tcp_client().is_closed()) << "the fourth";
  // The client shows a proof, which makes room for another without one.
  ASSERT_TRUE(clients.front().send(kGetJobs));
  const HttpQuestion asked = question();
  server_->proven(asked.number);
  server_->proven(asked.number);
  server_->answer(asked.number, {});
  ASSERT_TRUE(clients.front().answer().starts_with("HTTP/1.1 200"));
  EXPECT_EQ(server_->stats().unproven_now, 2U);
  clients.push_back(tcp_client());
  EXPECT_TRUE(clients.back().start_tls());
  EXPECT_TRUE(tcp_client().is_closed());
  EXPECT_EQ(server_->stats().refused_address, 2U);
  EXPECT_EQ(server_->stats().connections_now, 4U);
}

TEST_F(HttpDeadlinesHold, The257thConnectionOfAUserIsClosed) {
  HttpServerOptions options;
  options.deadlines.head = std::chrono::hours(1);
  start_on_unix(std::move(options));
  std::vector<HttpClient> clients;
  for (std::size_t count = 0; count < HttpLimits{}.per_address; ++count) {
    clients.push_back(unix_client());
    const auto accepted = count + 1;
    // The queue of the listening socket is short.
    wait_until([accepted](const HttpStats& stats) { return stats.accepted == accepted; });
  }
  EXPECT_TRUE(unix_client().is_closed());
  clients.pop_back();
  wait_until([](const HttpStats& stats) { return stats.connections_now == 255; });
  HttpClient another = unix_client();
  ASSERT_TRUE(another.send(kGetJobs));
  EXPECT_NE(question().number, 0U);
}

TEST_F(HttpDeadlinesHold, TheAddressWithTheMostStrangersMakesRoom) {
  HttpServerOptions options;
  options.deadlines.handshake = std::chrono::hours(1);
  options.limits.strangers = 3;
  start_on_tcp(std::move(options));
  HttpClient asks = tcp_client(3);
  ASSERT_TRUE(asks.start_tls());
  ASSERT_TRUE(asks.send(kGetJobs));
  EXPECT_NE(question().number, 0U);
  HttpClient single = tcp_client(2);
  std::vector<HttpClient> many;
  for (std::uint64_t count = 0; count < 4; ++count) {
    many.push_back(tcp_client());
    wait_until([count](const HttpStats& stats) { return stats.accepted == count + 3; });
  }
  EXPECT_TRUE(many[0].is_closed());
  EXPECT_TRUE(many[1].is_closed());
  wait_until([](const HttpStats& stats) { return stats.connections_now == 4; });
  EXPECT_EQ(server_->stats().cut_silent, 2U);
  EXPECT_FALSE(many[2].has_hung_up(0) || many[3].has_hung_up(0));
  EXPECT_FALSE(single.has_hung_up(0)) << "it is older, and its address has one alone";
  EXPECT_FALSE(asks.has_hung_up(0)) << "it has a request under way";
}

TEST_F(HttpDeadlinesHold, LargeAnswersTakeBoundedMemory) {
  constexpr std::size_t kBytes = 16 << 20;
  HttpServerOptions options;
  options.deadlines.reader = std::chrono::hours(1);
  options.limits.answers_bytes = 2 * kBytes;
  start_on_unix(std::move(options));
  std::vector<HttpClient> clients;
  const auto told_a_new_one = [&] {
    clients.push_back(unix_client());
    EXPECT_TRUE(clients.back().send(kGetJobs));
    server_->answer(question().number, {200, "text/plain", {}, std::string(kBytes - 1, 'a') + "b"});
    return clients.back().until("\r\n\r\n").substr(0, 12);
  };
  EXPECT_EQ(told_a_new_one(), "HTTP/1.1 200");
  EXPECT_EQ(told_a_new_one(), "HTTP/1.1 200");
  EXPECT_EQ(told_a_new_one(), "HTTP/1.1 503") << "nobody stands still so far";
  EXPECT_EQ(server_->stats().cut_readers, 0U);
  EXPECT_EQ(clients[0].until("b").size(), kBytes);
  wait_until([](const HttpStats& stats) { return stats.connections_now == 3; });
  EXPECT_EQ(told_a_new_one(), "HTTP/1.1 200");
}

TEST_F(HttpDeadlinesHold, ReadersThatStandStillMakeRoom) {
  constexpr std::size_t kBytes = 4 << 20;
  HttpServerOptions options;
  options.deadlines.reader = std::chrono::seconds(6);
  options.limits.answers_bytes = kBytes;
  start_on_unix(std::move(options));
  HttpClient stands = unix_client();
  ASSERT_TRUE(stands.send(kGetJobs));
  server_->answer(question().number, {200, "text/plain", {}, std::string(kBytes, 'a')});
  EXPECT_EQ(stands.until("\r\n\r\n").substr(0, 12), "HTTP/1.1 200");
  std::string told = "HTTP/1.1 503";
  std::uint64_t asked = 0;
  while (told == "HTTP/1.1 503" && server_->stats().cut_readers == 0) {
    HttpClient reads = unix_client();
    ASSERT_TRUE(reads.send(kGetJobs));
    server_->answer(question().number, {200, "text/plain", {}, std::string(kBytes, 'a')});
    told = reads.until("\r\n\r\n").substr(0, 12);
    ++asked;
    poll(nullptr, 0, 20);
  }
  EXPECT_EQ(told, "HTTP/1.1 200") << "after " << asked;
  EXPECT_EQ(server_->stats().cut_readers, 1U);
  EXPECT_TRUE(stands.is_closed());
}

TEST_F(HttpDeadlinesHold, AnswersThatTheKernelHoldsAreBoundedToo) {
  HttpServerOptions options;
  options.limits.unread = 2;
  options.deadlines.confirmed = Duration(0);
  start_on_unix(std::move(options));
  std::vector<HttpClient> clients;
  for (std::uint64_t count = 0; count < 6; ++count) {
    clients.push_back(unix_client());
    ASSERT_TRUE(clients.back().send(kGetJobs));
    server_->answer(question().number, {200, "text/plain", {}, std::string(12 * 1024, 'a')});
    if (count < 2) {
      EXPECT_GT(clients.back().answer().size(), 12U * 1024) << "these read";
    }
  }
  wait_until([](const HttpStats& stats) { return stats.connections_now == 4; });
  EXPECT_EQ(server_->stats().cut_readers, 2U);
  EXPECT_TRUE(clients[2].is_closed());
  EXPECT_TRUE(clients[3].is_closed());
  for (const std::size_t at : {0U, 1U, 4U, 5U}) {
    EXPECT_FALSE(clients[at].has_hung_up(0)) << at;
  }
}

// All of them end at once, and the server with them.
TEST_F(HttpDeadlinesHold, AStopIsHeardBesideManyEnds) {
  for (int round = 0; round < 10; ++round) {
    start_on_unix();
    {
      std::vector<HttpClient> clients;
      for (std::uint64_t count = 1; count <= 128; ++count) {
        clients.push_back(unix_client());
        wait_until([count](const HttpStats& stats) { return stats.accepted == count; });
      }
    }
    server_.reset();
    unlink(path().c_str());
  }
}

TEST_F(HttpDeadlinesHold, AStopClosesConnectionsInEachPhase) {
  start_on_unix();
  HttpClient silent = unix_client();
  HttpClient waiting = unix_client();
  HttpClient untaken = unix_client();
  HttpClient reading = unix_client();
  HttpClient following = unix_client();
  ASSERT_TRUE(waiting.send(kGetJobs));
  EXPECT_NE(question().number, 0U);
  ASSERT_TRUE(reading.send(kGetJobs));
  server_->answer(question().number, {200, "text/plain", {}, std::string(16 << 20, 'a')});
  ASSERT_TRUE(following.send(kGetJobs));
  const auto stream = std::make_shared<HttpStream>();
  server_->answer_stream(question().number, {200, "text/event-stream", {}, ""}, stream);
  following.until("\r\n\r\n");
  ASSERT_TRUE(untaken.send(kGetJobs));
  wait_until([](const HttpStats& stats) { return stats.questions_now == 2; });
  server_.reset();
  for (HttpClient* client : {&silent, &waiting, &untaken, &reading, &following}) {
    EXPECT_TRUE(client->is_closed());
  }
  EXPECT_TRUE(stream->is_gone());
  EXPECT_FALSE(stream->push("x"));
}

}  // namespace
}  // namespace muster::agent
