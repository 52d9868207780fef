// Tests of the parsers of libzmq's properties: a text of any other form proves no sender.

#include "gossip/edge/proof_text.h"

#include <gtest/gtest.h>

#include "gossip/wire/transport.h"

namespace muster::gossip {
namespace {

TEST(ProofText, AKeyComesBackFromItsUserId) {
  std::string key;
  for (std::size_t i = 0; i < kLinkKeyBytes; ++i) {
    key += static_cast<char>(8 * i);
  }
  EXPECT_EQ(user_id_of(key).size(), 2 * kLinkKeyBytes);
  EXPECT_EQ(key_of_user_id(user_id_of(key)), key);
}

TEST(ProofText, OtherUserIdsAreNoKeys) {
  const std::string good = user_id_of(std::string(kLinkKeyBytes, '\xab'));
  for (const std::string& bad :
       {std::string(), good + "0", good.substr(1), good.substr(1) + "g", "AB" + good.substr(2),
        std::string("0x") + good.substr(2), std::string(2 * kLinkKeyBytes, '\0')}) {
    EXPECT_FALSE(key_of_user_id(bad).has_value()) << bad;
  }
}

TEST(ProofText, TheKernelTellsTheUid) {
  EXPECT_EQ(uid_of_peer_address("localhost:1000:1001:4711"), 1000U);
  EXPECT_EQ(uid_of_peer_address("localhost:0:0:1"), 0U);
  EXPECT_EQ(uid_of_peer_address("localhost:4294967294:0:1"), 4294967294U);
}

TEST(ProofText, OtherAddressesHaveNoUid) {
  for (const std::string_view bad :
       {"", "localhost", "localhost:", "localhost::0:1", "localhost:0:0",
        "localhost:0:0:", "localhost:0:0:1:", "localhost:0:0:1 ", "localhost:-1:0:1",
        "localhost:+1:0:1", "localhost:4294967296:0:1", "127.0.0.1:0:0:1", "localhost:0:x:1"}) {
    EXPECT_FALSE(uid_of_peer_address(bad).has_value()) << bad;
  }
}

}  // namespace
}  // namespace muster::gossip
