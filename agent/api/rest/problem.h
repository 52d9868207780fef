#pragma once
// Errors of REST: the documents of RFC 9457, application/problem+json. Members: type
// ("about:blank"), title, status, detail (the error, with what to do about it), exit_code (that of
// the CLI for the same error), retry_after_ms (null: not known).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agent/api/request.h"
#include "agent/api/rest/http_message.h"
#include "agent/api/rest/route.h"
#include "gossip/base/result.h"

namespace muster::agent {

inline constexpr char kProblemType[] = "application/problem+json";

/// The time after which the refused request may be taken, if the answer says one; at least 1, at
/// most a year.
std::optional<std::uint64_t> retry_after_ms(const Response& response);

/// The HTTP status of an answer: kOk is 200, kDenied 403. A request without any proof is 401, which
/// the caller knows and no answer says.
int http_status_of(ResponseStatus status);

/// "Not Found"; "Error" for a status that REST does not use.
std::string_view title_of(int status);

/// 429 and 503 carry retry-after in seconds, rounded up, 1 if it is not known; 401 carries
/// www-authenticate. The door adds chance to the time. The body ends with a line feed.
HttpAnswer problem(int status, ResponseStatus exit_code, std::string detail,
                   std::optional<std::uint64_t> retry_after_ms = std::nullopt);
/// Precondition: the status is not kOk. It carries muster-answered-by and muster-age-ms if a node
/// answered.
HttpAnswer problem_of(const Response& response);
/// With the Allow header of a 405.
HttpAnswer problem_of(const NoRoute& none);
/// An error that was found before a node was asked: kInvalid is 400.
HttpAnswer problem_of(const Error& error);

}  // namespace muster::agent
