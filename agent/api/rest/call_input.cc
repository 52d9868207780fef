#include "agent/api/rest/call_input.h"

#include <charconv>
#include <utility>

#include "agent/api/rest/job_ids.h"
#include "agent/api/rest/problem.h"

namespace muster::agent {
namespace {

struct SpanUnit {
  std::string_view name;
  std::int64_t ms;
};
constexpr SpanUnit kSpanUnits[] = {
    {"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}};

Error malformed_span(std::string_view text) {
  return {ErrorCode::kInvalid, "'" + std::string(text) +
                                   "' is not a duration: write a whole number and a unit, as "
                                   "250ms, 30s, 5m, 2h or 1h30m"};
}

bool is_span_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Index into kSpanUnits, or its size.
std::size_t span_unit_of(std::string_view name) {
  std::size_t index = 0;
  while (index < std::size(kSpanUnits) && kSpanUnits[index].name != name) {
    ++index;
  }
  return index;
}

}  // namespace

Status CallInput::end() const {
  const Status asked = query.end();
  return asked ? body.end() : asked;
}

CallStep refused(const Error& error) {
  return ended(problem_of(error));
}

Result<Duration> parse_span(std::string_view text) {
  if (text == "0") {
    return Duration(0);
  }
  const std::int64_t max_ms = to_ms(kRequestSpanMax);
  std::int64_t total_ms = 0;
  std::size_t next_unit = 0;
  std::string_view rest = text;
  do {
    std::int64_t count = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), count);
    if (rest.empty() || error != std::errc() || !is_span_digit(rest.front())) {
      return malformed_span(text);
    }
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    std::size_t name_size = 0;
    while (name_size < rest.size() && !is_span_digit(rest[name_size])) {
      ++name_size;
    }
    const std::size_t unit = span_unit_of(rest.substr(0, name_size));
    if (unit >= std::size(kSpanUnits) || unit < next_unit) {
      return malformed_span(text);
    }
    rest.remove_prefix(name_size);
    next_unit = unit + 1;
    if (count > (max_ms - total_ms) / kSpanUnits[unit].ms) {
      return Error{ErrorCode::kInvalid, "'" + std::string(text) + "' is longer than 365d"};
    }
    total_ms += count * kSpanUnits[unit].ms;
  } while (!rest.empty());
  return Duration(std::chrono::milliseconds(total_ms));
}

std::uint64_t span_ms(QueryFields& query, std::string_view name) {
  const auto text = query.text(name);
  if (!text.has_value()) {
    return 0;
  }
  const Result<Duration> span = parse_span(*text);
  if (!span) {
    query.refuse(name, span.error().text);
    return 0;
  }
  return static_cast<std::uint64_t>(to_ms(*span));
}

std::optional<Duration> span_of(JsonFields& body, const std::string& name, Duration min) {
  constexpr std::int64_t kMsPerSecond = 1000;
  const auto min_ms = static_cast<std::uint64_t>(to_ms(min));
  const auto max_ms = static_cast<std::uint64_t>(to_ms(kRequestSpanMax));
  const auto ms = body.number(name + "_ms", min_ms, max_ms);
  const auto seconds =
      body.number(name + "_s", (min_ms + kMsPerSecond - 1) / kMsPerSecond, max_ms / kMsPerSecond);
  if (body.has(name + "_ms") && body.has(name + "_s")) {
    body.refuse(name + "_s", "give this or " + name + "_ms");
  }
  if (ms.has_value()) {
    return std::chrono::milliseconds(static_cast<std::int64_t>(*ms));
  }
  return seconds.has_value()
             ? std::optional<Duration>(std::chrono::seconds(static_cast<std::int64_t>(*seconds)))
             : std::nullopt;
}

Result<JobId> job_of(const CallInput& input) {
  return parse_job_id(input.value("job"));
}

std::optional<std::string> bytes_of_hex(std::string_view text, std::size_t count) {
  const auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  if (text.size() != 2 * count) {
    return std::nullopt;
  }
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = digit(text[i]);
    const int low = digit(text[i + 1]);
    if (high < 0 || low < 0) {
      return std::nullopt;
    }
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

CallStep with_next(CallStep step, std::string next) {
  step.answer.fields.emplace_back("muster-next", std::move(next));
  return step;
}

}  // namespace muster::agent
