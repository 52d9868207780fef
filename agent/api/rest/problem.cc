#include "agent/api/rest/problem.h"

#include <algorithm>
#include <utility>

#include "agent/api/json/dump.h"
#include "agent/api/payload.h"
#include "agent/api/queues.h"
#include "gossip/base/check.h"

namespace muster::agent {
namespace {

/// As the CLI has it.
constexpr std::uint64_t kRetryAfterMsMax = 365ULL * 24 * 3600 * 1000;

struct StatusTitle {
  int status;
  std::string_view title;
};

constexpr StatusTitle kTitles[] = {
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
};

std::string retry_after_seconds(std::optional<std::uint64_t> ms) {
  const std::uint64_t whole = std::max<std::uint64_t>(ms.value_or(1), 1);
  return std::to_string(whole / 1000 + (whole % 1000 == 0 ? 0 : 1));
}

}  // namespace

std::optional<std::uint64_t> retry_after_ms(const Response& response) {
  const auto told = response.status == ResponseStatus::kNoQuorum
                        ? decode_payload<RetryAfter>(response.payload)
                        : std::nullopt;
  return told.has_value() ? std::optional(std::clamp<std::uint64_t>(told->ms, 1, kRetryAfterMsMax))
                          : std::nullopt;
}

int http_status_of(ResponseStatus status) {
  switch (status) {
    case ResponseStatus::kOk:
      return 200;
    case ResponseStatus::kFailed:
      return 500;
    case ResponseStatus::kUsage:
      return 400;
    case ResponseStatus::kImpossible:
      return 422;
    case ResponseStatus::kDenied:
      return 403;
    case ResponseStatus::kNoQuorum:
      return 503;
    case ResponseStatus::kNotFound:
      return 404;
    case ResponseStatus::kConflict:
      return 409;
    case ResponseStatus::kUnknown:
      return 504;
  }
  return 500;
}

std::string_view title_of(int status) {
  for (const StatusTitle& each : kTitles) {
    if (each.status == status) {
      return each.title;
    }
  }
  return "Error";
}

HttpAnswer problem(int status, ResponseStatus exit_code, std::string detail,
                   std::optional<std::uint64_t> retry_after_ms) {
  const std::string title(title_of(status));
  HttpAnswer answer;
  answer.status = status;
  answer.content_type = kProblemType;
  if (status == 429 || status == 503) {
    answer.fields.emplace_back("retry-after", retry_after_seconds(retry_after_ms));
  }
  if (status == 401) {
    answer.fields.emplace_back("www-authenticate", "Bearer");
  }
  answer.body =
      dump({{"type", "about:blank"},
            {"title", title},
            {"status", status},
            {"detail", detail.empty() ? title : std::move(detail)},
            {"exit_code", static_cast<int>(exit_code)},
            {"retry_after_ms", retry_after_ms.has_value() ? Json(*retry_after_ms) : Json()}}) +
      "\n";
  return answer;
}

HttpAnswer problem_of(const Response& response) {
  CHECK(response.status != ResponseStatus::kOk);
  HttpAnswer answer = problem(http_status_of(response.status), response.status, response.text,
                              retry_after_ms(response));
  if (!response.answered_by.empty()) {
    answer.fields.emplace_back("muster-answered-by", response.answered_by);
    answer.fields.emplace_back("muster-age-ms", std::to_string(response.age_ms));
  }
  return answer;
}

HttpAnswer problem_of(const NoRoute& none) {
  HttpAnswer answer =
      problem(none.status, none.status == 404 ? ResponseStatus::kNotFound : ResponseStatus::kUsage,
              none.text);
  if (!none.allow.empty()) {
    answer.fields.emplace_back("allow", none.allow);
  }
  return answer;
}

HttpAnswer problem_of(const Error& error) {
  const ResponseStatus status = status_of(error.code);
  return problem(http_status_of(status), status, error.text);
}

}  // namespace muster::agent
