#pragma once
// Times of a job as people write them: "22:00", "2026-12-01T08:00", "+2h"; and its conditions about
// other jobs: "ok:7,any:8.3".

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/kit/world.h"
#include "gossip/base/result.h"
#include "gossip/base/time.h"
#include "scheduler/protocol/eligibility.h"

namespace muster::cli {

/// The times in one command, as people write them; "" = the command does not give that time.
struct TimeTexts {
  std::string begin;
  std::string deadline;
  bool may_be_none = false;  ///< "none" may stand for each of them.
};
/// The same as spans from now; nullopt = the command does not give that time, 0 = "none".
struct JobTimes {
  std::optional<Duration> begin;
  std::optional<Duration> deadline;
};
/// Takes the value of an option. kInvalid: it is empty, as that of a variable which is not set.
Status take_time(const std::string& text, bool may_be_none, std::string& target);
/// Reads the local wall clock once. A time of day is the next one; that of a deadline is the first
/// one from the begin on. kInvalid, with the option: the text is no time, the calendar or the clock
/// never shows it, it has passed, it is above a year away, or the deadline is not after the begin.
Result<JobTimes> read_times(const TimeTexts& texts, const WorldClock& clock);
/// "22:00" if that is on the day of now, else "2026-12-01 08:00"; local time, to the nearest
/// minute: the clocks of leader and user differ by a little.
std::string brief_time(std::uint64_t unix_ms, const WorldClock& clock);
/// "2026-12-01 08:00:00"; local time, to the nearest second.
std::string full_time(std::uint64_t unix_ms, const WorldClock& clock);
/// kInvalid names the item that is wrong.
Result<std::vector<scheduler::Dependency>> parse_after(const std::string& text);

}  // namespace muster::cli
