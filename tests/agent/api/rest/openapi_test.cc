// The description of REST for programs: complete, without loose ends, and always the same.

#include "agent/api/rest/openapi.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "agent/api/json/dump.h"
#include "agent/api/rest/openapi_schemas.h"
#include "agent/api/rest/route.h"
#include "agent/api/rest/route_fields.h"
#include "agent/api/users.h"
#include "tests/agent/api/rest/call_testing.h"

namespace muster::agent {
namespace {

Json described() {
  return Json::parse(openapi_document());
}

std::string method_key(const Route& route) {
  std::string key(text_of(route.method));
  std::transform(key.begin(), key.end(), key.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return key;
}

/// All texts of "$ref" in it and below it.
void add_refs(const Json& json, std::set<std::string>& refs) {
  if (json.is_object() && json.contains("$ref")) {
    refs.insert(json["$ref"].get<std::string>());
  }
  for (const auto& each : json) {
    if (each.is_structured()) {
      add_refs(each, refs);
    }
  }
}

TEST(OpenApi, EachRouteHasAnOperation) {
  const Json document = described();
  EXPECT_EQ(document["openapi"], "3.1.0");
  std::set<std::string> ids;
  std::size_t operations = 0;
  for (const Route& route : routes()) {
    ASSERT_TRUE(document["paths"].contains(std::string(route.path))) << route.path;
    const Json& path = document["paths"][std::string(route.path)];
    ASSERT_TRUE(path.contains(method_key(route))) << route.path;
    const Json& operation = path[method_key(route)];
    EXPECT_EQ(operation["summary"], std::string(route.summary));
    EXPECT_TRUE(ids.insert(operation["operationId"].get<std::string>()).second) << route.path;
    EXPECT_TRUE(operation["responses"].contains(std::to_string(route.status))) << route.path;
    EXPECT_EQ(operation.contains("requestBody"), route.body != BodyRule::kNone) << route.path;
  }
  for (const auto& path : document["paths"]) {
    operations += path.size();
  }
  EXPECT_EQ(operations, routes().size());
}

TEST(OpenApi, EachReferenceLeadsSomewhereAndEachComponentIsReferredTo) {
  const Json document = described();
  std::set<std::string> refs;
  add_refs(document, refs);
  for (const std::string& each : refs) {
    ASSERT_TRUE(each.starts_with("#/")) << each;
    EXPECT_TRUE(document.contains(Json::json_pointer(each.substr(1)))) << each;
  }
  for (const char* kind : {"schemas", "responses", "parameters", "headers"}) {
    for (const auto& [name, component] : document["components"][kind].items()) {
      EXPECT_TRUE(refs.contains("#/components/" + std::string(kind) + "/" + name)) << name;
    }
  }
}

TEST(OpenApi, EachFieldHasWords) {
  const Json document = described();
  for (const auto& [name, schema] : document["components"]["schemas"].items()) {
    for (const auto& [key, property] : schema["properties"].items()) {
      EXPECT_NE(property.value("description", ""), "") << name << "." << key;
    }
  }
  for (const auto& [path, operations] : document["paths"].items()) {
    for (const auto& operation : operations) {
      for (const auto& parameter : operation["parameters"]) {
        EXPECT_TRUE(parameter.contains("$ref") || parameter.value("description", "") != "") << path;
      }
    }
  }
}

TEST(OpenApi, PagesHaveAnEndAndABeginning) {
  for (const Route& route : routes()) {
    std::set<std::string_view> names;
    for (const RouteField& field : fields_of(route.id).query) {
      EXPECT_TRUE(names.insert(field.name).second) << route.path << " " << field.name;
    }
    EXPECT_EQ(names.contains("after") && names.contains("limit"), route.has_pages) << route.path;
    EXPECT_EQ(fields_of(route.id).body.empty(), route.body == BodyRule::kNone) << route.path;
    EXPECT_EQ(fields_of(route.id).body_name.empty(), route.body == BodyRule::kNone) << route.path;
  }
}

TEST(OpenApi, IsToldToAnybodyWithAProof) {
  rest_testing::CallNode node;
  node.on(Verb::kWhoami, rest_testing::good_with(WhoamiInfo()));
  const HttpAnswer answer = node.run(rest_testing::get("/v1/openapi.json"));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.content_type, "application/json");
  EXPECT_EQ(answer.body, openapi_document() + "\n");
  EXPECT_EQ(node.run(rest_testing::get("/v1/openapi.json")).body, answer.body);
  node.on(Verb::kWhoami, rest_testing::bad(ResponseStatus::kDenied, "an unknown token"));
  EXPECT_EQ(node.run(rest_testing::get("/v1/openapi.json")).status, 403);
}

}  // namespace
}  // namespace muster::agent
