// Goal: a follower gets what is pushed, in order; one that does not read costs 256 KiB and no more;
// the owner learns that it left. Method: a real server and a client on a unix socket.

#include "agent/edge/door/http_stream.h"

#include <array>
#include <memory>
#include <string>

#include "tests/agent/edge/door/http_door.h"

namespace muster::agent {
namespace {

constexpr int kPushesMax = 10'000;
/// Together twice as long as a reader may take nothing.
constexpr int kSlowReads = 50;
constexpr int kSlowReadMs = 40;

class HttpStreamFlows : public HttpDoor {
 protected:
  /// A follower that has read the header of the answer.
  HttpClient follow(const std::shared_ptr<HttpStream>& stream) {
    HttpClient client = unix_client();
    EXPECT_TRUE(client.send(kGetJobs));
    server_->answer_stream(question().number, {200, "text/event-stream", {}, ""}, stream);
    EXPECT_TRUE(client.until("\r\n\r\n").starts_with("HTTP/1.1 200"));
    return client;
  }
};

TEST_F(HttpStreamFlows, PushesComeInOrderAndTheConnectionIsKeptBehindTheEnd) {
  start_on_unix();
  const auto stream = std::make_shared<HttpStream>();
  EXPECT_TRUE(stream->push("data: 0\n\n")) << "also before the answer";
  HttpClient client = follow(stream);
  EXPECT_TRUE(client.until("data: 0\n\n").ends_with("data: 0\n\n"));
  for (int number = 1; number < 50; ++number) {
    const std::string event = "data: " + std::to_string(number) + "\n\n";
    EXPECT_TRUE(stream->push(event));
    EXPECT_TRUE(client.until(event).ends_with(event));
  }
  stream->end();
  EXPECT_FALSE(stream->push("x"));
  EXPECT_TRUE(client.until("0\r\n\r\n").ends_with("0\r\n\r\n"));
  ASSERT_TRUE(client.send(kGetJobs));
  EXPECT_NE(question().number, 0U);
}

TEST_F(HttpStreamFlows, AFollowerThatDoesNotReadIsToldOfAndCut) {
  HttpServerOptions options;
  options.deadlines.reader = std::chrono::milliseconds(100);
  start_on_unix(std::move(options));
  const auto stream = std::make_shared<HttpStream>();
  HttpClient client = follow(stream);
  const std::string part(64 * 1024, 'x');
  int pushes = 0;
  while (pushes < kPushesMax && stream->push(part)) {
    ++pushes;
    EXPECT_LE(stream->waiting(), HttpStream::kBufferMax);
  }
  EXPECT_LT(pushes, kPushesMax);
  EXPECT_TRUE(client.has_hung_up(kClientPatienceMs));
  wait_until([](const HttpStats& stats) { return stats.connections_now == 0; });
  EXPECT_TRUE(stream->is_gone());
  EXPECT_EQ(stream->waiting(), 0U);
}

// Neither the time of an answer nor that of an idle connection counts, and it takes something.
TEST_F(HttpStreamFlows, ABusyFollowerThatReadsSlowlyIsNotCut) {
  HttpServerOptions options;
  options.deadlines.reader = std::chrono::seconds(1);
  options.deadlines.answer = std::chrono::milliseconds(20);
  options.deadlines.idle = std::chrono::milliseconds(20);
  start_on_unix(std::move(options));
  const auto stream = std::make_shared<HttpStream>();
  HttpClient client = follow(stream);
  const std::string part(16 * 1024, 'x');
  std::array<char, 4 * 1024> read{};
  for (int reads = 0; reads < kSlowReads; ++reads) {
    while (stream->push(part)) {
    }
    ASSERT_FALSE(client.has_hung_up(kSlowReadMs)) << "behind " << reads << " reads";
    ASSERT_GT(recv(client.fd(), read.data(), read.size(), 0), 0);
  }
  EXPECT_FALSE(stream->is_gone());
  EXPECT_EQ(server_->stats().cut_readers, 0U);
}

TEST_F(HttpStreamFlows, AQuietFollowerStaysAndOneThatLeavesIsNoticed) {
  HttpServerOptions options;
  options.deadlines.reader = std::chrono::milliseconds(20);
  options.deadlines.answer = std::chrono::milliseconds(20);
  options.deadlines.idle = std::chrono::milliseconds(20);
  start_on_unix(std::move(options));
  const auto stream = std::make_shared<HttpStream>();
  HttpClient client = follow(stream);
  EXPECT_FALSE(client.has_hung_up(300));
  EXPECT_TRUE(stream->push(": still here\n\n"));
  client.until(": still here\n\n");
  client.leave();
  wait_until([](const HttpStats& stats) { return stats.connections_now == 0; });
  EXPECT_TRUE(stream->is_gone());
}

TEST_F(HttpStreamFlows, AStreamForAQuestionThatIsOverIsGone) {
  start_on_unix();
  const auto stream = std::make_shared<HttpStream>();
  server_->answer_stream(12345, {}, stream);
  EXPECT_TRUE(stream->is_gone());
}

}  // namespace
}  // namespace muster::agent
