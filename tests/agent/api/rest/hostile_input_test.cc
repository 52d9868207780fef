// Mutated bodies, queries and paths: any bytes get a value or a short error.

#include <gtest/gtest.h>

#include <iterator>
#include <string>
#include <string_view>
#include <variant>

#include "agent/api/rest/http_text.h"
#include "agent/api/rest/json_reader.h"
#include "agent/api/rest/query_reader.h"
#include "agent/api/rest/route.h"
#include "gossip/base/name.h"
#include "gossip/base/rng.h"

namespace muster::agent {
namespace {

constexpr int kHostileRounds = 10'000;
constexpr std::size_t kHostileErrorMax = 600;

std::string mutated(std::string text, Rng& rng) {
  static constexpr std::string_view kPieces[] = {"{",
                                                 "}",
                                                 "[",
                                                 "]",
                                                 "\"",
                                                 ",",
                                                 ":",
                                                 "\\u0000",
                                                 "\\ud800",
                                                 "1e999",
                                                 "-",
                                                 "null",
                                                 "%",
                                                 "%00",
                                                 "&",
                                                 "=",
                                                 "+",
                                                 "\xff",
                                                 "\xc3",
                                                 std::string_view("\0", 1),
                                                 "/",
                                                 ":cancel",
                                                 "[[[[[[[[[[[[[[[[["};
  for (std::uint64_t edits = 1 + rng.below(8); edits > 0; --edits) {
    const std::size_t at = rng.below(text.size() + 1);
    switch (rng.below(4)) {
      case 0:
        text.insert(at, kPieces[rng.below(std::size(kPieces))]);
        break;
      case 1:
        text.erase(at, rng.below(8));
        break;
      case 2:
        text.insert(at, text.substr(rng.below(text.size() + 1), rng.below(64)));
        break;
      default:
        if (at < text.size()) {
          text[at] = static_cast<char>(rng.below(256));
        }
    }
  }
  return text;
}

void expect_short_text(const std::string& error, const std::string& input) {
  EXPECT_FALSE(error.empty()) << input;
  EXPECT_LT(error.size(), kHostileErrorMax) << input;
  EXPECT_TRUE(is_utf8(error)) << input;
}

/// Reads the value as a body of any verb may be read; gives the error, or "".
std::string read_as_submit(const JsonValue& value) {
  JsonFields fields(value);
  fields.need("command");
  fields.texts("command");
  fields.text("name");
  fields.integer("priority", -100, 100);
  fields.named_texts("environment");
  if (JsonFields* resources = fields.object("resources")) {
    resources->number("gpus", 0, 64);
    resources->choice("within", {"host", "rack"});
  }
  for (JsonFields* each : fields.objects("after")) {
    each->text("job");
    each->boolean("ok");
  }
  const Status end = fields.end();
  return end.has_value() ? "" : end.error().text;
}

TEST(HostileInputTest, BodiesAreReadOrRefused) {
  const std::string whole =
      R"({"command": ["a", "b"], "name": "x", "priority": -3, "environment": {"LANG": "C"},)"
      R"( "resources": {"gpus": 8, "within": "host"}, "after": [{"job": "7.12", "ok": true}]})";
  ASSERT_EQ(read_as_submit(read_json(whole).value()), "");
  Rng rng(7);
  int read = 0;
  int good = 0;
  for (int round = 0; round < kHostileRounds; ++round) {
    const std::string body = mutated(whole, rng);
    const auto value = read_json(body);
    if (!value.has_value()) {
      expect_short_text(value.error().text, body);
      continue;
    }
    ++read;
    const std::string error = read_as_submit(*value);
    if (error.empty()) {
      ++good;
    } else {
      expect_short_text(error, body);
    }
  }
  // The mutants reach each stage.
  EXPECT_GT(good, 0);
  EXPECT_GT(read, good);
  EXPECT_LT(read, kHostileRounds);
}

TEST(HostileInputTest, QueriesAreReadOrRefused) {
  Rng rng(11);
  int good = 0;
  for (int round = 0; round < kHostileRounds; ++round) {
    const std::string text =
        mutated("state=running,failed&user=a%C3%A4+b&limit=20&after=7&all&by=user", rng);
    const auto query = query_of(text);
    if (!query.has_value()) {
      expect_short_text(query.error().text, text);
      continue;
    }
    QueryFields fields(*query);
    fields.choices("state", {"running", "failed"});
    fields.text("user");
    fields.number("limit", 1, 1000);
    fields.number("after", 0, UINT64_MAX);
    fields.boolean("all");
    fields.choice("by", {"user", "type"});
    const Status end = fields.end();
    if (end.has_value()) {
      ++good;
    } else {
      expect_short_text(end.error().text, text);
    }
  }
  EXPECT_GT(good, 0);
  EXPECT_LT(good, kHostileRounds);
}

TEST(HostileInputTest, PathsAreMatchedOrRefused) {
  constexpr HttpMethod kMethods[] = {HttpMethod::kGet, HttpMethod::kPost, HttpMethod::kOther};
  Rng rng(13);
  int matched = 0;
  for (int round = 0; round < kHostileRounds; ++round) {
    const Route& route = routes()[rng.below(routes().size())];
    const std::string path = mutated(std::string(route.path), rng);
    const auto found = match(kMethods[rng.below(std::size(kMethods))], path);
    if (const auto* none = std::get_if<NoRoute>(&found)) {
      expect_short_text(none->text, path);
      EXPECT_EQ(none->status == 405, !none->allow.empty());
    } else {
      ++matched;
      for (const auto& [name, value] : std::get<RouteMatch>(found).values) {
        EXPECT_FALSE(value.empty()) << path;
        EXPECT_EQ(value.find_first_of("/:"), std::string::npos) << path;
      }
    }
  }
  EXPECT_GT(matched, 0);
  EXPECT_LT(matched, kHostileRounds);
}

}  // namespace
}  // namespace muster::agent
