// The keys of --json and REST never change: a golden line for each key of each document, and for
// each parameter and member of each route. A new line is a new key; a changed one breaks clients.

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "agent/api/rest/openapi_schemas.h"
#include "agent/api/rest/route_fields.h"

namespace muster::compat {
namespace {

using agent::FieldKind;

std::string keys_path() {
  return std::string(MUSTER_SOURCE_DIR) + "/tests/compat/golden/json_keys.txt";
}

std::string line_of_key(const agent::Schema& schema, const agent::SchemaKey& key) {
  std::string line = std::string(schema.name) + "." + std::string(key.name) + " = ";
  line.append(key.type);
  line.append(key.part.empty() ? "" : " " + std::string(key.part));
  line.append(key.is_nullable ? ", null" : "").append(key.is_optional ? ", absent" : "");
  return line;
}

std::string kind_name(FieldKind kind) {
  switch (kind) {
    case FieldKind::kText:
      return "string";
    case FieldKind::kChoice:
      return "choice";
    case FieldKind::kNumber:
      return "number";
    case FieldKind::kInteger:
      return "integer";
    case FieldKind::kBoolean:
      return "boolean";
    case FieldKind::kTexts:
      return "strings";
    case FieldKind::kChoices:
      return "choices";
    case FieldKind::kNumbers:
      return "numbers";
    case FieldKind::kTextMap:
      return "strings by name";
    case FieldKind::kNumberMap:
      return "numbers by name";
    case FieldKind::kObject:
      return "object";
    case FieldKind::kObjects:
      return "objects";
    case FieldKind::kObjectMap:
      break;
  }
  return "objects by name";
}

void add_fields(std::span<const agent::RouteField> fields, const std::string& within,
                std::vector<std::string>& lines) {
  for (const agent::RouteField& field : fields) {
    const std::string path = within + std::string(field.name);
    std::string line = path + " = " + kind_name(field.kind);
    line.append(field.choices.empty() ? "" : " " + std::string(field.choices));
    line.append(field.is_needed ? ", needed" : "");
    lines.push_back(std::move(line));
    add_fields(field.parts, path + ".", lines);
  }
}

std::vector<std::string> key_lines() {
  std::vector<std::string> lines;
  for (const agent::Schema& schema : agent::schemas()) {
    for (const agent::SchemaKey& key : schema.keys) {
      lines.push_back(line_of_key(schema, key));
    }
  }
  for (const agent::Route& route : agent::routes()) {
    const std::string name =
        std::string(agent::text_of(route.method)) + " " + std::string(route.path);
    std::string line = name + " = " + std::to_string(route.status);
    for (const std::string_view document : agent::documents_of(route.id)) {
      line.append(" ").append(document);
    }
    lines.push_back(std::move(line));
    add_fields(agent::fields_of(route.id).query, name + " ?", lines);
    add_fields(agent::fields_of(route.id).body, name + " ", lines);
  }
  return lines;
}

TEST(JsonKeys, AreTheGoldenOnes) {
  const std::vector<std::string> lines = key_lines();
  if (std::getenv("MUSTER_REWRITE") != nullptr) {
    std::ofstream file(keys_path());
    for (const std::string& line : lines) {
      file << line << "\n";
    }
  }
  std::vector<std::string> golden;
  std::ifstream file(keys_path());
  for (std::string line; std::getline(file, line);) {
    golden.push_back(line);
  }
  EXPECT_EQ(golden, lines);
}

}  // namespace
}  // namespace muster::compat
