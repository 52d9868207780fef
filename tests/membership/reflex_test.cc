// Reflex: the Probes that it answers by itself, and the contents of its Acks.

#include "membership/reflex.h"

#include <gtest/gtest.h>

#include <array>

#include "membership/codec.h"

namespace muster::membership {
namespace {

using std::chrono::milliseconds;

HostId id(std::uint8_t number) {
  std::array<std::uint8_t, HostId::kSizeBytes> bytes{};
  bytes[0] = number;
  return HostId(bytes);
}

class ReflexTest : public ::testing::Test {
 protected:
  ReflexTest() : reflex_(view()) {}

  static ReflexView view() {
    ReflexView view;
    view.ack.version = 7;
    view.ack.type = gossip::MessageType::kAck;
    view.ack.generation = Generation(3);
    view.cluster = ClusterId(std::array<std::uint8_t, ClusterId::kSizeBytes>{9});
    view.self = id(1);
    view.newest = Sequence(42);
    view.observers = {id(2), id(3)};
    view.trusted = {id(3)};
    return view;
  }
  static gossip::Envelope probe() {
    gossip::Envelope envelope;
    envelope.version = 7;
    envelope.type = gossip::MessageType::kProbe;
    envelope.generation = Generation(5);
    envelope.nonce = Nonce(77);
    return envelope;
  }
  static gossip::Received from(HostId host, const gossip::Envelope& envelope) {
    return {gossip::Route(4),
            gossip::Channel::kControl,
            gossip::encode(envelope, encode(Probe{})),
            {},
            {gossip::Sender::Kind::kHost, host}};
  }
  bool is_answered(const gossip::Received& received) const {
    return reflex_.answer(now_, received).has_value();
  }

  Reflex reflex_;
  Instant now_{std::chrono::hours(1)};
};

TEST_F(ReflexTest, AnAckSaysWhatTheNodesWouldSay) {
  const auto answer = reflex_.answer(now_, from(id(2), probe()));
  ASSERT_TRUE(answer.has_value());
  const auto message = gossip::decode(answer->ack);
  ASSERT_TRUE(message);
  EXPECT_EQ(message->envelope().nonce, Nonce(77));
  EXPECT_EQ(message->envelope().generation, Generation(3));
  const auto body = decode_body(message->envelope().type, message->body());
  ASSERT_TRUE(body.has_value());
  const Ack wanted{probe_me_next(now_, view().observers, id(2)), Sequence(42)};
  EXPECT_EQ(std::get<Ack>(*body), wanted);
}

TEST_F(ReflexTest, TheNodeMayHearLaterOfTrustedObserversAlone) {
  EXPECT_TRUE(reflex_.answer(now_, from(id(3), probe()))->is_usual);
  EXPECT_FALSE(reflex_.answer(now_, from(id(2), probe()))->is_usual);
  EXPECT_FALSE(reflex_.answer(now_, from(id(8), probe()))->is_usual) << "no observer: a leader";
}

TEST_F(ReflexTest, TheNodeJudgesWhateverIsNoPlainProbeOfAHost) {
  gossip::Received login = from(id(2), probe());
  login.sender.kind = gossip::Sender::Kind::kLogin;
  EXPECT_FALSE(is_answered(login));
  EXPECT_FALSE(is_answered(from(id(1), probe()))) << "its own id elsewhere";
  gossip::Received on_link = from(id(2), probe());
  on_link.route = gossip::Route();
  EXPECT_FALSE(is_answered(on_link)) << "there is no way back";

  gossip::Envelope other = probe();
  other.type = gossip::MessageType::kAck;
  EXPECT_FALSE(is_answered(from(id(2), other)));
  other = probe();
  other.version = 8;
  EXPECT_FALSE(is_answered(from(id(2), other)));
  other = probe();
  other.cluster = ClusterId(std::array<std::uint8_t, ClusterId::kSizeBytes>{8});
  EXPECT_FALSE(is_answered(from(id(2), other)));
  other.cluster = view().cluster;
  EXPECT_TRUE(is_answered(from(id(2), other)));
  other.from = id(3);
  EXPECT_FALSE(is_answered(from(id(2), other))) << "says it is another";
  other = probe();
  gossip::set_epoch(other, {2, 5});
  EXPECT_FALSE(is_answered(from(id(2), other)));

  gossip::Received broken = from(id(2), probe());
  broken.bytes.resize(broken.bytes.size() - 1);
  EXPECT_FALSE(is_answered(broken));
  broken.bytes = from(id(2), probe()).bytes + std::string(1 << 20, 'x');
  EXPECT_FALSE(is_answered(broken));
}

TEST_F(ReflexTest, ObserversAreSpreadOverThePeriod) {
  const std::vector<HostId> observers = view().observers;
  const Duration period = milliseconds(1000);
  for (int i = 0; i < 40; ++i) {
    const Instant now = now_ + milliseconds(37 * i);
    const Duration first = probe_me_next(now, observers, id(2));
    const Duration second = probe_me_next(now, observers, id(3));
    EXPECT_GE(first, period / 2);
    EXPECT_LT(first, period * 3 / 2);
    EXPECT_EQ((first - second + 2 * period) % period, period / 2);
    EXPECT_EQ(probe_me_next(now, observers, id(8)), period);
  }
}

}  // namespace
}  // namespace muster::membership
