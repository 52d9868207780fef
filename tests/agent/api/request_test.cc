// Requests and responses: what is encoded comes back, what nobody knows is refused.

#include "agent/api/request.h"

#include <gtest/gtest.h>

#include "gossip/wire/wire.h"
#include "tests/cli/kit/samples.h"

namespace muster::agent {
namespace {

TEST(Request, EnvelopesRoundTrip) {
  const Request request{Verb::kOutput, true,       cli::host_id('a'), "arguments",
                        "ann",         "host-one", "host-two"};
  auto document = gossip::Document::parse(encode(request));
  ASSERT_TRUE(document.has_value());
  const auto read = decode_request(document->root());
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(encode(*read), encode(request));
  EXPECT_EQ(read->user, "ann");
  EXPECT_EQ(read->via, "host-one");
  EXPECT_EQ(read->node, "host-two");

  const Response response{ResponseStatus::kUnknown, "text", "a", 7, "payload"};
  document = gossip::Document::parse(encode(response));
  ASSERT_TRUE(document.has_value());
  const auto answered = decode_response(document->root());
  ASSERT_TRUE(answered.has_value());
  EXPECT_EQ(encode(*answered), encode(response));
}

TEST(Request, AStatusNobodyKnowsIsRefused) {
  Response response;
  response.status = static_cast<ResponseStatus>(8);
  auto document = gossip::Document::parse(encode(response));
  ASSERT_TRUE(document.has_value());
  EXPECT_FALSE(decode_response(document->root()).has_value());
}

}  // namespace
}  // namespace muster::agent
