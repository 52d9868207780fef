// Messages of guests get a name before a node hears them; all others pass at once.

#include "agent/edge/run/login_queue.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <future>

#include "gossip/wire/message.h"

namespace muster::agent {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using gossip::Received;
using gossip::Sender;
using gossip::TransportInput;

constexpr int kAnswerMs = 20'000;
constexpr Instant kNow{1h};
constexpr std::uint32_t kAnn = 1000;

Received message_of(Sender sender, std::string bytes = "hello") {
  return Received{
      gossip::Route(1), gossip::Channel::kControl, std::move(bytes), {}, std::move(sender)};
}

std::string head_of(gossip::MessageType type) {
  gossip::Envelope envelope;
  envelope.type = type;
  return gossip::encode(envelope, "");
}

Received of_login(std::uint32_t uid, const std::string& body = "hello",
                  gossip::MessageType type = gossip::MessageType::kRequest) {
  return message_of({Sender::Kind::kLogin, {}, {}, uid}, head_of(type) + body);
}

/// Of a request; else all bytes.
std::string body_of(const std::string& bytes) {
  const std::string head = head_of(gossip::MessageType::kRequest);
  return bytes.starts_with(head) ? bytes.substr(head.size()) : bytes;
}

/// "SENDER: BODY" of each.
std::vector<std::string> words_of(const std::vector<TransportInput>& inputs) {
  std::vector<std::string> words;
  for (const TransportInput& input : inputs) {
    const auto* received = std::get_if<Received>(&input);
    words.push_back(received == nullptr ? "link"
                                        : (received->sender.login_name.empty()
                                               ? std::to_string(received->sender.uid)
                                               : received->sender.login_name) +
                                              ": " + body_of(received->bytes));
  }
  return words;
}

class LoginQueueTest : public testing::Test {
 protected:
  template <class... Each>
  std::vector<std::string> pass(Each... each) {
    std::vector<TransportInput> inputs;
    (inputs.push_back(std::move(each)), ...);
    return words_of(queue_.pass(std::move(inputs), now_));
  }
  std::vector<std::string> pass_after_answer() {
    pollfd entry{names_.fd(), POLLIN, 0};
    EXPECT_GT(poll(&entry, 1, kAnswerMs), 0);
    return pass();
  }
  void answer() { go_.set_value(); }

  std::promise<void> go_;
  LoginNames names_{[gate = go_.get_future().share()](std::uint32_t uid) {
    gate.wait();
    return uid == kAnn ? "ann" : "";
  }};
  LoginQueue queue_{names_, 0};
  Instant now_ = kNow;
};

using Words = std::vector<std::string>;

TEST_F(LoginQueueTest, OnlyAGuestWaitsAndThenInOrder) {
  EXPECT_EQ(
      pass(of_login(kAnn, "one"), of_login(0, "of root"),
           message_of({Sender::Kind::kHost}, "of a host"), gossip::LinkUp{}, of_login(kAnn, "two")),
      (Words{"0: of root", "0: of a host", "link"}));
  EXPECT_EQ(queue_.next_deadline(), kNow + LoginNames::kPatience);
  answer();
  EXPECT_EQ(pass_after_answer(), (Words{"ann: one", "ann: two"}));
  EXPECT_EQ(queue_.next_deadline(), kNever);
  EXPECT_EQ(pass(of_login(kAnn, "three")), (Words{"ann: three"}));
}

TEST_F(LoginQueueTest, WithoutAnAnswerItIsHeardWithoutAName) {
  EXPECT_EQ(pass(of_login(kAnn)), Words{});
  now_ += LoginNames::kPatience;
  EXPECT_EQ(pass(), (Words{"1000: hello"}));
  answer();
}

TEST_F(LoginQueueTest, ALoginWithoutANameIsHeardWithoutOne) {
  EXPECT_EQ(pass(of_login(1001)), Words{});
  answer();
  EXPECT_EQ(pass_after_answer(), (Words{"1001: hello"}));
}

TEST_F(LoginQueueTest, WhatIsTooMuchIsDropped) {
  for (std::size_t i = 0; i < LoginQueue::kWaitingOfOneMax + 3; ++i) {
    pass(of_login(kAnn));
  }
  EXPECT_EQ(queue_.dropped(), 3U);
  constexpr std::size_t kPerLogin = 2;
  const std::size_t room = LoginQueue::kWaitingMax - LoginQueue::kWaitingOfOneMax;
  ASSERT_LT(room / kPerLogin, LoginNames::kOpenMax) << "each of them is asked for its name";
  for (std::size_t i = 0; i < room + 5; ++i) {
    pass(of_login(2000 + static_cast<std::uint32_t>(i / kPerLogin)));
  }
  EXPECT_EQ(queue_.dropped(), 3U + 5U);
  answer();
  now_ += LoginNames::kPatience;
  EXPECT_EQ(pass().size(), LoginQueue::kWaitingMax);
  EXPECT_EQ(pass(of_login(kAnn)).size(), 1U) << "there is room again";
}

TEST_F(LoginQueueTest, AGuestSpeaksForNoHost) {
  answer();
  for (const gossip::MessageType type :
       {gossip::MessageType::kRows, gossip::MessageType::kProbe, gossip::MessageType::kResponse}) {
    EXPECT_EQ(pass(of_login(kAnn, "forged", type)), Words{});
  }
  EXPECT_EQ(pass(message_of({Sender::Kind::kLogin, {}, {}, kAnn}, "noise")), Words{});
  EXPECT_EQ(queue_.dropped(), 4U);
  EXPECT_EQ(names_.next_deadline(), kNever) << "nobody was looked up";
}

TEST_F(LoginQueueTest, BytesAreLimitedToo) {
  const std::string large(std::size_t{1} << 20, 'x');
  for (std::uint32_t uid = 2000; uid < 2020; ++uid) {
    pass(of_login(uid, large));
  }
  EXPECT_EQ(queue_.dropped(), 5U) << "15 and their heads fit into 16 MiB";
  answer();
}

TEST_F(LoginQueueTest, AnAgentThatIsNotRootLooksNobodyUp) {
  LoginQueue queue(names_, kAnn);
  std::vector<TransportInput> inputs;
  inputs.emplace_back(of_login(1001));
  EXPECT_EQ(queue.pass(std::move(inputs), kNow).size(), 1U);
  EXPECT_EQ(names_.next_deadline(), kNever);
  answer();
}

}  // namespace
}  // namespace muster::agent
