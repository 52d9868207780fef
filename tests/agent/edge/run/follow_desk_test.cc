// Goal: a follower of HTTP gets events of the Node, by the routes of the desk, and leaves no trace.
// Method: a real server on a unix socket, and a node that answers each message.

#include "agent/edge/run/follow_desk.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <variant>

#include "agent/api/jobs.h"
#include "agent/api/payload.h"
#include "gossip/base/version.h"
#include "gossip/wire/message.h"
#include "tests/agent/edge/door/http_door.h"

namespace muster::agent {
namespace {

constexpr char kFollowJob[] =
    "GET /v1/jobs/7 HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n\r\n";

class FollowDeskTest : public HttpDoor {
 protected:
  FollowDeskTest() { start_on_unix(); }

  /// The client's question goes to the desk, and its first answer comes.
  void begin() {
    const HttpQuestion asked = question();
    ASSERT_TRUE(asks_to_follow(asked.request));
    desk_.begin(now_, *server_, asked, {"", asked.peer.uid});
    turn();
  }

  void turn() {
    for (gossip::TransportInput& input : desk_.take(now_)) {
      const auto& received = std::get<gossip::Received>(input);
      EXPECT_TRUE(FollowDesk::owns(received.route));
      EXPECT_EQ(received.sender.kind, gossip::Sender::Kind::kLogin);
      EXPECT_EQ(received.sender.uid, getuid());
      const auto message = gossip::decode(received.bytes);
      ASSERT_TRUE(message.has_value());
      gossip::Envelope envelope;
      envelope.version = kProtocolVersion;
      envelope.type = gossip::MessageType::kResponse;
      envelope.nonce = message->envelope().nonce;
      JobDetail detail;
      detail.summary.id = JobId(7);
      detail.summary.state = state_;
      const Response response{ResponseStatus::kOk, "", "b", 0, encode_payload(detail)};
      desk_.hear(now_, {received.route, gossip::encode(envelope, encode(response))});
    }
  }

  void pass(Duration time) {
    const Instant until = now_ + time;
    while (now_ < until) {
      now_ += std::chrono::milliseconds(50);
      turn();
    }
  }

  Instant now_{std::chrono::hours(1)};
  std::string state_ = "queued";
  FollowDesk desk_{Rng(1)};
};

TEST_F(FollowDeskTest, ChangesOfAJobComeAsEvents) {
  HttpClient client = unix_client();
  ASSERT_TRUE(client.send(kFollowJob));
  begin();
  const std::string head = client.until("\"state\":\"queued\"");
  EXPECT_NE(head.find("content-type: text/event-stream"), std::string::npos) << head;
  EXPECT_NE(head.find("cache-control: no-store"), std::string::npos) << head;
  state_ = "running";
  pass(std::chrono::seconds(2));
  const std::string more = client.until("\"state\":\"running\"");
  EXPECT_NE(more.find("\ndata: {"), std::string::npos) << more;
}

TEST_F(FollowDeskTest, AFollowerThatLeavesAndAServerThatClosesAreForgotten) {
  HttpClient client = unix_client();
  ASSERT_TRUE(client.send(kFollowJob));
  begin();
  HttpClient other = unix_client();
  ASSERT_TRUE(other.send(kFollowJob));
  begin();
  EXPECT_EQ(desk_.followers(), 2U);
  client.until("queued");
  client.leave();
  wait_until([](const HttpStats& stats) { return stats.connections_now == 1; });
  pass(std::chrono::seconds(1));
  EXPECT_EQ(desk_.followers(), 1U);
  desk_.close(*server_);
  EXPECT_EQ(desk_.followers(), 0U);
}

TEST_F(FollowDeskTest, AHeadOfAFollowedRouteHasNoBody) {
  HttpClient client = unix_client();
  ASSERT_TRUE(client.send(
      "HEAD /v1/jobs/7 HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n\r\n"));
  begin();
  const std::string answer = client.until("\r\n\r\n");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200")) << answer;
  EXPECT_NE(answer.find("content-type: text/event-stream"), std::string::npos) << answer;
  EXPECT_EQ(desk_.followers(), 0U);
}

}  // namespace
}  // namespace muster::agent
