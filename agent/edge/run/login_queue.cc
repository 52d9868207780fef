#include "agent/edge/run/login_queue.h"

#include <utility>
#include <variant>

#include "agent/front/asker.h"
#include "gossip/wire/message.h"

namespace muster::agent {
namespace {

constexpr std::uint32_t kRoot = 0;

}  // namespace

/// Sets the name. False if it is not known.
bool LoginQueue::is_named(gossip::Received& message, Instant now) const {
  auto name = names_.find(message.sender.uid, now);
  if (name.has_value()) {
    message.sender.login_name = *std::move(name);
  }
  return name.has_value();
}

std::vector<gossip::TransportInput> LoginQueue::pass(std::vector<gossip::TransportInput> inputs,
                                                     Instant now) {
  if (own_ != kRoot) {
    return inputs;
  }
  names_.turn(now);
  std::vector<gossip::TransportInput> heard;
  heard.reserve(waiting_.size() + inputs.size());
  for (gossip::Received& message : std::exchange(waiting_, {})) {
    if (!is_named(message, now)) {
      names_.ask(message.sender.uid, now);  // Another answer pushed it out.
      waiting_.push_back(std::move(message));
      continue;
    }
    bytes_ -= message.bytes.size();
    if (const auto count = counts_.find(message.sender.uid); --count->second == 0) {
      counts_.erase(count);
    }
    heard.push_back(std::move(message));
  }
  for (gossip::TransportInput& input : inputs) {
    auto* message = std::get_if<gossip::Received>(&input);
    const bool is_of_guest = message != nullptr && is_guest(message->sender, {own_, ""});
    if (is_of_guest && gossip::type_in(message->bytes) != gossip::MessageType::kRequest) {
      ++dropped_;
    } else if (!is_of_guest || is_named(*message, now)) {
      heard.push_back(std::move(input));
    } else {
      wait(std::move(*message), now);
    }
  }
  return heard;
}

void LoginQueue::wait(gossip::Received message, Instant now) {
  const std::uint32_t uid = message.sender.uid;
  const auto known = counts_.find(uid);
  const std::size_t of_one = known == counts_.end() ? 0 : known->second;
  if (waiting_.size() >= kWaitingMax || of_one >= kWaitingOfOneMax ||
      bytes_ + message.bytes.size() > kWaitingBytesMax || !names_.ask(uid, now)) {
    ++dropped_;
    return;
  }
  ++counts_[uid];
  bytes_ += message.bytes.size();
  waiting_.push_back(std::move(message));
}

}  // namespace muster::agent
