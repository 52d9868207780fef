#include "cli/kit/duration.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

namespace muster::cli {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t ms;
};
constexpr std::array<Unit, 5> kUnits = {
    {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};

Error malformed(std::string_view text) {
  return {
      ErrorCode::kInvalid,
      "'" + std::string(text) +
          "' is not a duration: write a whole number and a unit, as 250ms, 30s, 5m, 2h or 1h30m"};
}

/// Index into kUnits, or its size.
std::size_t unit_of(std::string_view name) {
  std::size_t index = 0;
  while (index < kUnits.size() && kUnits[index].name != name) {
    ++index;
  }
  return index;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  if (text == "0") {
    return Duration(0);
  }
  const std::int64_t max_ms = to_ms(kDurationMax);
  std::int64_t total_ms = 0;
  std::size_t next_unit = 0;
  std::string_view rest = text;
  do {
    std::int64_t count = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), count);
    if (error != std::errc() || !is_digit(rest.front())) {
      return malformed(text);
    }
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    std::size_t name_size = 0;
    while (name_size < rest.size() && !is_digit(rest[name_size])) {
      ++name_size;
    }
    const std::size_t unit = unit_of(rest.substr(0, name_size));
    if (unit >= kUnits.size() || unit < next_unit) {
      return malformed(text);
    }
    rest.remove_prefix(name_size);
    next_unit = unit + 1;
    if (count > (max_ms - total_ms) / kUnits[unit].ms) {
      return Error{ErrorCode::kInvalid, "'" + std::string(text) + "' is longer than 365d"};
    }
    total_ms += count * kUnits[unit].ms;
  } while (!rest.empty());
  return Duration(std::chrono::milliseconds(total_ms));
}

std::string format_duration(Duration duration) {
  std::int64_t rest_ms = to_ms(duration);
  if (rest_ms <= 0) {
    return "0";
  }
  std::string text;
  for (const Unit& unit : kUnits) {
    if (rest_ms >= unit.ms) {
      text += std::to_string(rest_ms / unit.ms) + std::string(unit.name);
      rest_ms %= unit.ms;
    }
  }
  return text;
}

std::string format_after(Duration duration) {
  const std::int64_t after_ms = std::max<std::int64_t>(to_ms(duration), 0);
  if (after_ms < 1000) {
    return after_ms == 0 ? "0" : std::to_string(after_ms) + "ms";
  }
  if (after_ms < 60'000) {
    return std::to_string(after_ms / 1000) + "." + std::to_string(after_ms % 1000 / 100) + "s";
  }
  std::int64_t rest_ms = after_ms;
  std::string text;
  int units = 0;
  for (const Unit& unit : kUnits) {
    const bool is_shown = units > 0 || rest_ms >= unit.ms;
    if (!is_shown || units == 2) {
      continue;
    }
    ++units;
    if (rest_ms >= unit.ms) {
      text += std::to_string(rest_ms / unit.ms) + std::string(unit.name);
      rest_ms %= unit.ms;
    }
  }
  return text;
}

std::string format_age(std::uint64_t age_ms) {
  if (age_ms == 0) {
    return "0s";
  }
  for (const Unit& unit : kUnits) {
    const auto unit_ms = static_cast<std::uint64_t>(unit.ms);
    if (age_ms >= unit_ms) {
      return std::to_string(age_ms / unit_ms) + std::string(unit.name);
    }
  }
  return "0s";
}

std::string format_hours(std::uint64_t ms) {
  constexpr std::uint64_t kTenthMs = 360'000;
  const std::uint64_t tenths = ms / kTenthMs;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
}

}  // namespace muster::cli
