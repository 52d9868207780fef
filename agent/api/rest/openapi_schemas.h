#pragma once
// The shapes of the documents of REST, which are those of --json: for each document and each part
// of one its keys in their order, and which of them may be null or absent. Types and words of the
// keys are those of agent/api/json/fields.h. Tests compare the shapes with what the writers of
// agent/api/json write.

#include <string_view>
#include <vector>

#include "agent/api/rest/route.h"

namespace muster::agent {

struct SchemaKey {
  std::string_view name;
  std::string_view type;     ///< As JsonField::type, but for "strings or objects": one of the two.
  std::string_view part;     ///< The schema of an object, or of each of the objects; else "".
  std::string_view meaning;  ///< For people.
  bool is_nullable = false;
  bool is_optional = false;  ///< Some documents do not have it.
};
struct Schema {
  std::string_view name;  ///< "JobDetail"
  std::vector<SchemaKey> keys{};
};

/// The document of errors (RFC 9457) is among them. Each part is the part of a document, or of a
/// part.
const std::vector<Schema>& schemas();
/// The documents that a route may answer with kOk, by name; none: a document without a schema.
std::vector<std::string_view> documents_of(RouteId id);
/// The answer has one document on each line (application/x-ndjson).
bool is_in_lines(RouteId id);

inline constexpr std::string_view kProblemSchema = "Problem";

}  // namespace muster::agent
