// Tests of the codec of fields: it reads what it wrote, ignores newer trailing elements, and
// refuses hostile bytes.

#include "crdt/rows/host_state.h"

#include <gtest/gtest.h>

#include "gossip/base/rng.h"
#include "gossip/wire/wire.h"

namespace muster::crdt {
namespace {

HostId host(char last) {
  return HostId::from_bytes(std::string(15, 'h') + last);
}

Identity sample_identity() {
  Identity identity;
  identity.name = "node-1";
  identity.control = gossip::Endpoint::ipv4(10, 0, 0, 1, 7450);
  identity.bulk = gossip::Endpoint::ipv4(10, 0, 0, 1, 7451);
  identity.start_id = StartId(77);
  identity.boot_id = "b";
  identity.rack = "r1";
  identity.version = "0.1.0";
  identity.left = true;
  identity.https = gossip::Endpoint::ipv4(10, 0, 0, 1, 7449);
  return identity;
}

Capacity sample_capacity() {
  return {"H100", {{"GPU-1", true}, {"GPU-2", false}}, 64, 512'000, true};
}

TEST(HostState, EveryFieldComesBack) {
  EXPECT_EQ(decode_identity(encode(sample_identity())), sample_identity());
  EXPECT_EQ(decode_capacity(encode(sample_capacity())), sample_capacity());
  const QuorumView view{Term(3), host('a'), {host('a'), host('b')}, LogIndex(9)};
  EXPECT_EQ(decode_quorum_view(encode(view)), view);
  const std::vector<HostId> observers{host('a'), host('b')};
  EXPECT_EQ(decode_observers(encode_observers(observers)), observers);
  const std::vector<Claim> claims{{host('c'), Generation(2), ClaimKind::kRefused, true},
                                  {host('d'), Generation(1), ClaimKind::kSilent, false}};
  EXPECT_EQ(decode_evidence(encode_evidence(claims)), claims);
  EXPECT_EQ(decode_evidence(encode_evidence({})), std::vector<Claim>{});
}

TEST(HostState, AnIdentityWithoutHttpsIsThatOfAnOlderVersion) {
  Identity identity = sample_identity();
  identity.https = {};
  const std::string older = encode(identity);
  EXPECT_EQ(static_cast<unsigned char>(older[0]), 0x98) << "eight elements";
  EXPECT_EQ(decode_identity(older), identity);
  EXPECT_EQ(static_cast<unsigned char>(encode(sample_identity())[0]), 0x99);
}

TEST(HostState, TrailingElementsOfANewerVersionAreIgnored) {
  std::string newer = encode(sample_identity());
  newer[0] = static_cast<char>(newer[0] + 1);
  EXPECT_EQ(decode_identity(newer + gossip::Encoder().text("newer").take()), sample_identity());
  std::string bytes = encode(sample_capacity());
  bytes[0] = static_cast<char>(bytes[0] + 1);  // One more element in the fixarray header.
  EXPECT_EQ(decode_capacity(bytes + gossip::Encoder().u64(42).take()), sample_capacity());
}

TEST(HostState, TooManyOrTooLongThingsAreRefused) {
  Capacity capacity;
  capacity.gpus.resize(65);
  EXPECT_FALSE(decode_capacity(encode(capacity)).has_value());
  Identity identity = sample_identity();
  identity.name.assign(257, 'x');
  EXPECT_FALSE(decode_identity(encode(identity)).has_value());
  EXPECT_FALSE(decode_observers(encode_observers(std::vector<HostId>(65))).has_value());
  EXPECT_FALSE(decode_evidence(encode_evidence(std::vector<Claim>(1025))).has_value());
}

TEST(HostState, MutatedBytesNeverCrashADecoder) {
  Rng rng(1);
  const std::string samples[] = {encode(sample_identity()), encode(sample_capacity()),
                                 encode_evidence({{host('c'), Generation(2)}})};
  for (int round = 0; round < 5'000; ++round) {
    std::string bytes = samples[rng.below(3)];
    bytes[rng.below(bytes.size())] = static_cast<char>(rng.below(256));
    bytes.resize(bytes.size() - rng.below(3));
    decode_identity(bytes);
    decode_capacity(bytes);
    decode_quorum_view(bytes);
    decode_observers(bytes);
    decode_evidence(bytes);
  }
}

}  // namespace
}  // namespace muster::crdt
