// Tests of ExpectedKeys: an endpoint has one key, a key may have many endpoints.

#include "gossip/edge/expected_keys.h"

#include <gtest/gtest.h>

namespace muster::gossip {
namespace {

using Change = ExpectedKeys::Change;

const Endpoint kControlPort = Endpoint::ipv4(10, 0, 0, 1, 7450);
const Endpoint kBulkPort = Endpoint::ipv4(10, 0, 0, 1, 7451);

std::string named(char c) {
  return std::string(kLinkKeyBytes, c);
}

TEST(ExpectedKeys, OnlyANewKeyIsAChange) {
  ExpectedKeys keys;
  EXPECT_EQ(keys.find(kControlPort), nullptr);
  EXPECT_EQ(keys.expect({kControlPort, ""}), Change::kNone);
  EXPECT_EQ(keys.expect({kControlPort, named('a')}), Change::kNew);
  EXPECT_EQ(keys.expect({kControlPort, named('a')}), Change::kNone);
  EXPECT_EQ(*keys.find(kControlPort), named('a'));
  EXPECT_EQ(keys.expect({kControlPort, "no key"}), Change::kNew) << "none is expected";
  EXPECT_EQ(keys.find(kControlPort), nullptr);
}

TEST(ExpectedKeys, AKeyThatIsTakenOutIsExpectedNowhere) {
  ExpectedKeys keys;
  keys.expect({kControlPort, named('a')});
  keys.expect({kBulkPort, named('a')});
  EXPECT_EQ(keys.take_out(named('a')), (std::vector<Endpoint>{kControlPort, kBulkPort}));
  EXPECT_EQ(keys.find(kBulkPort), nullptr);
  keys.expect({kControlPort, named('a')});
  keys.expect({kControlPort, named('b')});
  EXPECT_TRUE(keys.take_out(named('a')).empty()) << "the endpoint has another key by now";
  EXPECT_EQ(*keys.find(kControlPort), named('b'));
}

TEST(ExpectedKeys, AFullTableChangesWhatItHas) {
  ExpectedKeys keys(1);
  keys.expect({kControlPort, named('a')});
  EXPECT_EQ(keys.expect({kBulkPort, named('b')}), Change::kTooMany);
  EXPECT_EQ(keys.expect({kControlPort, named('b')}), Change::kNew);
}

}  // namespace
}  // namespace muster::gossip
