// Requests and responses: what is encoded comes back, what nobody knows is refused.

#include "agent/api/request.h"

#include <gtest/gtest.h>

#include "gossip/wire/wire.h"
#include "tests/agent/api/filled.h"

namespace muster::agent {
namespace {

TEST(Request, EachFieldOfARequestComesBack) {
  const auto request = testing::filled<Request>();
  auto document = gossip::Document::parse(encode(request));
  ASSERT_TRUE(document.has_value());
  EXPECT_TRUE(decode_request(document->root()) == request);
}

TEST(Request, EachFieldOfAResponseComesBack) {
  const auto response = testing::filled<Response>();
  auto document = gossip::Document::parse(encode(response));
  ASSERT_TRUE(document.has_value());
  EXPECT_TRUE(decode_response(document->root()) == response);
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
