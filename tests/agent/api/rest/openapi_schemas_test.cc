// The shapes of documents, compared with what the writers of agent/api/json write.

#include "agent/api/rest/openapi_schemas.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "agent/api/json/dump.h"
#include "tests/agent/api/rest/document_samples.h"

namespace muster::agent {
namespace {

const Schema* schema_named(std::string_view name) {
  const auto found = std::find_if(schemas().begin(), schemas().end(),
                                  [name](const Schema& each) { return each.name == name; });
  return found == schemas().end() ? nullptr : &*found;
}

/// "Host.rack", for those that were seen with a value, and for those that were seen null or absent.
struct SeenKeys {
  std::set<std::string> full{};
  std::set<std::string> null{};
  std::set<std::string> absent{};
};

bool is_plain(const Json& value, std::string_view type) {
  if (type == "string") {
    return value.is_string();
  }
  if (type == "boolean") {
    return value.is_boolean();
  }
  if (type == "integer or string") {
    return value.is_string() || value.is_number_unsigned();
  }
  return type == "integer" ? value.is_number_integer() : value.is_number_unsigned();
}

void check_object(const Json& object, std::string_view name, SeenKeys& seen);

void check_value(const Json& value, const SchemaKey& key, const std::string& path, SeenKeys& seen) {
  if (key.type == "object") {
    check_object(value, key.part, seen);
    return;
  }
  static constexpr std::pair<std::string_view, std::string_view> kLists[] = {
      {"strings", "string"},
      {"integers", "integer"},
      {"integers or strings", "integer or string"},
      {"objects", ""}};
  for (const auto& [list, item] : kLists) {
    if (key.type != list) {
      continue;
    }
    ASSERT_TRUE(value.is_array()) << path;
    for (const auto& each : value) {
      if (item.empty()) {
        check_object(each, key.part, seen);
      } else {
        EXPECT_TRUE(is_plain(each, item)) << path << ": " << each;
      }
    }
    return;
  }
  EXPECT_TRUE(is_plain(value, key.type)) << path << ": " << value;
}

/// The keys of the schema in their order, and no others.
void check_object(const Json& object, std::string_view name, SeenKeys& seen) {
  const Schema* schema = schema_named(name);
  ASSERT_NE(schema, nullptr) << name;
  ASSERT_TRUE(object.is_object()) << name << ": " << object;
  std::vector<std::string> written;
  for (const auto& [key, value] : object.items()) {
    written.push_back(key);
  }
  std::vector<std::string> expected;
  for (const SchemaKey& key : schema->keys) {
    const std::string path = std::string(name) + "." + std::string(key.name);
    const auto at = object.find(std::string(key.name));
    if (at == object.end() && key.is_optional) {
      seen.absent.insert(path);
      continue;
    }
    expected.emplace_back(key.name);
    if (at != object.end() && at->is_null()) {
      EXPECT_TRUE(key.is_nullable) << path << " is null";
      seen.null.insert(path);
    } else if (at != object.end()) {
      check_value(*at, key, path, seen);
      seen.full.insert(path);
    }
  }
  EXPECT_EQ(written, expected) << name;
}

TEST(Schemas, AreWhatTheWritersWrite) {
  SeenKeys seen;
  for (const rest_testing::DocumentSample& sample : rest_testing::document_samples()) {
    check_object(Json::parse(sample.json), sample.schema, seen);
  }
  for (const Schema& schema : schemas()) {
    for (const SchemaKey& key : schema.keys) {
      const std::string path = std::string(schema.name) + "." + std::string(key.name);
      const bool is_ever_null = path == "DryRun.job_id";  // The job has no number yet.
      EXPECT_EQ(seen.full.contains(path), !is_ever_null) << path << " has a value nowhere";
      EXPECT_EQ(seen.null.contains(path), key.is_nullable) << path << " is never null";
      EXPECT_EQ(seen.absent.contains(path), key.is_optional) << path << " is never absent";
    }
  }
}

TEST(Schemas, AreEachADocumentOrAPartOfOne) {
  std::set<std::string_view> used = {kProblemSchema};
  for (const Route& route : routes()) {
    for (const std::string_view name : documents_of(route.id)) {
      EXPECT_NE(schema_named(name), nullptr) << name;
      used.insert(name);
    }
  }
  std::set<std::string_view> names;
  for (const Schema& schema : schemas()) {
    EXPECT_TRUE(names.insert(schema.name).second) << schema.name << " stands twice";
    for (const SchemaKey& key : schema.keys) {
      EXPECT_EQ(key.part.empty(), key.type != "object" && key.type != "objects") << key.name;
      used.insert(key.part.empty() ? kProblemSchema : key.part);
    }
  }
  EXPECT_EQ(names, used);
}

}  // namespace
}  // namespace muster::agent
