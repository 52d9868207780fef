// Goal: each request has an answer within kPatience, whatever the node does, and the answer says
// whether something may have been done. Method: a real server on a unix socket, a node that the
// test plays, and time that the test moves.

#include "agent/edge/run/web_door.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "agent/api/hosts.h"
#include "agent/api/payload.h"
#include "gossip/base/version.h"
#include "gossip/wire/message.h"
#include "tests/agent/edge/door/http_door.h"

namespace muster::agent {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.

constexpr char kGetHosts[] = "GET /v1/hosts HTTP/1.1\r\nhost: localhost\r\n\r\n";
constexpr char kWhoami[] = "GET /v1/whoami HTTP/1.1\r\nhost: localhost\r\n\r\n";
constexpr char kUndrain[] =
    "POST /v1/hosts/b:undrain HTTP/1.1\r\nhost: localhost\r\nmuster-client: test\r\n\r\n";

HostId host_called(std::uint8_t number) {
  std::array<std::uint8_t, HostId::kSizeBytes> bytes{};
  bytes.back() = number;
  return HostId(bytes);
}

/// A question to the node.
struct AskedOfNode {
  Verb verb{};
  gossip::Route route{};
  Nonce nonce{};
};

class WebDoorTest : public HttpDoor {
 protected:
  WebDoorTest() {
    start_on_unix();
    std::vector<std::unique_ptr<HttpServer>> servers;
    of_clients_ = server_.get();
    servers.push_back(std::move(server_));
    door_ = std::make_unique<WebDoor>(std::move(servers), RestChance(), Rng(1));
  }

  void turn() {
    for (const gossip::TransportInput& input : door_->take(now_)) {
      const auto& received = std::get<gossip::Received>(input);
      const auto message = gossip::decode(received.bytes);
      ASSERT_TRUE(message.has_value());
      const auto request = decode_request(message->body());
      ASSERT_TRUE(request.has_value());
      asked_.push_back({request->verb, received.route, message->envelope().nonce});
    }
  }
  /// The next question to the node, at this time; nullopt if the clients ask nothing.
  std::optional<AskedOfNode> asked() {
    turn();
    while (asked_.empty()) {
      pollfd ready{door_->fds().front(), POLLIN, 0};
      if (poll(&ready, 1, kClientPatienceMs) <= 0) {
        return std::nullopt;
      }
      turn();
    }
    const AskedOfNode first = asked_.front();
    asked_.pop_front();
    return first;
  }
  /// The thread of documents has something; then the door takes it.
  void take_document() {
    pollfd ready{door_->fds().back(), POLLIN, 0};
    ASSERT_EQ(poll(&ready, 1, kClientPatienceMs), 1);
    turn();
  }
  /// The next question of a list whose answer was heard.
  std::optional<AskedOfNode> asked_on() {
    take_document();
    EXPECT_TRUE(asked_.empty()) << "lists rest between two questions";
    now_ += LoopShare::kRestMax;
    return asked();
  }
  void answer(const AskedOfNode& asked, const Response& response) {
    gossip::Envelope envelope;
    envelope.version = kProtocolVersion;
    envelope.type = gossip::MessageType::kResponse;
    envelope.nonce = asked.nonce;
    door_->hear(now_, {asked.route, gossip::encode(envelope, encode(response))});
  }
  /// Host b, on a page with others behind host `next`; zero: on the last one.
  static Response hosts(std::uint8_t next) {
    HostList list;
    HostInfo host;
    host.id = host_called(7);
    host.name = "b";
    list.hosts.push_back(host);
    list.next = host_called(next);
    return {ResponseStatus::kOk, "", "b", 0, encode_payload(list)};
  }
  /// At one of the servers.
  void wait_for_questions(std::uint64_t count, std::size_t server = 0) {
    for (int looks = 0; looks < kClientPatienceMs && heard(server) < count; ++looks) {
      poll(nullptr, 0, 1);
    }
    ASSERT_EQ(heard(server), count);
  }

  Instant now_{1h};
  const HttpServer* of_clients_ = nullptr;  ///< Owned by door_.
  std::unique_ptr<WebDoor> door_;
  std::deque<AskedOfNode> asked_;

 private:
  std::uint64_t heard(std::size_t server) const { return door_->stats()[server].stats.questions; }
};

TEST_F(WebDoorTest, ACallOfManyQuestionsHasOneDeadline) {
  HttpClient client = unix_client();
  ASSERT_TRUE(client.send(kGetHosts));
  auto question = asked();
  ASSERT_TRUE(question.has_value());
  const Instant end = now_ + WebDoor::kPatience;
  for (std::uint8_t page = 8; page < 10; ++page) {
    EXPECT_EQ(door_->next_deadline(), end) << "page " << int{page};
    now_ += 2s;
    answer(*question, hosts(page));
    question = asked_on();
    ASSERT_TRUE(question.has_value());
    EXPECT_EQ(question->verb, Verb::kHosts);
  }
  now_ = end;
  turn();
  take_document();
  const std::string told = client.answer();
  EXPECT_TRUE(told.starts_with("HTTP/1.1 504")) << told;
  EXPECT_EQ(door_->next_deadline(), kNever);
  answer(*question, hosts(10));
  turn();
  EXPECT_TRUE(asked_.empty()) << "an answer behind the end asks no more";
}

TEST_F(WebDoorTest, AnOrderThatLeavesNoTimeForItsAnswerIsNotGiven) {
  HttpClient client = unix_client();
  ASSERT_TRUE(client.send(kUndrain));
  const auto look = asked();
  ASSERT_TRUE(look.has_value());
  EXPECT_EQ(look->verb, Verb::kHosts);
  now_ += WebDoor::kPatience - WebDoor::kOrderTime;
  answer(*look, hosts(0));
  turn();
  EXPECT_TRUE(asked_.empty());
  const std::string told = client.answer();
  EXPECT_TRUE(told.starts_with("HTTP/1.1 503")) << told;
  EXPECT_NE(told.find("was not given"), std::string::npos) << told;
}

TEST_F(WebDoorTest, AnOrderThatWasGivenAndHasNoAnswerMayHaveBeenDone) {
  HttpClient client = unix_client();
  ASSERT_TRUE(client.send(kUndrain));
  const auto look = asked();
  ASSERT_TRUE(look.has_value());
  now_ += WebDoor::kPatience - WebDoor::kOrderTime - 1ms;
  answer(*look, hosts(0));
  const auto order = asked();
  ASSERT_TRUE(order.has_value());
  EXPECT_NE(order->verb, Verb::kHosts);
  now_ += WebDoor::kOrderTime + 1ms;
  turn();
  const std::string told = client.answer();
  EXPECT_TRUE(told.starts_with("HTTP/1.1 504")) << told;
}

TEST_F(WebDoorTest, ListsThatWaitLeaveRoomForSmallQuestions) {
  std::vector<HttpClient> clients;
  for (std::size_t count = 0; count < WebDoor::kListsWaitingMax + 2; ++count) {
    clients.push_back(unix_client());
    ASSERT_TRUE(clients.back().send(kGetHosts));
    wait_for_questions(clients.size());
  }
  turn();
  EXPECT_EQ(asked_.size(), 1U) << "lists begin one a turn";
  for (std::size_t at = WebDoor::kListsWaitingMax; at < clients.size(); ++at) {
    const std::string told = clients[at].answer();
    EXPECT_TRUE(told.starts_with("HTTP/1.1 503")) << told;
    EXPECT_NE(told.find("did nothing"), std::string::npos) << told;
  }
  asked_.clear();
  HttpClient small = unix_client();
  ASSERT_TRUE(small.send(kWhoami));
  wait_for_questions(clients.size() + 1);
  turn();
  ASSERT_FALSE(asked_.empty());
  EXPECT_EQ(asked_.front().verb, Verb::kWhoami) << "it goes before the lists that came earlier";
}

TEST_F(WebDoorTest, ALargeListIsMadeBesideTheLoop) {
  HttpClient client = unix_client();
  ASSERT_TRUE(client.send(kGetHosts));
  const auto question = asked();
  ASSERT_TRUE(question.has_value());
  HostList list;
  list.hosts.resize(500);
  for (HostInfo& host : list.hosts) {
    host.name = "host-with-a-name";
  }
  answer(*question, {ResponseStatus::kOk, "", "b", 0, encode_payload(list)});
  const auto addition = asked_on();
  ASSERT_TRUE(addition.has_value());
  // The voter says nothing, and the document of all hosts is made beside the loop, too.
  now_ += WebDoor::kPatienceOfAddition;
  turn();
  EXPECT_FALSE(client.has_hung_up(0));
  take_document();
  const std::string told = client.answer();
  EXPECT_TRUE(told.starts_with("HTTP/1.1 200")) << told.substr(0, 100);
  EXPECT_EQ(door_->next_deadline(), kNever);
}

TEST_F(WebDoorTest, AListWaitsForTheShareOfListsAndHasNoMoreTimeForThat) {
  HttpClient first = unix_client();
  ASSERT_TRUE(first.send(kGetHosts));
  const auto question = asked();
  ASSERT_TRUE(question.has_value());
  answer(*question, hosts(0));
  HttpClient second = unix_client();
  ASSERT_TRUE(second.send(kGetHosts));
  wait_for_questions(2);
  take_document();
  EXPECT_TRUE(asked_.empty());
  const Instant taken = now_;
  EXPECT_LE(door_->next_deadline(), taken + LoopShare::kRestMax);
  now_ += 5s;
  turn();
  ASSERT_EQ(asked_.size(), 1U) << "the first goes on with what hosts add";
  asked_.clear();
  turn();
  ASSERT_EQ(asked_.size(), 1U);
  EXPECT_EQ(asked_.front().verb, Verb::kHosts);
  now_ = taken + WebDoor::kPatience;
  EXPECT_LE(door_->next_deadline(), now_);
}

TEST_F(WebDoorTest, AnAnswerThatComesAgainAnswersNoLaterQuestion) {
  HttpClient client = unix_client();
  ASSERT_TRUE(client.send(kGetHosts));
  const auto question = asked();
  ASSERT_TRUE(question.has_value());
  answer(*question, hosts(9));
  take_document();
  answer(*question, hosts(0));  // The next page was not asked for so far.
  now_ += LoopShare::kRestMax;
  const auto next = asked();
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ(next->verb, Verb::kHosts) << "the page behind the first";
}

TEST_F(WebDoorTest, AListWithoutAProofTakesNoTurn) {
  start_on_tcp();
  HttpClient client = tcp_client();
  door_->add(std::move(server_));
  ASSERT_TRUE(client.start_tls());
  ASSERT_TRUE(client.send(kGetHosts));
  wait_for_questions(1, 1);
  turn();
  EXPECT_TRUE(asked_.empty());
  EXPECT_TRUE(client.answer().starts_with("HTTP/1.1 401"));
  EXPECT_EQ(door_->next_deadline(), kNever);
}

TEST_F(WebDoorTest, ADocumentOfAServerThatWasClosedIsDropped) {
  HttpClient client = unix_client();
  ASSERT_TRUE(client.send(kGetHosts));
  const auto question = asked();
  ASSERT_TRUE(question.has_value());
  HostList list;
  list.hosts.resize(500);
  answer(*question, {ResponseStatus::kOk, "", "b", 0, encode_payload(list)});
  pollfd ready{door_->fds().back(), POLLIN, 0};
  ASSERT_EQ(poll(&ready, 1, kClientPatienceMs), 1);
  door_->close(*of_clients_);
  turn();
  EXPECT_TRUE(client.is_closed());
  EXPECT_EQ(door_->next_deadline(), kNever);
}

TEST_F(WebDoorTest, ARequestThatNeverHadItsTurnSurelyDidNothing) {
  std::vector<HttpClient> clients;
  for (int count = 0; count <= WebDoor::kBeginsATurn; ++count) {
    clients.push_back(unix_client());
    ASSERT_TRUE(clients.back().send(kUndrain));
    wait_for_questions(clients.size());
  }
  turn();
  EXPECT_EQ(asked_.size(), static_cast<std::size_t>(WebDoor::kBeginsATurn));
  EXPECT_EQ(door_->next_deadline(), Instant()) << "one waits for its turn";
  asked_.clear();
  now_ += WebDoor::kPatience;
  turn();
  EXPECT_TRUE(asked_.empty());
  const std::string told = clients.back().answer();
  EXPECT_TRUE(told.starts_with("HTTP/1.1 503")) << told;
  EXPECT_NE(told.find("did nothing"), std::string::npos) << told;
  // The others looked for the host, which changes nothing; their orders were not given.
  EXPECT_TRUE(clients.front().answer().starts_with("HTTP/1.1 504"));
}

}  // namespace
}  // namespace muster::agent
