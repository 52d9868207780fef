#pragma once
// CallInput holds the parts of one request of REST for the rule of its route. A rule takes what it
// knows, checks end(), and returns the first step of the call. A rule keeps no part of CallInput:
// steps hold copies.

#include <functional>
#include <string>
#include <string_view>

#include "agent/api/enrolment.h"
#include "agent/api/rest/call_step.h"
#include "agent/api/rest/json_reader.h"
#include "agent/api/rest/query_reader.h"
#include "agent/api/rest/route.h"
#include "gossip/base/ids.h"
#include "gossip/base/result.h"
#include "gossip/base/time.h"
#include "scheduler/protocol/users.h"

namespace muster::agent {

/// A new access token.
struct FreshAccess {
  scheduler::AccessTokenId id;
  std::string hash;
  std::string line;  ///< The secret, for the client alone.
};
/// A new ticket.
struct FreshTicket {
  std::string key;
  std::string secret;  ///< For the client alone, as a part of the line.
};

/// The things that the door makes: those that are drawn at random, and the text of the metrics
/// (kMetricsContentType). Without a function the requests that need it are refused.
struct RestChance {
  std::function<std::string()> submit_key;  ///< 32 hex digits.
  std::function<FreshAccess(const ClusterId&)> access;
  std::function<FreshTicket()> ticket;
  std::function<Result<std::string>(const std::string& secret, const TicketMade& made)> ticket_line;
  std::function<std::string()> metrics{};
};

/// The longest page.
inline constexpr std::uint64_t kPageMax = 1000;
/// The longest span of time of a request.
inline constexpr Duration kRequestSpanMax = std::chrono::hours(24 * 365);

struct CallInput {
  const RouteMatch& match;
  const HttpFields& fields;
  CallFrame frame;
  QueryFields& query;
  JsonFields& body;  ///< Of an absent body: without members.
  const RestChance& chance;

  const std::string& value(std::string_view name) const { return match.value(name); }
  /// The first error of the query or of the body.
  Status end() const;
};
/// The step that says so.
CallStep refused(const Error& error);

/// Whole numbers with units, the largest first: "12h", "1h30m", "250ms"; or 0.
Result<Duration> parse_span(std::string_view text);
/// A parameter that is such a span, in milliseconds; 0 if it is absent.
std::uint64_t span_ms(QueryFields& query, std::string_view name);
/// The span of a member "NAME_ms" or "NAME_s", from `min` on; nullopt without both of them.
std::optional<Duration> span_of(JsonFields& body, const std::string& name,
                                Duration min = Duration(0));
/// The job in the path.
Result<JobId> job_of(const CallInput& input);
/// The bytes of `count` bytes in hex digits of lower case; nullopt if it is no such text.
std::optional<std::string> bytes_of_hex(std::string_view text, std::size_t count);
/// The whole id that `after` names; zero if it is absent.
template <class Id>
Id after_id(QueryFields& query) {
  const auto text = query.text("after");
  const auto bytes = text.has_value() ? bytes_of_hex(*text, Id::kSizeBytes) : std::nullopt;
  if (text.has_value() && !bytes.has_value()) {
    query.refuse("after", "give the whole id, as muster-next has it");
  }
  return bytes.has_value() ? Id::from_bytes(*bytes) : Id();
}
/// With the field that says behind what the next page begins.
CallStep with_next(CallStep step, std::string next);

}  // namespace muster::agent
