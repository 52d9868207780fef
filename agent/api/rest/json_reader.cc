#include "agent/api/rest/json_reader.h"

#include <algorithm>
#include <limits>

#include "agent/api/json/dump.h"
#include "agent/api/rest/field_text.h"
#include "gossip/base/check.h"
#include "gossip/base/name.h"

namespace muster::agent {
namespace {

using JsonKind = JsonValue::Kind;

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
/// Of the exceptions of nlohmann/json: a number that no double holds.
constexpr int kNumberTooLarge = 406;

Error bad_json(const std::string& why) {
  return Error{ErrorCode::kInvalid, why};
}

/// Long names are cut: each part of a document holds its path.
std::string path_with(const std::string& path, std::string_view name) {
  const std::string part(name.substr(0, kShownBytesMax));
  return path.empty() ? part : path + "." + part;
}

std::string path_with(const std::string& path, std::size_t item) {
  return path + "[" + std::to_string(item) + "]";
}

/// Builds the value from what the parser finds, and stops it at the first breach of a rule. The
/// parser calls it in a loop, so the depth of a document costs no stack.
class JsonBuilder final : public Json::json_sax_t {
 public:
  explicit JsonBuilder(std::size_t body_bytes) : body_bytes_(body_bytes) {}

  JsonValue& root() { return root_; }
  /// "" if no rule is broken so far.
  const std::string& error() const { return error_; }

  bool null() override { return add(JsonKind::kNull) != nullptr; }
  bool boolean(bool value) override {
    JsonValue* added = add(JsonKind::kBoolean);
    return added != nullptr && (added->boolean = value, true);
  }
  bool number_integer(number_integer_t value) override {
    if (value >= 0) {
      return number_unsigned(static_cast<number_unsigned_t>(value));
    }
    JsonValue* added = add(JsonKind::kNegative);
    return added != nullptr && (added->negative = value, true);
  }
  bool number_unsigned(number_unsigned_t value) override {
    JsonValue* added = add(JsonKind::kWhole);
    return added != nullptr && (added->whole = value, true);
  }
  bool number_float(number_float_t, const string_t&) override {
    return add(JsonKind::kFraction) != nullptr;
  }
  bool string(string_t& value) override {
    JsonValue* added = add(JsonKind::kText);
    return added != nullptr && (added->text = std::move(value), true);
  }
  bool binary(binary_t&) override { return fail("the body is not JSON"); }
  bool start_object(std::size_t) override { return open(JsonKind::kObject); }
  bool start_array(std::size_t) override { return open(JsonKind::kList); }
  bool end_array() override {
    open_.pop_back();
    return true;
  }
  bool key(string_t& name) override {
    open_.back()->members.emplace_back(std::move(name), JsonValue());
    return true;
  }
  bool end_object() override {
    const std::string twice = name_given_twice(*open_.back());
    if (!twice.empty()) {
      return fail(twice);
    }
    open_.pop_back();
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& why) override {
    return fail(position > body_bytes_ ? "the body ends before its JSON does"
                : why.id == kNumberTooLarge
                    ? "a number is too large: see byte " + std::to_string(position) + " of the body"
                    : "the body is not JSON: see byte " + std::to_string(position));
  }

 private:
  bool fail(const std::string& why) {
    error_ = error_.empty() ? why : error_;
    return false;
  }

  JsonValue* add(JsonKind kind) {
    values_ += 1;
    if (values_ > kJsonValuesMax) {
      fail("the body has more than " + std::to_string(kJsonValuesMax) + " values");
      return nullptr;
    }
    JsonValue* added = &root_;
    if (!open_.empty() && open_.back()->kind == JsonKind::kList) {
      added = &open_.back()->items.emplace_back();
    } else if (!open_.empty()) {
      added = &open_.back()->members.back().second;
    }
    added->kind = kind;
    return added;
  }

  bool open(JsonKind kind) {
    if (open_.size() == kJsonDepthMax) {
      return fail("the body has more than " + std::to_string(kJsonDepthMax) +
                  " objects and lists within each other");
    }
    JsonValue* added = add(kind);
    if (added == nullptr) {
      return false;
    }
    open_.push_back(added);
    return true;
  }

  /// "'moves[2].from' is given twice"; "" if each name is given once.
  std::string name_given_twice(const JsonValue& object) const {
    std::vector<std::string_view> names;
    names.reserve(object.members.size());
    for (const JsonValue::Member& member : object.members) {
      names.push_back(member.first);
    }
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    return twice == names.end() ? "" : shown(path_with(path_of_open(), *twice)) + " is given twice";
  }

  /// The path of the innermost object that is open.
  std::string path_of_open() const {
    std::string path;
    for (std::size_t i = 0; i + 1 < open_.size(); ++i) {
      path = open_[i]->kind == JsonKind::kList ? path_with(path, open_[i]->items.size() - 1)
                                               : path_with(path, open_[i]->members.back().first);
    }
    return path;
  }

  const std::size_t body_bytes_;
  JsonValue root_;
  /// Each one is the last part of the one before it, so it stays where it is.
  std::vector<JsonValue*> open_;
  std::size_t values_ = 0;
  std::string error_;
};

std::string_view kind_text(JsonKind kind) {
  switch (kind) {
    case JsonKind::kBoolean:
      return "true or false";
    case JsonKind::kWhole:
    case JsonKind::kNegative:
    case JsonKind::kFraction:
      return "a whole number";
    case JsonKind::kText:
      return "a text";
    case JsonKind::kList:
      return "a list";
    case JsonKind::kObject:
      return "an object";
    case JsonKind::kNull:
      break;
  }
  return "null";
}

}  // namespace

Result<JsonValue> read_json(std::string_view body) {
  if (body.size() > kJsonBytesMax) {
    return bad_json("the body is longer than " + std::to_string(kJsonBytesMax) + " bytes");
  }
  if (body.starts_with(kByteOrderMark) || !is_utf8(body)) {
    return bad_json("the body is not UTF-8, or begins with a byte order mark");
  }
  JsonBuilder builder(body.size());
  if (!Json::sax_parse(body.begin(), body.end(), &builder)) {
    return bad_json(builder.error().empty() ? "the body is not JSON" : builder.error());
  }
  if (builder.root().kind != JsonKind::kObject) {
    return bad_json("the body has to be a JSON object, as {\"name\": \"value\"}");
  }
  return std::move(builder.root());
}

JsonFields::JsonFields(const JsonValue& object, FieldLog* log)
    : JsonFields(object, "", std::make_shared<std::optional<std::string>>(), log) {}

JsonFields::JsonFields(const JsonValue& object, std::string path, FirstError error, FieldLog* log)
    : object_(object), path_(std::move(path)), error_(std::move(error)), log_(log) {
  CHECK(object_.kind == JsonKind::kObject);
}

bool JsonFields::has(std::string_view name) const {
  const JsonValue* value = find(name);
  return value != nullptr && value->kind != JsonKind::kNull;
}

bool JsonFields::is_null(std::string_view name) {
  const JsonValue* value = find(name);
  const bool is_there = value != nullptr && value->kind == JsonKind::kNull;
  if (is_there) {
    take(name);
  }
  return is_there;
}

void JsonFields::need(std::string_view name) {
  if (!has(name)) {
    complain(path_of(name), "is missing");
  }
}

std::optional<std::string> JsonFields::text(std::string_view name) {
  log(name, FieldKind::kText);
  const JsonValue* value = take(name);
  return value == nullptr ? std::nullopt : read_text(*value, path_of(name));
}

std::optional<std::string> JsonFields::choice(std::string_view name,
                                              const std::vector<std::string_view>& allowed) {
  log(name, FieldKind::kChoice, allowed);
  const JsonValue* value = take(name);
  auto given = value == nullptr ? std::nullopt : read_text(*value, path_of(name));
  if (given.has_value() && std::find(allowed.begin(), allowed.end(), *given) == allowed.end()) {
    complain(path_of(name), "has to be " + any_of(allowed) + ", and is " + shown(*given));
    return std::nullopt;
  }
  return given;
}

std::optional<std::uint64_t> JsonFields::number(std::string_view name, std::uint64_t min,
                                                std::uint64_t max) {
  log(name, FieldKind::kNumber, {}, min, max);
  const JsonValue* value = take(name);
  return value == nullptr ? std::nullopt : read_number(*value, path_of(name), min, max);
}

std::optional<std::int64_t> JsonFields::integer(std::string_view name, std::int64_t min,
                                                std::int64_t max) {
  log(name, FieldKind::kInteger);
  const JsonValue* value = take(name);
  if (value == nullptr) {
    return std::nullopt;
  }
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const bool is_whole = value->kind == JsonKind::kWhole && value->whole <= kMax;
  const std::int64_t given = is_whole ? static_cast<std::int64_t>(value->whole) : value->negative;
  if ((!is_whole && value->kind != JsonKind::kNegative) || given < min || given > max) {
    complain(path_of(name),
             "has to be a whole number from " + std::to_string(min) + " to " + std::to_string(max));
    return std::nullopt;
  }
  return given;
}

std::optional<bool> JsonFields::boolean(std::string_view name) {
  log(name, FieldKind::kBoolean);
  const JsonValue* value = take(name, JsonKind::kBoolean);
  return value == nullptr ? std::nullopt : std::optional(value->boolean);
}

std::optional<JsonFields::Texts> JsonFields::texts(std::string_view name) {
  log(name, FieldKind::kTexts);
  const JsonValue* list = take(name, JsonKind::kList);
  if (list == nullptr) {
    return std::nullopt;
  }
  Texts all;
  for (const JsonValue& item : list->items) {
    auto text = read_text(item, path_with(path_of(name), all.size()));
    if (!text.has_value()) {
      return std::nullopt;
    }
    all.push_back(*std::move(text));
  }
  return all;
}

std::optional<std::vector<std::uint64_t>> JsonFields::numbers(std::string_view name,
                                                              std::uint64_t min,
                                                              std::uint64_t max) {
  log(name, FieldKind::kNumbers, {}, min, max);
  const JsonValue* list = take(name, JsonKind::kList);
  if (list == nullptr) {
    return std::nullopt;
  }
  std::vector<std::uint64_t> all;
  for (const JsonValue& item : list->items) {
    const auto number = read_number(item, path_with(path_of(name), all.size()), min, max);
    if (!number.has_value()) {
      return std::nullopt;
    }
    all.push_back(*number);
  }
  return all;
}

std::optional<JsonFields::Named<std::string>> JsonFields::named_texts(std::string_view name) {
  log(name, FieldKind::kTextMap);
  const JsonValue* object = take(name, JsonKind::kObject);
  if (object == nullptr) {
    return std::nullopt;
  }
  Named<std::string> all;
  for (const auto& [key, value] : object->members) {
    auto text = read_text(value, path_with(path_of(name), key));
    if (!text.has_value()) {
      return std::nullopt;
    }
    all.emplace_back(key, *std::move(text));
  }
  return all;
}

std::optional<JsonFields::Named<std::uint64_t>> JsonFields::named_numbers(std::string_view name,
                                                                          std::uint64_t min,
                                                                          std::uint64_t max) {
  log(name, FieldKind::kNumberMap, {}, min, max);
  const JsonValue* object = take(name, JsonKind::kObject);
  if (object == nullptr) {
    return std::nullopt;
  }
  Named<std::uint64_t> all;
  for (const auto& [key, value] : object->members) {
    const auto number = read_number(value, path_with(path_of(name), key), min, max);
    if (!number.has_value()) {
      return std::nullopt;
    }
    all.emplace_back(key, *number);
  }
  return all;
}

JsonFields* JsonFields::object(std::string_view name) {
  log(name, FieldKind::kObject);
  const JsonValue* value = take(name, JsonKind::kObject);
  return value == nullptr ? nullptr : own(*value, path_of(name));
}

std::vector<JsonFields*> JsonFields::objects(std::string_view name) {
  log(name, FieldKind::kObjects);
  const JsonValue* list = take(name, JsonKind::kList);
  std::vector<JsonFields*> all;
  for (std::size_t i = 0; list != nullptr && i < list->items.size(); ++i) {
    const std::string path = path_with(path_of(name), i);
    if (list->items[i].kind != JsonKind::kObject) {
      complain(path, "has to be an object");
      break;
    }
    all.push_back(own(list->items[i], path));
  }
  return all;
}

JsonFields::Named<JsonFields*> JsonFields::named_objects(std::string_view name) {
  log(name, FieldKind::kObjectMap);
  const JsonValue* object = take(name, JsonKind::kObject);
  Named<JsonFields*> all;
  for (std::size_t i = 0; object != nullptr && i < object->members.size(); ++i) {
    const auto& [key, value] = object->members[i];
    const std::string path = path_with(path_of(name), key);
    if (value.kind != JsonKind::kObject) {
      complain(path, "has to be an object");
      break;
    }
    all.emplace_back(key, own(value, path));
  }
  return all;
}

void JsonFields::refuse(std::string_view name, const std::string& why) {
  if (!error_->has_value()) {
    *error_ = shown(path_of(name)) + ": " + why;
  }
}

bool JsonFields::is_good() const {
  return !error_->has_value();
}

std::string JsonFields::path_of(std::string_view name) const {
  return path_with(path_, name);
}

Status JsonFields::end() const {
  if (error_->has_value()) {
    return bad_json(**error_);
  }
  const std::string unknown = untaken();
  return unknown.empty() ? ok() : Status(bad_json(unknown));
}

const JsonValue* JsonFields::find(std::string_view name) const {
  const auto found =
      std::find_if(object_.members.begin(), object_.members.end(),
                   [name](const JsonValue::Member& member) { return member.first == name; });
  return found == object_.members.end() ? nullptr : &found->second;
}

const JsonValue* JsonFields::take(std::string_view name) {
  if (std::find(asked_.begin(), asked_.end(), name) == asked_.end()) {
    asked_.emplace_back(name);
  }
  const JsonValue* value = find(name);
  return value == nullptr || value->kind == JsonKind::kNull ? nullptr : value;
}

const JsonValue* JsonFields::take(std::string_view name, JsonValue::Kind kind) {
  const JsonValue* value = take(name);
  if (value != nullptr && value->kind != kind) {
    complain(path_of(name), "has to be " + std::string(kind_text(kind)));
    return nullptr;
  }
  return value;
}

JsonFields* JsonFields::own(const JsonValue& object, const std::string& path) {
  parts_.push_back(std::unique_ptr<JsonFields>(new JsonFields(object, path, error_, log_)));
  return parts_.back().get();
}

void JsonFields::log(std::string_view name, FieldKind kind, std::vector<std::string_view> allowed,
                     std::uint64_t min, std::uint64_t max) const {
  if (log_ != nullptr) {
    log_->push_back({path_of(name), kind, std::move(allowed), min, max});
  }
}

void JsonFields::complain(const std::string& path, const std::string& why) {
  if (!error_->has_value()) {
    *error_ = shown(path) + " " + why;
  }
}

std::optional<std::string> JsonFields::read_text(const JsonValue& value, const std::string& path) {
  if (value.kind != JsonKind::kText) {
    complain(path, "has to be a text");
    return std::nullopt;
  }
  if (value.text.find('\0') != std::string::npos) {
    complain(path, "has a zero byte");
    return std::nullopt;
  }
  return value.text;
}

std::optional<std::uint64_t> JsonFields::read_number(const JsonValue& value,
                                                     const std::string& path, std::uint64_t min,
                                                     std::uint64_t max) {
  if (value.kind != JsonKind::kWhole || value.whole < min || value.whole > max) {
    complain(path, not_in_range(min, max));
    return std::nullopt;
  }
  return value.whole;
}

std::string JsonFields::untaken() const {
  for (const JsonValue::Member& member : object_.members) {
    if (std::find(asked_.begin(), asked_.end(), member.first) == asked_.end()) {
      return "unknown member " + shown(path_of(member.first)) + did_you_mean(member.first, asked_);
    }
  }
  for (const auto& part : parts_) {
    if (std::string unknown = part->untaken(); !unknown.empty()) {
      return unknown;
    }
  }
  return "";
}

}  // namespace muster::agent
