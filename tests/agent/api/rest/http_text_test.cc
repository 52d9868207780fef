// Queries, proofs and media types as text; names as errors show them.

#include "agent/api/rest/http_text.h"

#include <gtest/gtest.h>

#include "agent/api/rest/field_text.h"
#include "scheduler/access/access_token.h"

namespace muster::agent {
namespace {

TEST(HttpTextTest, DecodesPercents) {
  EXPECT_EQ(percent_decoded("/v1/a%20b+c%2f%C3%A4"), "/v1/a b+c/\xc3\xa4");
  EXPECT_EQ(percent_decoded("%41"), "A");
  EXPECT_EQ(percent_decoded(""), "");
  for (const std::string_view bad :
       {"%", "%4", "a%4", "%4g", "%g4", "%%41", "%00", "%ff", "\xff"}) {
    EXPECT_EQ(percent_decoded(bad), std::nullopt) << bad;
  }
}

TEST(HttpTextTest, SplitsQueries) {
  const auto query = query_of("a=1&b=x+y%26%3D&&c&d==&a=");
  ASSERT_TRUE(query.has_value());
  EXPECT_EQ(*query, (HttpFields{{"a", "1"}, {"b", "x y&="}, {"c", ""}, {"d", "="}, {"a", ""}}));
  EXPECT_TRUE(query_of("").value().empty());
  std::string many;
  for (std::size_t i = 0; i <= kParametersMax; ++i) {
    many += "a&";
  }
  for (const std::string& bad : {std::string("=1"), std::string("a=1&%zz=2"), std::string("a=%ff"),
                                 many, std::string(kQueryBytesMax + 1, 'a')}) {
    EXPECT_FALSE(query_of(bad).has_value()) << bad.substr(0, 20);
  }
}

TEST(HttpTextTest, FindsTheProof) {
  const auto none = bearer_line({{"host", "n1"}});
  ASSERT_TRUE(none.has_value());
  EXPECT_EQ(*none, std::nullopt);
  for (const std::string& text :
       {std::string("Bearer muster-access-1.abc_-"), std::string("bearer  muster-access-1.abc_- "),
        std::string(" BEARER\tmuster-access-1.abc_-")}) {
    const auto line = bearer_line({{"authorization", text}});
    ASSERT_TRUE(line.has_value()) << text;
    EXPECT_EQ(*line, "muster-access-1.abc_-");
  }
  for (const std::string& text :
       {std::string(), std::string("Bearer"), std::string("Bearer "), std::string("Basic secret"),
        std::string("secret"), std::string("Bearersecret"), std::string("Bearer secret b"),
        std::string("Bearer secret\x01"),
        "Bearer secret" + std::string(scheduler::kAccessLineMax, 'a')}) {
    const auto line = bearer_line({{"authorization", text}});
    ASSERT_FALSE(line.has_value()) << text;
    EXPECT_EQ(line.error().text.find("secret"), std::string::npos);
  }
  EXPECT_FALSE(
      bearer_line({{"authorization", "Bearer a"}, {"authorization", "Bearer a"}}).has_value());
}

TEST(HttpTextTest, KnowsTheTypeOfJson) {
  for (const std::string_view type :
       {"application/json", "Application/JSON ", "application/json; charset=UTF-8",
        "application/json;charset=\"utf-8\"", "application/json;"}) {
    EXPECT_TRUE(is_json_type(type)) << type;
  }
  for (const std::string_view type :
       {"", "text/plain", "application/jsonp", "application/json; charset=latin1",
        "application/json, text/plain", "application/x-www-form-urlencoded", ";application/json"}) {
    EXPECT_FALSE(is_json_type(type)) << type;
  }
}

TEST(FieldTextTest, ShowsOneShortLine) {
  EXPECT_EQ(shown("a b"), "'a b'");
  EXPECT_EQ(shown("\x1b[2J\n\xff\xc3"),
            "'?[2J??"
            "?'");
  EXPECT_EQ(shown("\xc3\xa4"), "'\xc3\xa4'");
  EXPECT_EQ(shown("\xe2\x80\xae"), "'?'");  // It would turn the line round.
  EXPECT_EQ(shown(std::string(kShownBytesMax, 'a')), "'" + std::string(kShownBytesMax, 'a') + "'");
  EXPECT_EQ(shown(std::string(kShownBytesMax - 1, 'a') + "\xc3\xa4"),
            "'" + std::string(kShownBytesMax - 1, 'a') + "...'");
}

TEST(FieldTextTest, SaysWhatIsAllowed) {
  EXPECT_EQ(did_you_mean("gpsu", {"name", "gpus"}), "; did you mean gpus?");
  EXPECT_EQ(did_you_mean("gpsu", {}), "");
  EXPECT_EQ(any_of({"user"}), "user");
  EXPECT_EQ(any_of({"user", "type", "name"}), "user, type or name");
  EXPECT_EQ(not_in_range(1, 64), "has to be a whole number from 1 to 64");
  EXPECT_EQ(not_in_range(1, UINT64_MAX), "has to be a whole number of at least 1");
}

}  // namespace
}  // namespace muster::agent
