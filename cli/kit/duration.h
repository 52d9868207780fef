#pragma once
// Durations as people write and read them: "250ms", "30s", "5m", "1h30m", "2d".

#include <string>
#include <string_view>

#include "gossip/base/result.h"
#include "gossip/base/time.h"

namespace muster::cli {

/// Longest duration accepted: what is longer is a typing error.
inline constexpr Duration kDurationMax = std::chrono::hours(24 * 365);

/// One or more pairs of a whole number and a unit (ms, s, m, h, d), largest unit first; a unit is
/// never optional except for a lone 0. kInvalid names what was read and shows the form.
Result<Duration> parse_duration(std::string_view text);

/// The shortest form that parse_duration reads back; whole milliseconds, the rest is cut.
std::string format_duration(Duration duration);

/// Time that has passed: milliseconds below a second, tenths below a minute, then whole seconds in
/// two units ("4ms", "5.0s", "2m5s", "3h12m"). Truncates.
std::string format_after(Duration duration);

/// One unit, for tables and sentences: "0s", "850ms", "12s", "5m", "3h", "2d". Truncates.
std::string format_age(std::uint64_t age_ms);

/// Hours and tenths, for GPU time: "0.0", "12.5". Truncates.
std::string format_hours(std::uint64_t ms);

}  // namespace muster::cli
