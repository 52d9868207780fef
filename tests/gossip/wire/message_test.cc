// Tests of the codec: it reads what it wrote, keeps newer elements, and refuses hostile bytes.

#include "gossip/wire/message.h"

#include <gtest/gtest.h>

#include "gossip/base/generation.h"
#include "gossip/base/rng.h"

namespace muster::gossip {
namespace {

Envelope sample() {
  Envelope envelope;
  envelope.version = 1;
  envelope.type = MessageType::kProbe;
  envelope.cluster = ClusterId::from_bytes("0123456789abcdef");
  envelope.from = HostId::from_bytes("fedcba9876543210");
  envelope.generation = Generation(7);
  envelope.nonce = Nonce(99);
  return envelope;
}

std::string sample_body() {
  return Encoder().array(2).u64(5).text("five").take();
}

TEST(Message, RoundTrips) {
  const Result<Message> message = decode(encode(sample(), sample_body()));
  ASSERT_TRUE(message.has_value());
  EXPECT_TRUE(message->envelope() == sample());
  Reader body = message->body();
  EXPECT_EQ(body.u64(), 5U);
  EXPECT_EQ(body.text(), "five");
  EXPECT_TRUE(body.ok());
}

TEST(Message, WordsOfMembershipAndRaftAreVital) {
  Envelope envelope = sample();
  EXPECT_TRUE(is_vital(encode(envelope, sample_body())));
  envelope.type = MessageType::kAppendReply;
  EXPECT_TRUE(is_vital(encode(envelope, sample_body())));
  for (const MessageType type : {MessageType::kRows, MessageType::kRequest, MessageType::kRenew}) {
    envelope.type = type;
    EXPECT_FALSE(is_vital(encode(envelope, sample_body())));
  }
  EXPECT_FALSE(is_vital(""));
  EXPECT_FALSE(is_vital(std::string_view("\x97", 1)));
  EXPECT_FALSE(is_vital("noise"));
}

TEST(Message, TrailingElementsOfANewerVersionSurviveReEncoding) {
  Envelope envelope = sample();
  envelope.trailing = Encoder().map(1).u64(1).text("new").u64(42).take();
  envelope.trailing_count = 2;
  const std::string bytes = encode(envelope, sample_body());
  const Result<Message> message = decode(bytes);
  ASSERT_TRUE(message.has_value());
  EXPECT_TRUE(message->envelope() == envelope);
  EXPECT_EQ(encode(message->envelope(), sample_body()), bytes);
}

TEST(Message, AGenerationBeyondTheLimitIsRefused) {
  Envelope envelope = sample();
  envelope.generation = Generation(kGenerationMax);
  EXPECT_TRUE(decode(encode(envelope, sample_body())).has_value());
  for (const std::uint64_t generation : {kGenerationMax + 1, UINT64_MAX}) {
    envelope.generation = Generation(generation);
    EXPECT_FALSE(decode(encode(envelope, sample_body())).has_value()) << generation;
  }
}

TEST(Generation, OnlyASmallLeapIsCredible) {
  EXPECT_TRUE(is_credible(Generation(9), Generation(3)));
  EXPECT_TRUE(is_credible(Generation(9), Generation(9 + kGenerationLeapMax)));
  EXPECT_FALSE(is_credible(Generation(9), Generation(10 + kGenerationLeapMax)));
  EXPECT_FALSE(is_credible(Generation(kGenerationMax), Generation(kGenerationMax + 1)));
}

TEST(Message, TruncatedAtAnyByteIsRefused) {
  const std::string bytes = encode(sample(), sample_body());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode(bytes.substr(0, size)).has_value()) << size;
  }
  EXPECT_FALSE(decode(bytes + "x").has_value());
}

TEST(Message, ItsHeadTellsItFromNoise) {
  for (const std::uint64_t number : {0UL, 127UL, 128UL, 255UL, 256UL, 65536UL, 1UL << 40U}) {
    Envelope envelope;
    envelope.type = MessageType::kRows;
    envelope.from = HostId::from_bytes("0123456789abcdef");
    envelope.generation = Generation(number);
    envelope.nonce = Nonce(number);
    envelope.trailing_count = number == 0 ? 0 : 20;
    envelope.trailing = std::string(envelope.trailing_count, '\1');
    const std::string bytes = encode(envelope, Encoder().array(0).take());
    ASSERT_TRUE(decode(bytes).has_value());
    EXPECT_TRUE(begins_as_message(bytes));
  }
  Rng rng(7);
  int taken = 0;
  for (int i = 0; i < 100'000; ++i) {
    std::string noise(64, '\0');
    for (char& byte : noise) {
      byte = static_cast<char>(rng.next());
    }
    taken += begins_as_message(noise) ? 1 : 0;
  }
  EXPECT_EQ(taken, 0);
  EXPECT_FALSE(begins_as_message(""));
}

/// Bytes that decode begin as a message, wherever they were damaged.
TEST(Message, NothingThatDecodesIsTakenForNoise) {
  Envelope envelope;
  envelope.nonce = Nonce(1U << 20U);
  const std::string bytes = encode(envelope, Encoder().array(0).take());
  Rng rng(8);
  for (int i = 0; i < 100'000; ++i) {
    std::string damaged = bytes;
    damaged[rng.below(damaged.size())] = static_cast<char>(rng.next());
    const bool is_taken = begins_as_message(damaged);
    EXPECT_TRUE(is_taken || !decode(damaged).has_value()) << testing::PrintToString(damaged);
  }
}

TEST(Message, HugeClaimsAndDeepNestingAreRefused) {
  EXPECT_FALSE(decode(std::string("\xdd\xff\xff\xff\xff", 5)).has_value());
  EXPECT_FALSE(decode(std::string(100'000, '\x91')).has_value());
  EXPECT_FALSE(decode(std::string(kMessageBytesMax + 1, '\x90')).has_value());
}

TEST(Message, MutatedBytesNeverCrashTheDecoder) {
  Rng rng(1);
  const std::string bytes = encode(sample(), sample_body());
  for (int round = 0; round < 20'000; ++round) {
    std::string mutated = bytes;
    for (std::uint64_t i = rng.below(4) + 1; i > 0; --i) {
      mutated[rng.below(mutated.size())] = static_cast<char>(rng.below(256));
    }
    const Result<Message> message = decode(mutated);
    if (message) {
      Reader body = message->body();
      body.u64();
      body.array();
      body.rest();
    }
  }
}

TEST(Reader, FailsForGoodAndYieldsZeroes) {
  const Result<Document> document = Document::parse(Encoder().array(2).text("a").u64(3).take());
  ASSERT_TRUE(document.has_value());
  Reader reader = document->root();
  EXPECT_EQ(reader.u64(), 0U);
  EXPECT_EQ(reader.u64(), 0U);
  EXPECT_FALSE(reader.ok());
}

}  // namespace
}  // namespace muster::gossip
