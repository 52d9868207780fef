#include "agent/api/rest/openapi.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/api/json/dump.h"
#include "agent/api/json/fields.h"
#include "agent/api/rest/browser_gate.h"
#include "agent/api/rest/openapi_schemas.h"
#include "agent/api/rest/problem.h"
#include "agent/api/rest/route.h"
#include "agent/api/rest/route_fields.h"
#include "gossip/base/version.h"

namespace muster::agent {
namespace openapi {

constexpr char kJsonType[] = "application/json";
constexpr char kLinesType[] = "application/x-ndjson";

constexpr char kAbout[] =
    "Each answer is the document that the command line prints with --json for the same wishes. "
    "Keys never change their meaning; null stands for a value that does not exist or is not "
    "known. Each request shows an access token, but over the unix socket, where the login of the "
    "client is the proof.";

Json ref(std::string_view kind, std::string_view name) {
  return {{"$ref", "#/components/" + std::string(kind) + "/" + std::string(name)}};
}

// ---- documents ----

Json list_of(Json items) {
  return {{"type", "array"}, {"items", std::move(items)}};
}

Json number_from(std::uint64_t min) {
  return {{"type", "integer"}, {"minimum", min}};
}

/// Of a type of agent/api/json/fields.h.
Json type_of(std::string_view type, std::string_view part) {
  const Json number_or_text = {{"type", Json::array({"integer", "string"})}};
  if (type == "string" || type == "boolean" || type == "integer") {
    return {{"type", type}};
  }
  if (type == "strings") {
    return list_of({{"type", "string"}});
  }
  if (type == "integers") {
    return list_of({{"type", "integer"}});
  }
  if (type == "integer or string") {
    return number_or_text;
  }
  if (type == "integers or strings") {
    return list_of(number_or_text);
  }
  if (type == "object") {
    return ref("schemas", part);
  }
  if (type == "objects") {
    return list_of(ref("schemas", part));
  }
  return number_from(0);  // The type is the unit of the number.
}

/// The same, or null.
Json or_null(Json schema) {
  if (!schema.contains("type")) {
    return {{"anyOf", Json::array({std::move(schema), Json{{"type", "null"}}})}};
  }
  Json types = schema["type"].is_array() ? schema["type"] : Json::array({schema["type"]});
  types.push_back("null");
  schema["type"] = types;
  if (schema.contains("enum")) {
    schema["enum"].push_back(nullptr);
  }
  return schema;
}

Json schema_of(const Schema& schema) {
  Json properties = Json::object();
  Json required = Json::array();
  for (const SchemaKey& key : schema.keys) {
    Json property = type_of(key.type, key.part);
    property = key.is_nullable ? or_null(std::move(property)) : property;
    property["description"] = key.meaning;
    properties[std::string(key.name)] = std::move(property);
    if (!key.is_optional) {
      required.push_back(key.name);
    }
  }
  return {{"type", "object"},
          {"properties", properties},
          {"required", required},
          {"additionalProperties", false}};
}

// ---- parameters and bodies ----

std::string_view meaning_of(const RouteField& field) {
  if (!field.meaning.empty()) {
    return field.meaning;
  }
  const auto known = json_fields();
  const auto found = std::find_if(known.begin(), known.end(), [&field](const JsonField& each) {
    return each.name == field.name;
  });
  return found == known.end() ? "" : found->meaning;
}

Json choices_of(const RouteField& field) {
  Json all = Json::array();
  std::string_view rest = field.choices;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('|'), rest.size());
    all.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return all;
}

Json number_of(const RouteField& field) {
  Json number = number_from(field.min);
  if (field.max != UINT64_MAX) {
    number["maximum"] = field.max;
  }
  return number;
}

Json members_of(std::span<const RouteField> fields);

Json field_schema(const RouteField& field) {
  switch (field.kind) {
    case FieldKind::kText:
      return {{"type", "string"}};
    case FieldKind::kChoice:
      return {{"type", "string"}, {"enum", choices_of(field)}};
    case FieldKind::kNumber:
      return number_of(field);
    case FieldKind::kInteger:
      return {{"type", "integer"}, {"minimum", INT32_MIN}, {"maximum", INT32_MAX}};
    case FieldKind::kBoolean:
      return {{"type", "boolean"}};
    case FieldKind::kTexts:
      return list_of({{"type", "string"}});
    case FieldKind::kChoices:
      return list_of({{"type", "string"}, {"enum", choices_of(field)}});
    case FieldKind::kNumbers:
      return list_of(number_of(field));
    case FieldKind::kTextMap:
      return {{"type", "object"}, {"additionalProperties", {{"type", "string"}}}};
    case FieldKind::kNumberMap:
      return {{"type", "object"}, {"additionalProperties", number_of(field)}};
    case FieldKind::kObject:
      return members_of(field.parts);
    case FieldKind::kObjects:
      return list_of(members_of(field.parts));
    case FieldKind::kObjectMap:
      break;
  }
  return {{"type", "object"}, {"additionalProperties", members_of(field.parts)}};
}

Json members_of(std::span<const RouteField> fields) {
  Json properties = Json::object();
  Json required = Json::array();
  for (const RouteField& field : fields) {
    Json property = field_schema(field);
    property = may_be_null(field) ? or_null(std::move(property)) : property;
    property["description"] = meaning_of(field);
    properties[std::string(field.name)] = std::move(property);
    if (field.is_needed) {
      required.push_back(field.name);
    }
  }
  Json object = {{"type", "object"}, {"properties", properties}};
  if (!required.empty()) {
    object["required"] = required;
  }
  object["additionalProperties"] = false;
  return object;
}

Json parameter_of(const RouteField& field) {
  Json parameter = {{"name", field.name},
                    {"in", "query"},
                    {"description", meaning_of(field)},
                    {"schema", field_schema(field)}};
  if (field.kind == FieldKind::kTexts || field.kind == FieldKind::kChoices) {
    parameter["style"] = "form";
    parameter["explode"] = false;
  }
  return parameter;
}

struct PathPart {
  std::string_view name;
  std::string_view meaning;
};
constexpr PathPart kPathParts[] = {
    {"job", "Number of the job; of a task ARRAY.INDEX."},
    {"rank", "Number of the rank, from 0."},
    {"host", "Name or id of the host; of an id the first digits are enough."},
    {"gpu", "UUID of the GPU, or its first characters."},
    {"token", "First digits of the number of the access token."},
    {"ticket", "First digits of the key of the ticket."},
};

/// The parts in braces.
Json path_parameters(std::string_view path) {
  Json all = Json::array();
  for (std::size_t at = path.find('{'); at != std::string_view::npos; at = path.find('{', at + 1)) {
    const std::string_view name = path.substr(at + 1, path.find('}', at) - at - 1);
    const auto* part = std::find_if(std::begin(kPathParts), std::end(kPathParts),
                                    [name](const PathPart& each) { return each.name == name; });
    all.push_back({{"name", name},
                   {"in", "path"},
                   {"required", true},
                   {"description", part == std::end(kPathParts) ? "" : part->meaning},
                   {"schema", {{"type", "string"}}}});
  }
  return all;
}

Json parameters_of(const Route& route) {
  Json all = path_parameters(route.path);
  for (const RouteField& field : fields_of(route.id).query) {
    all.push_back(parameter_of(field));
  }
  all.push_back(ref("parameters", route.method == HttpMethod::kGet ? "consistent" : kClientField));
  if (route.id == RouteId::kSubmit) {
    all.push_back(ref("parameters", "Idempotency-Key"));
  }
  return all;
}

// ---- answers ----

/// As http_sd_configs of Prometheus reads it.
Json targets_schema() {
  const Json text = {{"type", "string"}};
  const Json target = {{"type", "object"},
                       {"properties",
                        {{"targets", list_of(text)},
                         {"labels", {{"type", "object"}, {"additionalProperties", text}}}}},
                       {"required", Json::array({"targets", "labels"})},
                       {"additionalProperties", false}};
  return list_of(target);
}

/// Of an answer that has no schema by name.
Json unnamed_schema(RouteId id) {
  return id == RouteId::kTargets ? targets_schema() : Json{{"type", "object"}};
}

bool has_next(const Route& route) {
  return route.has_pages || route.id == RouteId::kRankOutput;
}

Json good_answer(const Route& route) {
  Json choices = Json::array();
  for (const std::string_view name : documents_of(route.id)) {
    choices.push_back(ref("schemas", name));
  }
  const Json schema = choices.empty()       ? unnamed_schema(route.id)
                      : choices.size() == 1 ? choices[0]
                                            : Json{{"oneOf", choices}};
  const bool is_lines = is_in_lines(route.id);
  Json headers = {{"muster-answered-by", ref("headers", "muster-answered-by")},
                  {"muster-age-ms", ref("headers", "muster-age-ms")}};
  if (has_next(route)) {
    headers["muster-next"] = ref("headers", "muster-next");
  }
  return {{"description", is_lines ? "Done. Each line is one document." : "Done."},
          {"headers", headers},
          {"content", {{is_lines ? kLinesType : kJsonType, {{"schema", schema}}}}}};
}

/// Of each route, of those that change something, and of those with a body.
std::vector<int> errors_of(const Route& route) {
  std::vector<int> all = {400, 401, 403, 404, 421, 429, 500, 503, 504};
  if (route.method != HttpMethod::kGet) {
    all.insert(all.end(), {409, 422});
  }
  if (route.body != BodyRule::kNone) {
    all.insert(all.end(), {413, 415});
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::string answer_name(int status) {
  std::string name;
  for (const char letter : title_of(status)) {
    name += letter == ' ' ? "" : std::string(1, letter);
  }
  return name;
}

Json problem_answer(std::string_view description) {
  return {{"description", description},
          {"content", {{kProblemType, {{"schema", ref("schemas", kProblemSchema)}}}}}};
}

Json error_answer(int status) {
  Json answer = problem_answer(title_of(status));
  if (status == 429 || status == 503) {
    answer["headers"] = {{"retry-after", ref("headers", "retry-after")}};
  }
  if (status == 401) {
    answer["headers"] = {{"www-authenticate", ref("headers", "www-authenticate")}};
  }
  return answer;
}

Json answers_of(const Route& route) {
  Json answers = {{std::to_string(route.status), good_answer(route)}};
  for (const int status : errors_of(route)) {
    answers[std::to_string(status)] = ref("responses", answer_name(status));
  }
  answers["default"] = ref("responses", "Error");
  return answers;
}

// ---- the document ----

/// "/v1/jobs/{job}:cancel" with POST: "post_jobs_job_cancel".
std::string operation_id(const Route& route) {
  std::string id;
  for (const char letter : text_of(route.method)) {
    id += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  for (const char letter : route.path.substr(std::string_view("/v1").size())) {
    const bool is_word = std::isalnum(static_cast<unsigned char>(letter)) != 0;
    if (is_word || (!id.ends_with('_') && letter != '}')) {
      id += is_word ? letter : '_';
    }
  }
  return id;
}

/// The noun of the path: "jobs".
std::string_view tag_of(const Route& route) {
  const std::string_view noun = route.path.substr(std::string_view("/v1/").size());
  return noun.substr(0, noun.find_first_of("/:"));
}

Json operation_of(const Route& route) {
  Json operation = {{"operationId", operation_id(route)},
                    {"summary", route.summary},
                    {"tags", Json::array({tag_of(route)})},
                    {"parameters", parameters_of(route)}};
  const RouteFields& fields = fields_of(route.id);
  if (route.body != BodyRule::kNone) {
    const Json schema = ref("schemas", std::string(fields.body_name) + "Body");
    operation["requestBody"] = {{"required", route.body == BodyRule::kNeeded},
                                {"content", {{kJsonType, {{"schema", schema}}}}}};
  }
  operation["responses"] = answers_of(route);
  return operation;
}

Json paths() {
  Json all = Json::object();
  for (const Route& route : routes()) {
    std::string method(text_of(route.method));
    std::transform(method.begin(), method.end(), method.begin(),
                   [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    all[std::string(route.path)][method] = operation_of(route);
  }
  return all;
}

Json all_schemas() {
  Json all = Json::object();
  for (const Schema& schema : schemas()) {
    all[std::string(schema.name)] = schema_of(schema);
  }
  for (const Route& route : routes()) {
    const RouteFields& fields = fields_of(route.id);
    if (route.body != BodyRule::kNone) {
      all[std::string(fields.body_name) + "Body"] = members_of(fields.body);
    }
  }
  return all;
}

Json header(std::string_view meaning, Json schema) {
  return {{"description", meaning}, {"schema", std::move(schema)}};
}

Json headers() {
  const Json text = {{"type", "string"}};
  return {
      {"muster-answered-by", header("Host whose copy of the state answered.", text)},
      {"muster-age-ms", header("Age of the answer.", number_from(0))},
      {"muster-next",
       header("The next page begins behind this, as after or offset; absent: this is the last one.",
              text)},
      {"retry-after", header("Seconds after which the request may be taken.", number_from(1))},
      {"www-authenticate", header("Bearer: show an access token.", text)},
  };
}

Json shared_parameters() {
  return {
      {"consistent", parameter_of(consistent_field())},
      {kClientField,
       {{"name", kClientField},
        {"in", "header"},
        {"required", true},
        {"description", "Any value. It shows that no page of another site sends the request."},
        {"schema", {{"type", "string"}}}}},
      {"Idempotency-Key",
       {{"name", "Idempotency-Key"},
        {"in", "header"},
        {"description",
         "Key of the submit, 32 hex digits or a UUID: a repeat under it makes no second job."},
        {"schema", {{"type", "string"}}}}},
  };
}

Json shared_answers() {
  Json all = Json::object();
  for (const int status : {400, 401, 403, 404, 409, 413, 415, 421, 422, 429, 500, 503, 504}) {
    all[answer_name(status)] = error_answer(status);
  }
  all["Error"] = problem_answer("Another error of HTTP.");
  return all;
}

std::string made() {
  const Json document = {
      {"openapi", "3.1.0"},
      {"info",
       {{"title", "Muster"}, {"version", std::string(kProductVersion)}, {"description", kAbout}}},
      {"jsonSchemaDialect", "https://json-schema.org/draft/2020-12/schema"},
      {"servers", Json::array({Json{{"url", "/"}}})},
      {"security", Json::array({Json{{"bearer", Json::array()}}})},
      {"paths", paths()},
      {"components",
       {{"schemas", all_schemas()},
        {"responses", shared_answers()},
        {"parameters", shared_parameters()},
        {"headers", headers()},
        {"securitySchemes",
         {{"bearer",
           {{"type", "http"},
            {"scheme", "bearer"},
            {"description", "The line of an access token: `muster token create` prints it."}}}}}}},
  };
  return dump(document);
}

}  // namespace openapi

const std::string& openapi_document() {
  static const std::string document = openapi::made();
  return document;
}

}  // namespace muster::agent
