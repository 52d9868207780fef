// Goal: the header of each answer. Method: answers before and after complete().

#include "agent/edge/door/http_reply.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace muster::agent {
namespace {

TEST(HttpReply, AddsSecurityFieldsAndLeavesThoseThatTheAnswerSets) {
  HttpAnswer answer;
  answer.fields = {{"cache-control", "max-age=60"}};
  complete(answer, 7);
  EXPECT_EQ(field_of(answer.fields, "cache-control"), "max-age=60");
  EXPECT_EQ(field_of(answer.fields, "x-frame-options"), "DENY");
  EXPECT_EQ(answer.fields.size(), 5U);
}

TEST(HttpReply, SpreadsRetryAfterAndShortensItNever) {
  std::set<std::string> seen;
  for (std::uint32_t chance = 0; chance < 100; ++chance) {
    HttpAnswer answer{503, "", {{"retry-after", "4"}}, ""};
    complete(answer, chance);
    seen.insert(answer.fields.front().second);
  }
  EXPECT_EQ(seen, (std::set<std::string>{"4", "5", "6"}));
  HttpAnswer odd{503, "", {{"retry-after", "Fri, 31 Dec 1999 23:59:59 GMT"}}, ""};
  complete(odd, 1);
  EXPECT_EQ(odd.fields.front().second, "Fri, 31 Dec 1999 23:59:59 GMT");
}

}  // namespace
}  // namespace muster::agent
