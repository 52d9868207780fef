// Tests of LinkKeys: fresh pairs differ, pairs of one seed are equal.

#include "gossip/edge/link_keys.h"

#include <gtest/gtest.h>

#include <utility>

#include "gossip/edge/proof_text.h"

namespace muster::gossip {
namespace {

TEST(LinkKeys, EveryPairIsNew) {
  const LinkKeys one = LinkKeys::make();
  const LinkKeys two = LinkKeys::make();
  EXPECT_TRUE(one.are_keys());
  EXPECT_NE(one.public_key, two.public_key);
  EXPECT_NE(one.secret_key, two.secret_key);
  EXPECT_FALSE(LinkKeys().are_keys());
}

/// Golden: tickets handed out by an older version make the same pair.
TEST(LinkKeys, ASeedMakesTheSamePairForEver) {
  const LinkKeys keys = LinkKeys::from_seed(std::string(kLinkSeedBytes, '\x07'));
  EXPECT_EQ(user_id_of(keys.public_key),
            "761d88ec830413919dfe9d4d1d56f17e653c8c994082df5b137b90a0ae6edf74");
  EXPECT_EQ(LinkKeys::from_seed(std::string(kLinkSeedBytes, '\x07')).secret_key, keys.secret_key);
  EXPECT_NE(LinkKeys::from_seed(std::string(kLinkSeedBytes, '\x08')).secret_key, keys.secret_key);
}

TEST(LinkKeys, CopiesLiveApart) {
  LinkKeys keys = LinkKeys::from_seed(std::string(kLinkSeedBytes, '\x07'));
  const std::string secret = keys.secret_key;
  {
    const LinkKeys copy = keys;
    EXPECT_EQ(copy.secret_key, secret);
  }
  EXPECT_EQ(keys.secret_key, secret);
  LinkKeys moved = std::move(keys);
  keys = LinkKeys::make();
  EXPECT_EQ(moved.secret_key, secret);
}

}  // namespace
}  // namespace muster::gossip
