#include "agent/edge/door/http_head.h"

#include <microhttpd.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include "agent/api/request.h"
#include "agent/api/rest/browser_gate.h"
#include "agent/api/rest/http_text.h"
#include "agent/api/rest/problem.h"

namespace muster::agent {
namespace {

constexpr std::pair<std::string_view, HttpMethod> kMethods[] = {
    {"GET", HttpMethod::kGet}, {"HEAD", HttpMethod::kHead},   {"POST", HttpMethod::kPost},
    {"PUT", HttpMethod::kPut}, {"PATCH", HttpMethod::kPatch}, {"DELETE", HttpMethod::kDelete},
};

HttpMethod method_of(std::string_view name) {
  const auto* found = std::find_if(std::begin(kMethods), std::end(kMethods),
                                   [name](const auto& row) { return row.first == name; });
  return found == std::end(kMethods) ? HttpMethod::kOther : found->second;
}

std::string in_lower_case(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  });
  return result;
}

MHD_Result add_field(void* to, MHD_ValueKind, const char* name, std::size_t name_size,
                     const char* value, std::size_t value_size) {
  std::string_view text(value == nullptr ? "" : value, value == nullptr ? 0 : value_size);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) {
    text.remove_suffix(1);
  }
  static_cast<HttpFields*>(to)->emplace_back(in_lower_case({name, name_size}), text);
  return MHD_YES;
}

/// The first error of the request line.
std::optional<HttpAnswer> read_target(std::string_view target, HttpRequest& request) {
  const std::size_t mark = target.find('?');
  const auto path = percent_decoded(target.substr(0, mark));
  if (!path.has_value() || !path->starts_with('/')) {
    return problem(400, ResponseStatus::kUsage,
                   "the path of the request is not readable: it begins with / and is UTF-8, "
                   "percent-encoded");
  }
  request.path = *path;
  if (mark == std::string_view::npos) {
    return std::nullopt;
  }
  auto query = query_of(target.substr(mark + 1));
  if (!query) {
    return problem_of(query.error());
  }
  request.query = *std::move(query);
  return std::nullopt;
}

/// 0 without one; the largest number if it is not readable.
std::uint64_t announced_length(const HttpFields& fields) {
  const auto text = field_of(fields, "content-length");
  if (!text.has_value()) {
    return 0;
  }
  std::uint64_t length = 0;
  const auto parsed = std::from_chars(text->data(), text->data() + text->size(), length);
  const bool is_whole = parsed.ec == std::errc() && parsed.ptr == text->data() + text->size();
  return is_whole ? length : UINT64_MAX;
}

std::optional<HttpAnswer> size_refusal(MHD_Connection* link, std::uint64_t length,
                                       const HttpLimits& limits) {
  const MHD_ConnectionInfo* size =
      MHD_get_connection_info(link, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
  if (size != nullptr && size->header_size > limits.head_bytes) {
    return problem(431, ResponseStatus::kUsage,
                   "the header has more than " + std::to_string(limits.head_bytes) +
                       " bytes: send fewer or shorter fields");
  }
  if (length > limits.body_bytes) {
    return problem(413, ResponseStatus::kUsage,
                   "the body has more than " + std::to_string(limits.body_bytes) + " bytes");
  }
  return std::nullopt;
}

}  // namespace

HttpHead read_head(MHD_Connection* link, std::string_view method, std::string_view target,
                   const HttpServerOptions& options) {
  HttpHead head;
  head.request.method = method_of(method);
  MHD_get_connection_values_n(link, MHD_HEADER_KIND, add_field, &head.request.fields);
  const HttpFields& fields = head.request.fields;
  const std::uint64_t length = announced_length(fields);
  head.refusal = browser_refusal(head.request, options.browser);
  if (!head.refusal.has_value()) {
    head.refusal = size_refusal(link, length, options.limits);
  }
  if (!head.refusal.has_value()) {
    head.refusal = read_target(target, head.request);
  }
  if (head.refusal.has_value()) {
    const bool has_body = length > 0 || field_of(fields, "transfer-encoding").has_value();
    const bool is_in_doubt = head.refusal->status == 400 || length > kDroppedBodyMax;
    head.must_answer_now = has_body && (is_in_doubt || field_of(fields, "expect").has_value());
  }
  return head;
}

}  // namespace muster::agent
