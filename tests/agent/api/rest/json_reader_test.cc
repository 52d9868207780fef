// The form of a body, and members by name and type.

#include "agent/api/rest/json_reader.h"

#include <gtest/gtest.h>

#include <functional>

namespace muster::agent {
namespace {

std::string nested_lists(std::size_t depth) {
  return "{\"a\":" + std::string(depth - 1, '[') + std::string(depth - 1, ']') + "}";
}

std::string body_error(std::string_view body) {
  const auto value = read_json(body);
  return value.has_value() ? "" : value.error().text;
}

TEST(JsonReaderTest, TakesWhatIsStrictJson) {
  const std::string bodies[] = {
      "{}", " {\"a\": [1, -1, 1.5, true, null, {\"b\": \"\\u00e4\"}]}\r\n",
      "{\"a\": 18446744073709551615, \"b\": -9223372036854775808}",
      "{\"\": {\"a\": 1}, \"a\": {\"a\": 1}}", nested_lists(kJsonDepthMax)};
  for (const std::string& body : bodies) {
    EXPECT_EQ(body_error(body), "") << body;
  }
}

struct BodyRefusal {
  std::string body;
  std::string text;  ///< A part of it.
};

TEST(JsonReaderTest, RefusesTheRestAndSaysWhere) {
  const BodyRefusal cases[] = {
      {"", "ends before its JSON does"},
      {"{\"a\":1", "ends before its JSON does"},
      {"{\"a\":\"x", "ends before its JSON does"},
      {"{\"a\":}", "not JSON: see byte 6"},
      {"{} x", "not JSON: see byte 4"},
      {"{}{}", "not JSON: see byte 3"},
      {"{\"a\":1,}", "not JSON"},
      {"{\"a\":01}", "not JSON"},
      {"{\"a\":NaN}", "not JSON"},
      {"{'a':1}", "not JSON"},
      {"{/**/}", "not JSON"},
      {"{\"a\":\"\t\"}", "not JSON"},
      {"{\"a\":\"\\ud800\"}", "not JSON"},
      {"{\"a\":1e999}", "a number is too large"},
      {"[]", "has to be a JSON object"},
      {"7", "has to be a JSON object"},
      {"\xef\xbb\xbf{}", "byte order mark"},
      {"{\"a\":\"\xff\"}", "not UTF-8"},
      {"{\"a\":1,\"b\":2,\"a\":3}", "'a' is given twice"},
      {"{\"a\":1,\"\\u0061\":3}", "'a' is given twice"},
      {"{\"moves\":[{\"to\":\"a\"},{\"from\":1,\"from\":2}]}", "'moves[1].from' is given twice"},
      {"{\"r\":{\"g\":{\"x\":1,\"x\":1}}}", "'r.g.x' is given twice"},
      {nested_lists(kJsonDepthMax + 1), "more than 16 objects and lists"},
      {std::string(kJsonBytesMax, '['), "more than 16 objects and lists"},
      {std::string(kJsonBytesMax + 1, ' '), "longer than 1048576 bytes"},
  };
  for (const BodyRefusal& refusal : cases) {
    const std::string error = body_error(refusal.body);
    EXPECT_NE(error.find(refusal.text), std::string::npos)
        << refusal.body.substr(0, 80) << " -> " << error;
  }
}

TEST(JsonReaderTest, CountsValues) {
  std::string items = "1";
  for (std::size_t i = 0; i < kJsonValuesMax; ++i) {
    items += ",1";
  }
  EXPECT_NE(body_error("{\"a\":[" + items + "]}").find("more than 65536 values"),
            std::string::npos);
}

TEST(JsonFieldsTest, GivesMembersByNameAndType) {
  const auto body = read_json(
      R"({"name": "x", "gpus": 8, "priority": -3, "wait": true, "argv": ["a", ""],
          "env": {"LANG": "C"}, "max": {"h100": 4}, "sizes": [1, 2], "none": null,
          "resources": {"cpus": 2}, "moves": [{"from": "a"}, {"from": "b"}],
          "queues": {"nlp": {"weight": 3}}, "by": "user"})");
  ASSERT_TRUE(body.has_value());
  JsonFields fields(*body);
  fields.need("name");
  EXPECT_EQ(fields.text("name"), "x");
  EXPECT_EQ(fields.number("gpus", 0, 8), 8U);
  EXPECT_EQ(fields.integer("priority", -10, 10), -3);
  EXPECT_EQ(fields.boolean("wait"), true);
  EXPECT_EQ(fields.texts("argv"), (JsonFields::Texts{"a", ""}));
  EXPECT_EQ(fields.named_texts("env"), (JsonFields::Named<std::string>{{"LANG", "C"}}));
  EXPECT_EQ(fields.named_numbers("max", 0, 9), (JsonFields::Named<std::uint64_t>{{"h100", 4}}));
  EXPECT_EQ(fields.numbers("sizes", 0, 9), (std::vector<std::uint64_t>{1, 2}));
  EXPECT_FALSE(fields.has("none"));
  EXPECT_TRUE(fields.is_null("none"));
  EXPECT_EQ(fields.text("absent"), std::nullopt);
  EXPECT_FALSE(fields.is_null("absent"));
  JsonFields* resources = fields.object("resources");
  ASSERT_NE(resources, nullptr);
  EXPECT_EQ(resources->number("cpus", 1, 2), 2U);
  const auto moves = fields.objects("moves");
  ASSERT_EQ(moves.size(), 2U);
  EXPECT_EQ(moves[0]->text("from"), "a");
  EXPECT_EQ(moves[1]->text("from"), "b");
  const auto queues = fields.named_objects("queues");
  ASSERT_EQ(queues.size(), 1U);
  EXPECT_EQ(queues[0].first, "nlp");
  EXPECT_EQ(queues[0].second->number("weight", 1, 9), 3U);
  EXPECT_EQ(fields.choice("by", {"user", "type"}), "user");
  EXPECT_TRUE(fields.is_good());
  const Status end = fields.end();
  EXPECT_TRUE(end.has_value()) << (end.has_value() ? "" : end.error().text);
}

struct MemberMisuse {
  std::string body;
  std::function<void(JsonFields&)> takes;
  std::string text;
};

TEST(JsonFieldsTest, NamesTheMemberThatIsWrongByItsPath) {
  const auto resources = [](JsonFields& f) {
    if (JsonFields* part = f.object("resources")) {
      part->number("gpus", 1, 64);
    }
  };
  const MemberMisuse cases[] = {
      {R"({"resources": {"gpus": 65}})", resources,
       "'resources.gpus' has to be a whole number from 1 to 64"},
      {R"({"resources": {"gpus": 1.0}})", resources, "'resources.gpus' has to be a whole number"},
      {R"({"resources": {"gpus": "1"}})", resources, "'resources.gpus' has to be a whole number"},
      {R"({"resources": {"gpus": -1}})", resources, "'resources.gpus' has to be a whole number"},
      {R"({"resources": {"gpsu": 1}})", resources,
       "unknown member 'resources.gpsu'; did you mean gpus?"},
      {R"({"resources": 7})", resources, "'resources' has to be an object"},
      {R"({"resource": {}})", resources, "unknown member 'resource'; did you mean resources?"},
      {R"({"a": 1})", [](JsonFields&) {}, "unknown member 'a'"},
      {R"({"a": null})", [](JsonFields& f) { f.has("a"); }, "unknown member 'a'"},
      {"{}", [](JsonFields& f) { f.need("command"); }, "'command' is missing"},
      {R"({"command": null})", [](JsonFields& f) { f.need("command"); }, "'command' is missing"},
      {R"({"a": 1})", [](JsonFields& f) { f.text("a"); }, "'a' has to be a text"},
      {R"({"a": "x\u0000y"})", [](JsonFields& f) { f.text("a"); }, "'a' has a zero byte"},
      {R"({"a": 1})", [](JsonFields& f) { f.boolean("a"); }, "'a' has to be true or false"},
      {R"({"a": "x"})", [](JsonFields& f) { f.texts("a"); }, "'a' has to be a list"},
      {R"({"a": ["x", 1]})", [](JsonFields& f) { f.texts("a"); }, "'a[1]' has to be a text"},
      {R"({"a": [1]})", [](JsonFields& f) { f.objects("a"); }, "'a[0]' has to be an object"},
      {R"({"a": {"b": 1}})", [](JsonFields& f) { f.named_objects("a"); },
       "'a.b' has to be an object"},
      {R"({"a": {"b": 1}})", [](JsonFields& f) { f.named_texts("a"); }, "'a.b' has to be a text"},
      {R"({"a": {"b": 1}})", [](JsonFields& f) { f.named_numbers("a", 2, UINT64_MAX); },
       "'a.b' has to be a whole number of at least 2"},
      {R"({"a": [3]})", [](JsonFields& f) { f.numbers("a", 0, 2); },
       "'a[0]' has to be a whole number from 0 to 2"},
      {R"({"a": 9223372036854775808})", [](JsonFields& f) { f.integer("a", INT64_MIN, INT64_MAX); },
       "'a' has to be a whole number from -9223372036854775808 to 9223372036854775807"},
      {R"({"a": "z"})",
       [](JsonFields& f) {
         f.choice("a", {"x", "y"});
       },
       "'a' has to be x or y, and is 'z'"},
      {R"({"a": 1, "b": 2})",
       [](JsonFields& f) {
         f.refuse("a", "not with b");
         f.text("b");
       },
       "'a': not with b"},
      {R"({"\u001b[2J": 1})", [](JsonFields&) {}, "unknown member '?[2J'"},
  };
  for (const MemberMisuse& misuse : cases) {
    const auto body = read_json(misuse.body);
    ASSERT_TRUE(body.has_value()) << misuse.body;
    JsonFields fields(*body);
    misuse.takes(fields);
    const Status end = fields.end();
    ASSERT_FALSE(end.has_value()) << misuse.body;
    EXPECT_EQ(end.error().code, ErrorCode::kInvalid);
    EXPECT_TRUE(end.error().text.starts_with(misuse.text)) << end.error().text;
  }
}

}  // namespace
}  // namespace muster::agent
