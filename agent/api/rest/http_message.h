#pragma once
// An HTTP request and its answer, as values. The door (agent/edge/door) reads and writes them; the
// rules of REST are functions from one to the other.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster::agent {

enum class HttpMethod : std::uint8_t { kGet, kHead, kPost, kPut, kPatch, kDelete, kOther };

/// Names in lower case, in the order in which they came.
using HttpFields = std::vector<std::pair<std::string, std::string>>;

/// The value of the first field of that name; nullopt without one.
inline std::optional<std::string_view> field_of(const HttpFields& fields, std::string_view name) {
  const auto found = std::find_if(fields.begin(), fields.end(),
                                  [name](const auto& field) { return field.first == name; });
  return found == fields.end() ? std::nullopt : std::optional<std::string_view>(found->second);
}

struct HttpRequest {
  HttpMethod method = HttpMethod::kGet;
  std::string path;     ///< Percent-decoded, without the query; begins with '/'.
  HttpFields query{};   ///< Percent-decoded names and values.
  HttpFields fields{};  ///< The header.
  std::string body{};
};

struct HttpAnswer {
  int status = 200;
  std::string content_type = "application/json";
  HttpFields fields{};  ///< Beside content type and length.
  std::string body{};
};

}  // namespace muster::agent
