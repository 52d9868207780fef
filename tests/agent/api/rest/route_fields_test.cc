// Each rule takes the parameters and members that its list has, in the ways that the list says, and
// no others.

#include "agent/api/rest/route_fields.h"

#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <string>

#include "agent/api/rest/call.h"
#include "agent/api/rest/json_reader.h"
#include "tests/agent/api/rest/call_testing.h"

namespace muster::agent {
namespace {

using FieldLines = std::set<std::string>;

std::string line_of(const std::string& path, FieldKind kind, const std::string& choices,
                    std::uint64_t min, std::uint64_t max) {
  return path + " kind " + std::to_string(static_cast<int>(kind)) + " {" + choices + "} " +
         std::to_string(min) + " to " + std::to_string(max);
}

/// The fields that a rule took; an item of a list stands for all.
void add_taken(const FieldLog& log, FieldLines& lines) {
  static const std::regex kItem(R"(\[\d+\])");
  for (const TakenField& field : log) {
    std::string choices;
    for (const std::string_view each : field.allowed) {
      choices.append(choices.empty() ? "" : "|").append(each);
    }
    lines.insert(line_of(std::regex_replace(field.path, kItem, "[]"), field.kind, choices,
                         field.min, field.max));
  }
}

void add_listed(std::span<const RouteField> fields, const std::string& within, FieldLines& lines) {
  for (const RouteField& field : fields) {
    const std::string path = within + std::string(field.name);
    lines.insert(line_of(path, field.kind, std::string(field.choices), field.min, field.max));
    add_listed(field.parts, path + (field.kind == FieldKind::kObjects ? "[]." : "."), lines);
  }
}

/// A value of that kind, so that the rule goes on behind it.
std::string sample_value(const RouteField& field, bool has_items);

std::string sample_object(std::span<const RouteField> fields, bool has_items) {
  std::string object;
  for (const RouteField& field : fields) {
    object += (object.empty() ? "" : ",") + ("\"" + std::string(field.name) + "\":") +
              sample_value(field, has_items);
  }
  return "{" + object + "}";
}

std::string sample_value(const RouteField& field, bool has_items) {
  const std::string first_choice(field.choices.substr(0, field.choices.find('|')));
  const std::string object = sample_object(field.parts, has_items);
  switch (field.kind) {
    case FieldKind::kText:
      return "\"x\"";
    case FieldKind::kChoice:
      return "\"" + first_choice + "\"";
    case FieldKind::kNumber:
      return std::to_string(field.min);
    case FieldKind::kInteger:
      return "1";
    case FieldKind::kBoolean:
      return "true";
    case FieldKind::kTexts:
      return "[\"x\"]";
    case FieldKind::kChoices:
      return "[\"" + first_choice + "\"]";
    case FieldKind::kObject:
      return object;
    case FieldKind::kObjects:
      return has_items ? "[" + object + "]" : "[]";
    case FieldKind::kNumbers:
    case FieldKind::kTextMap:
    case FieldKind::kNumberMap:
    case FieldKind::kObjectMap:
      break;
  }
  ADD_FAILURE() << "no route has such a field yet: " << field.name;
  return "null";
}

/// The path of the route with a number in the place of each part in braces.
RouteMatch match_of(const Route& route) {
  const std::string path =
      std::regex_replace(std::string(route.path), std::regex(R"(\{\w+\})"), "7");
  return std::get<RouteMatch>(match(route.method, path));
}

/// Runs the rule with that body, and adds what it took.
void drive(const Route& route, const std::string& body, FieldLines& query, FieldLines& members) {
  const RouteMatch found = match_of(route);
  ASSERT_EQ(found.route, &route) << route.path;
  const HttpFields nothing;
  const RestChance chance;
  const Result<JsonValue> json = read_json(body);
  ASSERT_TRUE(json.has_value()) << body;
  FieldLog query_log;
  FieldLog body_log;
  QueryFields asked(nothing, &query_log);
  JsonFields given(*json, &body_log);
  CallInput input{found, nothing, {}, asked, given, chance};
  begin_rule(input);
  add_taken(query_log, query);
  add_taken(body_log, members);
}

TEST(RouteFields, AreThoseThatTheRulesTake) {
  for (const Route& route : routes()) {
    const RouteFields& fields = fields_of(route.id);
    FieldLines query;
    FieldLines members;
    for (const bool has_items : {false, true}) {
      drive(route, sample_object(fields.body, has_items), query, members);
    }
    FieldLines listed_query;
    FieldLines listed_members;
    add_listed(fields.query, "", listed_query);
    add_listed(fields.body, "", listed_members);
    EXPECT_EQ(query, listed_query) << text_of(route.method) << " " << route.path;
    EXPECT_EQ(members, listed_members) << text_of(route.method) << " " << route.path;
  }
}

/// Without it, or with null, the request is refused before the node is asked, and the error names
/// it.
TEST(RouteFields, ThoseThatAreNeededAreMissed) {
  for (const Route& route : routes()) {
    for (const RouteField& field : fields_of(route.id).body) {
      if (!field.is_needed) {
        continue;
      }
      rest_testing::CallNode node;
      const std::string path =
          std::regex_replace(std::string(route.path), std::regex(R"(\{\w+\})"), "7");
      const std::string body = route.id == RouteId::kSubmit || route.id == RouteId::kDryRun
                                   ? R"({"command": ["x"], "ranks": 1, "gpus": 0})"
                               : field.name == "queues"       ? R"({"queues_version": 1})"
                               : field.name == "token_rights" ? R"({"made_for": "x"})"
                                                              : "{}";
      const HttpAnswer answer = node.run(rest_testing::send(route.method, path, body));
      EXPECT_EQ(answer.status, 400) << route.path;
      EXPECT_NE(answer.body.find(field.name), std::string::npos) << answer.body;
      EXPECT_TRUE(node.asked.empty());
    }
  }
}

}  // namespace
}  // namespace muster::agent
