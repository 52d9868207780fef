#include "cli/edge/zmq_node_client.h"

#include <sys/random.h>

#include "agent/api/request.h"
#include "gossip/base/check.h"
#include "gossip/base/version.h"
#include "gossip/edge/zmq_client.h"
#include "gossip/wire/message.h"

namespace muster::cli {
namespace {

constexpr Duration kWaitStep = std::chrono::milliseconds(500);

Nonce random_nonce() {
  std::uint64_t value = 0;
  while (value == 0) {
    CHECK(getrandom(&value, sizeof value, 0) == sizeof value);
  }
  return Nonce(value);
}

class ZmqNodeClient final : public NodeClient {
 public:
  ZmqNodeClient(gossip::ZmqClient client, std::string address, WaitListener on_wait)
      : client_(std::move(client)), address_(std::move(address)), on_wait_(std::move(on_wait)) {}

  Result<agent::Response> ask(const agent::Request& request, Duration timeout) override {
    gossip::Envelope envelope;
    envelope.version = kProtocolVersion;
    envelope.type = gossip::MessageType::kRequest;
    envelope.nonce = random_nonce();
    std::string bytes = gossip::encode(envelope, agent::encode(request));
    if (bytes.size() > gossip::kMessageBytesMax) {
      return Error{ErrorCode::kUnavailable, "the request is larger than 1 MiB and was not sent"};
    }
    if (const Status sent = client_.send(std::move(bytes)); !sent) {
      return Error{ErrorCode::kUnavailable, sent.error().text};
    }
    return answer_to(envelope.nonce, timeout);
  }

 private:
  Result<agent::Response> answer_to(Nonce nonce, Duration timeout) {
    const auto start = std::chrono::steady_clock::now();
    Duration waited{0};
    while (waited < timeout) {
      auto bytes = client_.receive(std::min(kWaitStep, timeout - waited));
      if (!bytes) {
        return Error{ErrorCode::kIo, address_ + " gave no answer: " + bytes.error().text};
      }
      if (bytes->has_value()) {
        auto response = response_in(std::move(bytes->value()), nonce);
        if (response.has_value()) {
          return std::move(*response);
        }
      }
      waited = std::chrono::steady_clock::now() - start;
      on_wait_(waited);
    }
    return Error{ErrorCode::kUnknown, "no answer from " + address_ + " within " +
                                          std::to_string(to_ms(timeout)) + " ms"};
  }

  /// nullopt if `bytes` is no answer, or the answer to an earlier question.
  static std::optional<Result<agent::Response>> response_in(std::string bytes, Nonce nonce) {
    const Result<gossip::Message> message = gossip::decode(std::move(bytes));
    if (!message || message->envelope().nonce != nonce ||
        message->envelope().type != gossip::MessageType::kResponse) {
      return std::nullopt;
    }
    auto response = agent::decode_response(message->body());
    if (!response.has_value()) {
      return Error{ErrorCode::kInvalid,
                   "cannot read the node's answer: compare `muster version` here and there"};
    }
    return std::move(*response);
  }

  gossip::ZmqClient client_;
  std::string address_;
  WaitListener on_wait_;
};

}  // namespace

Result<std::unique_ptr<NodeClient>> connect_node(const std::string& address, WaitListener on_wait) {
  auto client = gossip::ZmqClient::connect(address);
  if (!client) {
    return client.error();
  }
  return std::unique_ptr<NodeClient>(
      std::make_unique<ZmqNodeClient>(std::move(client).value(), address, std::move(on_wait)));
}

}  // namespace muster::cli
