#include "agent/api/rest/follow_wish.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "agent/api/output.h"
#include "agent/api/rest/call_input.h"
#include "agent/api/rest/field_text.h"
#include "agent/api/rest/job_ids.h"
#include "agent/api/rest/problem.h"
#include "agent/api/rest/query_reader.h"
#include "agent/api/rest/route.h"

namespace muster::agent {
namespace {

constexpr char kFollowParameter[] = "follow";
constexpr char kLastEventField[] = "last-event-id";
constexpr std::size_t kEventIdMax = 64;

struct FollowRoute {
  FollowKind kind;
  RouteMatch match;
};

/// nullopt: another route, which is not followed.
std::optional<FollowRoute> follow_route_of(const HttpRequest& request) {
  static constexpr std::pair<RouteId, FollowKind> kFollowed[] = {
      {RouteId::kRankOutput, FollowKind::kOutput},
      {RouteId::kJob, FollowKind::kJob},
      {RouteId::kJobs, FollowKind::kJobs},
      {RouteId::kEvents, FollowKind::kEvents}};
  if (request.method != HttpMethod::kGet && request.method != HttpMethod::kHead) {
    return std::nullopt;
  }
  auto found = match(request.method, request.path);
  auto* route = std::get_if<RouteMatch>(&found);
  for (const auto& [id, kind] : kFollowed) {
    if (route != nullptr && route->route->id == id) {
      return FollowRoute{kind, std::move(*route)};
    }
  }
  return std::nullopt;
}

/// "text/event-stream", alone or among others, with parameters or without.
bool accepts_events(std::string_view accept) {
  constexpr std::string_view kWanted = kEventStreamType;
  while (!accept.empty()) {
    std::string_view range = accept.substr(0, accept.find(','));
    accept.remove_prefix(std::min(range.size() + 1, accept.size()));
    range = range.substr(0, range.find(';'));
    range.remove_prefix(std::min(range.find_first_not_of(" \t"), range.size()));
    range = range.substr(0, range.find_last_not_of(" \t") + 1);
    const bool is_wanted = std::equal(
        range.begin(), range.end(), kWanted.begin(), kWanted.end(), [](char one, char other) {
          return (one >= 'A' && one <= 'Z' ? static_cast<char>(one - 'A' + 'a') : one) == other;
        });
    if (is_wanted) {
      return true;
    }
  }
  return false;
}

std::optional<std::uint64_t> whole_number(std::string_view text) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stopped == end ? std::optional(value) : std::nullopt;
}

HttpAnswer bad_wish(std::string text) {
  return problem(400, ResponseStatus::kUsage, std::move(text));
}
HttpAnswer bad_event_id(std::string_view id, std::string_view form) {
  return bad_wish("Last-Event-ID: " + shown(id) + " is no id of these events: it is " +
                  std::string(form));
}

/// "" without the field: no event has come yet.
std::string_view last_event_id(const HttpRequest& request) {
  return field_of(request.fields, kLastEventField).value_or("");
}

/// The wished part of the output; an error of the query is its end().
std::optional<HttpAnswer> read_output_wish(const HttpRequest& request, const RouteMatch& match,
                                           QueryFields& query, FollowWish& wish) {
  const Result<JobId> job = parse_job_id(match.value("job"));
  const Result<std::uint64_t> rank = parse_count(match.value("rank"));
  if (!job || !rank) {
    return problem_of(!job ? job.error() : rank.error());
  }
  wish.job = *job;
  wish.rank = *rank;
  wish.attempt = query.number("attempt", 0, UINT64_MAX).value_or(0);
  wish.from = query.number("offset", 0, UINT64_MAX);
  wish.since_ms = span_ms(query, "since");
  wish.stream = query.choice("stream", {kStdout, kStderr}).value_or("");
  const std::string_view id = last_event_id(request);
  if (id.empty()) {
    return std::nullopt;
  }
  const std::size_t at = std::min(id.find('@'), id.size());
  const auto offset = whole_number(id.substr(0, at));
  const auto attempt =
      at == id.size() ? std::optional<std::uint64_t>(1) : whole_number(id.substr(at + 1));
  if (!offset.has_value() || !attempt.has_value() || *attempt == 0) {
    return bad_event_id(id, "a byte offset, and behind \"@\" the attempt if it is not the first");
  }
  const bool is_plain = at == id.size();
  if (wish.attempt != 0 && !is_plain && wish.attempt != *attempt) {
    return bad_event_id(id, "of another attempt than the one in the query");
  }
  wish.attempt = wish.attempt == 0 ? *attempt : wish.attempt;
  wish.from = offset;
  wish.since_ms = 0;
  return std::nullopt;
}

std::optional<HttpAnswer> read_events_wish(const HttpRequest& request, QueryFields& query,
                                           FollowWish& wish) {
  wish.host = query.text("host").value_or("");
  wish.events.since_ms = span_ms(query, "since");
  wish.events.severity = query.choice("level", {"info", "warn", "alarm"}).value_or("");
  wish.events.names = query.texts("event");
  wish.from = query.number("after", 0, UINT64_MAX);
  const auto limit = query.number("limit", 1, kPageMax);
  if (const std::string_view id = last_event_id(request); !id.empty()) {
    wish.from = whole_number(id);
    if (!wish.from.has_value()) {
      return bad_event_id(id, "the sequence number of an event");
    }
    wish.events.since_ms = 0;
  }
  wish.events.after = wish.from.value_or(0);
  // Without a number or an age the newest event only says where the later ones begin.
  wish.is_from_now = !wish.from.has_value() && !limit.has_value() && wish.events.since_ms == 0;
  wish.events.newest = wish.is_from_now ? 1 : wish.from.has_value() ? 0 : limit.value_or(0);
  return std::nullopt;
}

}  // namespace

bool asks_to_follow(const HttpRequest& request) {
  const bool says_so = field_of(request.query, kFollowParameter).has_value() ||
                       accepts_events(field_of(request.fields, "accept").value_or(""));
  return says_so && follow_route_of(request).has_value();
}

std::variant<HttpAnswer, FollowWish> follow_wish_of(const HttpRequest& request) {
  std::optional<FollowRoute> route = follow_route_of(request);
  FollowWish wish;
  wish.kind = route->kind;
  wish.is_head = request.method == HttpMethod::kHead;
  if (!request.body.empty()) {
    return bad_wish("this request takes no body");
  }
  QueryFields query(request.query);
  if (!query.boolean(kFollowParameter).value_or(true)) {
    return bad_wish("follow: leave it out, and text/event-stream out of Accept, to read once");
  }
  if (query.has("consistent")) {
    return bad_wish("consistent: it is for one answer, which the leader gives; leave it out");
  }
  std::optional<HttpAnswer> refusal;
  if (route->kind == FollowKind::kOutput) {
    refusal = read_output_wish(request, route->match, query, wish);
  } else if (route->kind == FollowKind::kEvents) {
    refusal = read_events_wish(request, query, wish);
  } else {
    const std::string_view id = last_event_id(request);
    wish.last_id = id.substr(0, kEventIdMax);
    wish.request.path = request.path;
    wish.request.query = request.query;
    std::erase_if(wish.request.query,
                  [](const auto& parameter) { return parameter.first == kFollowParameter; });
    return query.is_good() ? std::variant<HttpAnswer, FollowWish>(std::move(wish))
                           : problem_of(query.end().error());
  }
  if (const Status status = query.end(); !status) {
    return problem_of(status.error());
  }
  return refusal.has_value() ? std::variant<HttpAnswer, FollowWish>(*std::move(refusal))
                             : std::move(wish);
}

std::string topic_of(const FollowWish& wish, const FollowProof& proof, std::uint64_t attempt) {
  if (wish.kind == FollowKind::kOutput) {
    // Followers that wait for different attempts do not wait for the same.
    const std::string wished = attempt == 0 ? "?" + std::to_string(wish.attempt) : "";
    return "output " + text_of(wish.job) + " " + std::to_string(wish.rank) + " " +
           std::to_string(attempt) + wished;
  }
  // A login may show the line of another user, too.
  std::string key = proof.uid.has_value() ? "login " + std::to_string(*proof.uid) : "bearer";
  key.append("\n").append(proof.line);
  if (wish.kind == FollowKind::kEvents) {
    key += "\nevents\n" + wish.host + "\n" + wish.events.severity;
    for (const std::string& name : wish.events.names) {
      key.append("\n").append(name);
    }
    return key;
  }
  HttpFields query = wish.request.query;
  std::sort(query.begin(), query.end());
  key += "\n" + wish.request.path;
  for (const auto& [name, value] : query) {
    key.append("\n").append(std::to_string(value.size())).append(name).append("=").append(value);
  }
  return key;
}

std::string output_event_id(std::uint64_t offset, std::uint64_t attempt) {
  return std::to_string(offset) + (attempt > 1 ? "@" + std::to_string(attempt) : "");
}

}  // namespace muster::agent
