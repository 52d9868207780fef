// Parameters by name and type.

#include "agent/api/rest/query_reader.h"

#include <gtest/gtest.h>

#include <functional>

namespace muster::agent {
namespace {

using QueryTexts = std::vector<std::string>;

TEST(QueryFieldsTest, GivesParametersByNameAndType) {
  const HttpFields query = {{"user", "ann"},
                            {"limit", "20"},
                            {"all", ""},
                            {"consistent", "false"},
                            {"state", "running,failed"},
                            {"by", "type"},
                            {"state", "queued"},
                            {"name", "a"}};
  QueryFields fields(query);
  EXPECT_EQ(fields.text("user"), "ann");
  EXPECT_EQ(fields.number("limit", 1, 1000), 20U);
  EXPECT_EQ(fields.boolean("all"), true);
  EXPECT_EQ(fields.boolean("consistent"), false);
  EXPECT_EQ(fields.choices("state", {"queued", "running", "failed"}),
            (QueryTexts{"running", "failed", "queued"}));
  EXPECT_EQ(fields.choice("by", {"user", "type"}), "type");
  EXPECT_EQ(fields.texts("name"), QueryTexts{"a"});
  EXPECT_TRUE(fields.has("name"));
  EXPECT_FALSE(fields.has("queue"));
  EXPECT_EQ(fields.texts("queue"), QueryTexts{});
  EXPECT_EQ(fields.text("after"), std::nullopt);
  EXPECT_EQ(fields.number("after", 0, 1), std::nullopt);
  EXPECT_EQ(fields.boolean("after"), std::nullopt);
  EXPECT_TRUE(fields.is_good());
  EXPECT_TRUE(fields.end().has_value());
}

struct ParameterMisuse {
  HttpFields query;
  std::function<void(QueryFields&)> takes;
  std::string text;
};

TEST(QueryFieldsTest, NamesTheParameterThatIsWrong) {
  const auto limit = [](QueryFields& f) { f.number("limit", 1, 1000); };
  const ParameterMisuse cases[] = {
      {{{"limt", "5"}}, limit, "unknown query parameter 'limt'; did you mean limit?"},
      {{{"limit", "1001"}},
       limit,
       "limit: it has to be a whole number from 1 to 1000, and is '1001'"},
      {{{"limit", "0"}}, limit, "limit: it has to be"},
      {{{"limit", ""}}, limit, "limit: it has to be"},
      {{{"limit", "+5"}}, limit, "limit: it has to be"},
      {{{"limit", "-5"}}, limit, "limit: it has to be"},
      {{{"limit", " 5"}}, limit, "limit: it has to be"},
      {{{"limit", "5x"}}, limit, "limit: it has to be"},
      {{{"limit", "18446744073709551617"}}, limit, "limit: it has to be"},
      {{{"limit", "5"}, {"limit", "6"}}, limit, "limit: it is given twice"},
      {{{"user", ""}}, [](QueryFields& f) { f.text("user"); }, "user: give a value"},
      {{{"all", "yes"}},
       [](QueryFields& f) { f.boolean("all"); },
       "all: 'yes' is not true or false"},
      {{{"by", "x"}},
       [](QueryFields& f) {
         f.choice("by", {"user", "type", "name"});
       },
       "by: 'x' is not user, type or name"},
      {{{"state", "a,,b"}},
       [](QueryFields& f) { f.texts("state"); },
       "state: an item of 'a,,b' is empty"},
      {{{"state", ""}}, [](QueryFields& f) { f.texts("state"); }, "state: an item of '' is empty"},
      {{{"state", "a,b"}},
       [](QueryFields& f) { f.choices("state", {"a"}); },
       "state: 'b' is not a"},
      {{{"x", "1"}}, [](QueryFields&) {}, "unknown query parameter 'x'"},
      {{{"x", "1"}}, [](QueryFields& f) { f.refuse("x", "not here"); }, "x: not here"},
  };
  for (const ParameterMisuse& misuse : cases) {
    QueryFields fields(misuse.query);
    misuse.takes(fields);
    const Status end = fields.end();
    ASSERT_FALSE(end.has_value()) << misuse.text;
    EXPECT_EQ(end.error().code, ErrorCode::kInvalid);
    EXPECT_TRUE(end.error().text.starts_with(misuse.text)) << end.error().text;
  }
}

}  // namespace
}  // namespace muster::agent
