// Tests of AccessToken: a line is read as a whole or refused, and the hash is that of one token.

#include "scheduler/access/access_token.h"

#include <gtest/gtest.h>

#include "gossip/base/rng.h"
#include "tests/gossip/base/stand_in_keys.h"

namespace muster::scheduler {
namespace {

const gossip::testing::StandInVerifier kTokenHashes;

AccessToken sample_token() {
  AccessToken token;
  token.cluster = ClusterId::from_bytes(std::string(16, 'c'));
  token.id = AccessTokenId::from_bytes(std::string(16, 't'));
  token.secret = std::string(kAccessSecretBytes, '\0');
  return token;
}

std::string error_in(std::string_view line) {
  const Result<AccessToken> token = access_token_in(line);
  return token.has_value() ? "" : token.error().text;
}

TEST(AccessTokenTest, ComesBackAsItWas) {
  const std::string line = to_line(sample_token());
  EXPECT_TRUE(line.starts_with("muster-access-1."));
  EXPECT_EQ(line.find_first_of(" \n\t+/="), std::string::npos) << line;
  EXPECT_LT(line.size(), 150U);
  const auto back = access_token_in("  " + line + "\n");
  ASSERT_TRUE(back.has_value()) << back.error().text;
  EXPECT_EQ(*back, sample_token());
}

TEST(AccessTokenTest, CutOffAnywhereOrMistypedItIsRefused) {
  const std::string line = to_line(sample_token());
  for (std::size_t size = 0; size < line.size(); ++size) {
    EXPECT_FALSE(access_token_in(line.substr(0, size)).has_value()) << size;
  }
  for (std::size_t at = 0; at < line.size(); ++at) {
    std::string wrong = line;
    wrong[at] = wrong[at] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(access_token_in(wrong).has_value()) << at;
  }
  for (const std::string& wrong :
       {line + "A", line + line, line + std::string(5'000, 'A'), std::string(10'000, ' ') + line}) {
    EXPECT_FALSE(access_token_in(wrong).has_value());
  }
}

TEST(AccessTokenTest, RandomLettersAreNone) {
  Rng rng(1);
  for (int run = 0; run < 10'000; ++run) {
    std::string line = "muster-access-1.";
    for (std::uint64_t left = rng.below(200); left > 0; --left) {
      line += "ABCabc019-_"[rng.below(11)];
    }
    EXPECT_FALSE(access_token_in(line).has_value()) << line;
  }
}

TEST(AccessTokenTest, OfAnotherClusterItIsDenied) {
  const std::string line = to_line(sample_token());
  EXPECT_TRUE(access_token_of(line, sample_token().cluster).has_value());
  const auto other = access_token_of(line, ClusterId());
  ASSERT_FALSE(other.has_value());
  EXPECT_EQ(other.error().code, ErrorCode::kDenied);
  EXPECT_EQ(access_token_of("hello", ClusterId()).error().code, ErrorCode::kInvalid);
}

TEST(AccessTokenTest, TheHashIsThatOfOneToken) {
  const std::string hash = hash_of(sample_token(), kTokenHashes);
  EXPECT_EQ(hash.size(), gossip::kSha256Bytes);
  EXPECT_TRUE(is_token_of(sample_token(), hash, kTokenHashes));
  AccessToken other = sample_token();
  other.secret[31] = 'x';
  EXPECT_FALSE(is_token_of(other, hash, kTokenHashes));
  other = sample_token();
  other.id = AccessTokenId();
  EXPECT_FALSE(is_token_of(other, hash, kTokenHashes)) << "the same secret under another id";
  other = sample_token();
  other.cluster = ClusterId();
  EXPECT_FALSE(is_token_of(other, hash, kTokenHashes));
  EXPECT_FALSE(is_token_of(sample_token(), hash.substr(1), kTokenHashes));
  EXPECT_FALSE(is_token_of(sample_token(), "", kTokenHashes));
}

TEST(AccessTokenTest, SaysWhatIsWrong) {
  EXPECT_NE(error_in("muster-access-2.abc").find("version"), std::string::npos);
  EXPECT_NE(error_in("muster1.abc").find("is not an access token"), std::string::npos);
  EXPECT_NE(error_in("muster-access-1.abc").find("cut off or mistyped"), std::string::npos);
}

}  // namespace
}  // namespace muster::scheduler
