#pragma once
// Helpers of all writers of JSON. Keys keep the order in which they are added. Bytes that are not
// UTF-8 are replaced. An absent value is null.

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include "agent/api/request.h"

namespace muster::agent {

using Json = nlohmann::ordered_json;

inline std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Adds the host that answered, and how old the answer may be.
inline std::string dump_answer(Json json, const Response& answer) {
  json["answered_by"] = answer.answered_by;
  json["age_ms"] = answer.age_ms;
  return dump(json);
}

template <class Id>
Json id_or_null(const Id& id) {
  return id.is_zero() ? Json(nullptr) : Json(id.hex());
}

/// null for 0, where 0 means that there is nothing.
inline Json number_or_null(std::uint64_t number) {
  return number == 0 ? Json(nullptr) : Json(number);
}

inline Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

}  // namespace muster::agent
