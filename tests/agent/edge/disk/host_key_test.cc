// The host's identity: made once, the same after every start, provable by signature.

#include "agent/edge/disk/host_key.h"

#include <gtest/gtest.h>

namespace muster::agent {
namespace {

TEST(HostKey, IsMadeOnceAndLoadedAfterwards) {
  const auto made = HostKey::load_or_make({});
  ASSERT_TRUE(made.has_value());
  EXPECT_FALSE(made->host_id().is_zero());
  const crdt::WriteBatch writes = made->writes();
  ASSERT_EQ(writes.size(), 1U);
  const auto loaded = HostKey::load_or_make({{writes[0].key, *writes[0].value}});
  ASSERT_TRUE(loaded.has_value());
  EXPECT_EQ(loaded->host_id(), made->host_id());
  EXPECT_TRUE(loaded->writes().empty());
}

TEST(HostKey, TwoHostsDiffer) {
  EXPECT_NE(HostKey::load_or_make({})->host_id(), HostKey::load_or_make({})->host_id());
}

TEST(HostKey, AWrongSeedRecordIsCorrupt) {
  const auto key = HostKey::load_or_make({{std::string(kHostKeyRecord), "short"}});
  ASSERT_FALSE(key.has_value());
  EXPECT_EQ(key.error().code, ErrorCode::kCorrupt);
}

TEST(HostKey, TheIdFollowsFromTheSeedForEver) {
  const HostKey key = HostKey::from_seed(std::string(HostKey::kSeedBytes, '\x01'));
  EXPECT_EQ(key.host_id(), HostKeyVerifier().host_of(key.public_key()));
  EXPECT_EQ(key.host_id().hex(), "c5e21ab1c9f6022d81c3b25e3436cb7f");
}

TEST(HostKey, SignaturesVerifyAndForgeriesDoNot) {
  const HostKey key = HostKey::from_seed(std::string(HostKey::kSeedBytes, '\x01'));
  const HostKey other = HostKey::from_seed(std::string(HostKey::kSeedBytes, '\x02'));
  const std::string signature = key.sign("message");
  EXPECT_TRUE(HostKeyVerifier().verify(key.public_key(), "message", signature));
  EXPECT_FALSE(HostKeyVerifier().verify(key.public_key(), "massage", signature));
  EXPECT_FALSE(HostKeyVerifier().verify(other.public_key(), "message", signature));
  EXPECT_FALSE(HostKeyVerifier().verify("", "message", signature));
  EXPECT_FALSE(HostKeyVerifier().verify(key.public_key(), "message", "short"));
}

TEST(HostKey, TheHashesAreThoseOfTheStandard) {
  // FIPS 180-4, of the word "abc".
  EXPECT_TRUE(HostKeyVerifier().sha256("abc").starts_with("\xba\x78\x16\xbf\x8f\x01\xcf\xea"));
  EXPECT_EQ(HostKeyVerifier().sha256("").size(), gossip::kSha256Bytes);
  EXPECT_TRUE(HostKeyVerifier().sha512("abc").starts_with("\xdd\xaf\x35\xa1\x93\x61\x7a\xba"));
  EXPECT_EQ(HostKeyVerifier().sha512("").size(), gossip::kSha512Bytes);
}

TEST(HostKeyMaker, TheSeedOfALinkAlsoSignsAndShowsItsLinkKey) {
  const HostKeyMaker maker;
  const std::string seed = maker.make_seed();
  EXPECT_NE(seed, maker.make_seed());
  const auto signer = maker.signer_of(seed);
  ASSERT_NE(signer, nullptr);
  EXPECT_EQ(HostKeyVerifier().link_key_of(signer->public_key()), maker.link_key_of(seed));
  EXPECT_EQ(HostKeyVerifier().link_key_of("no key"), "");
  EXPECT_EQ(maker.signer_of("no seed"), nullptr);
  EXPECT_EQ(maker.link_key_of("no seed"), "");
}

TEST(HostKey, OpensWhatIsSealedToItAndNobodyElse) {
  const HostKey key = HostKey::from_seed(std::string(HostKey::kSeedBytes, 'a'));
  const HostKey other = HostKey::from_seed(std::string(HostKey::kSeedBytes, 'b'));
  std::string sealed = HostKeyVerifier().seal(key.public_key(), "the secret");
  EXPECT_EQ(sealed.find("the secret"), std::string::npos);
  EXPECT_EQ(key.open(sealed), "the secret");
  EXPECT_FALSE(other.open(sealed).has_value());
  sealed.back() = static_cast<char>(sealed.back() ^ 1);
  EXPECT_FALSE(key.open(sealed).has_value());
  EXPECT_FALSE(key.open("short").has_value());
  EXPECT_EQ(HostKeyVerifier().seal("no key", "the secret"), "");
}

TEST(HostKeyVerifier, DigestsDifferWithTheWords) {
  const HostKeyVerifier verifier;
  EXPECT_EQ(verifier.digest("a").size(), gossip::kDigestBytes);
  EXPECT_EQ(verifier.digest("a"), verifier.digest("a"));
  EXPECT_NE(verifier.digest("a"), verifier.digest("b"));
}

}  // namespace
}  // namespace muster::agent
