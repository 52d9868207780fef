// The conversation with a node over real sockets: an answer is taken for its own question only.

#include "cli/edge/zmq_node_client.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <optional>
#include <thread>

#include "agent/api/request.h"
#include "gossip/base/version.h"
#include "gossip/edge/zmq_transport.h"
#include "gossip/wire/message.h"

namespace muster::cli {
namespace {

/// A node that answers every request with what it is told; ends with the test.
class Node {
 public:
  using Answer = std::function<std::vector<std::string>(const gossip::Message&)>;

  explicit Node(Answer answer)
      : path_(testing::TempDir() + "muster_cli_" + std::to_string(getpid()) + ".sock"),
        answer_(std::move(answer)) {
    gossip::ZmqTransport::Options options;
    options.listens = false;
    options.link = gossip::LinkKeys::make();
    options.ipc_path = path_;
    auto transport = gossip::ZmqTransport::open(options);
    if (!transport) {
      ADD_FAILURE() << transport.error().text;
      return;
    }
    transport_ = std::move(transport).value();
    thread_ = std::thread([this] { serve(); });
  }
  ~Node() {
    is_over_ = true;
    if (thread_.joinable()) {
      thread_.join();
    }
    unlink(path_.c_str());
  }

  std::string ipc() const { return "ipc://" + path_; }

 private:
  void serve() {
    while (!is_over_) {
      transport_->wait(std::chrono::milliseconds(20));
      for (gossip::TransportInput& input : transport_->take_inputs()) {
        if (auto* received = std::get_if<gossip::Received>(&input)) {
          auto message = gossip::decode(std::move(received->bytes));
          ASSERT_TRUE(message.has_value());
          for (std::string& bytes : answer_(*message)) {
            transport_->reply({received->route, std::move(bytes)});
          }
        }
      }
    }
  }

  std::string path_;
  Answer answer_;
  std::unique_ptr<gossip::ZmqTransport> transport_;
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

std::string response_to(Nonce nonce, const std::string& text) {
  gossip::Envelope envelope;
  envelope.version = kProtocolVersion;
  envelope.type = gossip::MessageType::kResponse;
  envelope.nonce = nonce;
  agent::Response response;
  response.status = agent::ResponseStatus::kNotFound;
  response.text = text;
  return gossip::encode(envelope, agent::encode(response));
}

Result<agent::Response> ask(const std::string& address, Duration timeout) {
  auto client = connect_node(address, [](Duration) {});
  if (!client) {
    return client.error();
  }
  agent::Request request;
  request.verb = agent::Verb::kJobs;
  return (*client)->ask(request, timeout);
}

TEST(NodeClient, TakesTheAnswerToItsOwnQuestion) {
  Node node([](const gossip::Message& message) -> std::vector<std::string> {
    EXPECT_EQ(message.envelope().type, gossip::MessageType::kRequest);
    EXPECT_EQ(message.envelope().version, kProtocolVersion);
    EXPECT_EQ(agent::decode_request(message.body())->verb, agent::Verb::kJobs);
    const Nonce nonce = message.envelope().nonce;
    EXPECT_NE(nonce, Nonce(0));
    return {response_to(nonce.next(), "another's"), "junk", response_to(nonce, "mine")};
  });
  const auto response = ask(node.ipc(), std::chrono::seconds(10));
  ASSERT_TRUE(response.has_value()) << response.error().text;
  EXPECT_EQ(response->text, "mine");
  EXPECT_EQ(response->status, agent::ResponseStatus::kNotFound);
}

TEST(NodeClient, SilenceIsUnknownNotUnavailable) {
  Node node([](const gossip::Message&) { return std::vector<std::string>(); });
  const auto response = ask(node.ipc(), std::chrono::milliseconds(100));
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code, ErrorCode::kUnknown);
}

TEST(NodeClient, AnAgentThatEndsIsNotWaitedFor) {
  std::atomic<bool> was_asked = false;
  std::optional<Node> node;
  node.emplace([&](const gossip::Message&) {
    was_asked = true;
    was_asked.notify_one();
    return std::vector<std::string>();
  });
  const std::string address = node->ipc();
  std::thread end([&] {
    was_asked.wait(false);
    node.reset();
  });
  const auto response = ask(address, std::chrono::minutes(10));
  end.join();
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code, ErrorCode::kIo);
}

TEST(NodeClient, NobodyThereIsUnavailableAtOnce) {
  const auto response = ask("ipc:///nowhere/agent.sock", std::chrono::seconds(10));
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace muster::cli
