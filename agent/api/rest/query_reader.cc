#include "agent/api/rest/query_reader.h"

#include <algorithm>
#include <charconv>
#include <cstddef>

#include "agent/api/rest/field_text.h"

namespace muster::agent {
namespace {

/// nullopt if it has any byte but digits, or is too large.
std::optional<std::uint64_t> digits_value(std::string_view text) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stopped == end ? std::optional(value) : std::nullopt;
}

}  // namespace

QueryFields::QueryFields(const HttpFields& query, FieldLog* log) : query_(query), log_(log) {}

bool QueryFields::has(std::string_view name) const {
  return field_of(query_, name).has_value();
}

std::optional<std::string> QueryFields::text(std::string_view name) {
  note(log_, {std::string(name), FieldKind::kText});
  const std::string* value = take(name);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (value->empty()) {
    refuse(name, "give a value");
    return std::nullopt;
  }
  return *value;
}

std::optional<std::string> QueryFields::choice(std::string_view name,
                                               const std::vector<std::string_view>& allowed) {
  note(log_, {std::string(name), FieldKind::kChoice, allowed});
  const std::string* value = take(name);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (std::find(allowed.begin(), allowed.end(), *value) == allowed.end()) {
    refuse(name, shown(*value) + " is not " + any_of(allowed));
    return std::nullopt;
  }
  return *value;
}

std::optional<std::uint64_t> QueryFields::number(std::string_view name, std::uint64_t min,
                                                 std::uint64_t max) {
  note(log_, {std::string(name), FieldKind::kNumber, {}, min, max});
  const std::string* value = take(name);
  if (value == nullptr) {
    return std::nullopt;
  }
  const auto number = digits_value(*value);
  if (!number.has_value() || *number < min || *number > max) {
    refuse(name, "it " + not_in_range(min, max) + ", and is " + shown(*value));
    return std::nullopt;
  }
  return number;
}

std::optional<bool> QueryFields::boolean(std::string_view name) {
  note(log_, {std::string(name), FieldKind::kBoolean});
  const std::string* value = take(name);
  if (value == nullptr) {
    return std::nullopt;
  }
  const bool is_true = value->empty() || *value == "1" || *value == "true";
  if (!is_true && *value != "0" && *value != "false") {
    refuse(name, shown(*value) + " is not true or false");
    return std::nullopt;
  }
  return is_true;
}

std::vector<std::string> QueryFields::texts(std::string_view name) {
  note(log_, {std::string(name), FieldKind::kTexts});
  return items(name);
}

std::vector<std::string> QueryFields::items(std::string_view name) {
  if (std::find(asked_.begin(), asked_.end(), name) == asked_.end()) {
    asked_.emplace_back(name);
  }
  std::vector<std::string> all;
  for (const auto& [given, value] : query_) {
    for (std::size_t start = 0; given == name && start <= value.size();) {
      const std::size_t end = std::min(value.find(',', start), value.size());
      if (end == start) {
        refuse(name, "an item of " + shown(value) + " is empty");
        return {};
      }
      all.push_back(value.substr(start, end - start));
      start = end + 1;
    }
  }
  return all;
}

std::vector<std::string> QueryFields::choices(std::string_view name,
                                              const std::vector<std::string_view>& allowed) {
  note(log_, {std::string(name), FieldKind::kChoices, allowed});
  std::vector<std::string> all = items(name);
  for (const std::string& each : all) {
    if (std::find(allowed.begin(), allowed.end(), each) == allowed.end()) {
      refuse(name, shown(each) + " is not " + any_of(allowed));
      return {};
    }
  }
  return all;
}

void QueryFields::refuse(std::string_view name, const std::string& why) {
  if (!error_.has_value()) {
    error_ = std::string(name) + ": " + why;
  }
}

Status QueryFields::end() const {
  if (error_.has_value()) {
    return Error{ErrorCode::kInvalid, *error_};
  }
  for (const auto& [name, value] : query_) {
    if (std::find(asked_.begin(), asked_.end(), name) == asked_.end()) {
      return Error{ErrorCode::kInvalid,
                   "unknown query parameter " + shown(name) + did_you_mean(name, asked_)};
    }
  }
  return ok();
}

const std::string* QueryFields::take(std::string_view name) {
  if (std::find(asked_.begin(), asked_.end(), name) == asked_.end()) {
    asked_.emplace_back(name);
  }
  const std::string* value = nullptr;
  for (const auto& [given, text] : query_) {
    if (given != name) {
      continue;
    }
    if (value != nullptr) {
      refuse(name, "it is given twice");
      return nullptr;
    }
    value = &text;
  }
  return value;
}

}  // namespace muster::agent
