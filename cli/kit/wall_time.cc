#include "cli/kit/wall_time.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

#include "cli/kit/duration.h"
#include "cli/kit/job_choice.h"

namespace muster::cli {
namespace {

constexpr std::size_t kMinuteEnd = 16;  ///< Of "2026-12-01 08:00".

Error wrong_time(const std::string& text, const std::string& why) {
  return {ErrorCode::kInvalid, "'" + text + "' " + why};
}

std::string time_forms(bool may_be_none) {
  return std::string("22:00, 2026-12-01T08:00") + (may_be_none ? ", +2h or none" : " or +2h");
}

/// Digits alone, as many as the pattern has letters; its other characters stand for themselves.
/// The numbers in the order in which they stand; nullopt if the text does not fit.
std::optional<std::array<int, 5>> numbers_in(std::string_view text, std::string_view pattern) {
  std::array<int, 5> numbers{};
  std::size_t at = 0;
  if (text.size() != pattern.size()) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_digit = text[i] >= '0' && text[i] <= '9';
    if (pattern[i] == 'n' ? !is_digit : pattern[i] != text[i]) {
      return std::nullopt;
    }
    if (is_digit) {
      numbers[at] = numbers[at] * 10 + (text[i] - '0');
    } else {
      ++at;
    }
  }
  return numbers;
}

struct GivenTime {
  LocalMinute minute;
  bool has_date = false;
};

/// nullopt if it is no date or time of day.
std::optional<GivenTime> time_in(const std::string& text) {
  GivenTime given;
  if (const auto date = numbers_in(text, "nnnn-nn-nnTnn:nn")) {
    given = {{(*date)[0], (*date)[1], (*date)[2], (*date)[3], (*date)[4]}, true};
  } else if (const auto time = numbers_in(text, "nn:nn")) {
    given.minute.hour = (*time)[0];
    given.minute.minute = (*time)[1];
  } else {
    return std::nullopt;
  }
  constexpr int kMonths = 12;
  constexpr int kDays = 31;
  const LocalMinute& minute = given.minute;
  const bool is_time = minute.month >= 1 && minute.month <= kMonths && minute.day >= 1 &&
                       minute.day <= kDays && minute.hour < 24 && minute.minute < 60;
  return is_time ? std::optional(given) : std::nullopt;
}

std::chrono::year_month_day date_of(const LocalMinute& minute) {
  return std::chrono::year(minute.year) / minute.month / minute.day;
}

LocalMinute a_day_later(LocalMinute minute) {
  const std::chrono::year_month_day date =
      std::chrono::sys_days(date_of(minute)) + std::chrono::days(1);
  minute.year = static_cast<int>(date.year());
  minute.month = static_cast<int>(static_cast<unsigned>(date.month()));
  minute.day = static_cast<int>(static_cast<unsigned>(date.day()));
  return minute;
}

/// The first moment from `earliest` on, in milliseconds since 1970, at which the local clock shows
/// the hour and minute of `wanted`; nullopt if the clock skips them on that day.
std::optional<std::int64_t> next_time_of_day(LocalMinute wanted, std::int64_t earliest,
                                             const WorldClock& clock) {
  const std::string shown = clock.local_time(static_cast<std::uint64_t>(earliest));
  const auto day = numbers_in(shown.substr(0, kMinuteEnd), "nnnn-nn-nn nn:nn");
  if (!day.has_value()) {
    return std::nullopt;
  }
  const auto& [year, month, date, hour, minute] = *day;
  wanted = {year, month, date, wanted.hour, wanted.minute};
  const std::optional<std::int64_t> on_that_day = clock.unix_of(wanted);
  const bool is_before = on_that_day.has_value()
                             ? *on_that_day < earliest
                             : std::pair(wanted.hour, wanted.minute) < std::pair(hour, minute);
  return is_before ? clock.unix_of(a_day_later(wanted)) : on_that_day;
}

/// Reads the times of one command, which all count from the same moment.
class TimeReader {
 public:
  TimeReader(const WorldClock& clock, bool may_be_none)
      : clock_(clock),
        may_be_none_(may_be_none),
        now_(static_cast<std::int64_t>(clock.unix_ms())) {}

  /// 0 if the text is "none". A time of day is the first one that is not before `begin`.
  Result<Duration> span(const std::string& text, Duration begin) const {
    if (may_be_none_ && text == "none") {
      return Duration(0);
    }
    if (text.starts_with('+')) {
      const Result<Duration> span = parse_duration(text.substr(1));
      return span && *span == Duration(0) ? wrong_time(text, "is now: give a time to come") : span;
    }
    const std::optional<GivenTime> given = time_in(text);
    if (!given.has_value()) {
      return wrong_time(
          text, "is not a time: write " + time_forms(may_be_none_) + ", in your local time");
    }
    if (given->has_date && !date_of(given->minute).ok()) {
      return wrong_time(text, "names a day that the calendar does not have");
    }
    const std::int64_t earliest = now_ + std::max(std::int64_t{to_ms(begin)}, std::int64_t{1});
    const std::optional<std::int64_t> unix_ms =
        given->has_date ? clock_.unix_of(given->minute)
                        : next_time_of_day(given->minute, earliest, clock_);
    if (!unix_ms.has_value()) {
      return wrong_time(text, "is a time that your local clock skips, as it is set forward then");
    }
    if (*unix_ms <= now_) {
      return wrong_time(text, "has passed");
    }
    const Duration span = std::chrono::milliseconds(*unix_ms - now_);
    return span <= kDurationMax ? Result<Duration>(span)
                                : wrong_time(text, "is more than a year away");
  }

 private:
  const WorldClock& clock_;
  bool may_be_none_;
  std::int64_t now_;
};

/// The moment of the local clock that is shown for a time.
std::string shown_time(std::uint64_t unix_ms, std::chrono::milliseconds unit,
                       const WorldClock& clock) {
  const auto unit_ms = static_cast<std::uint64_t>(unit.count());
  return clock.local_time((unix_ms + unit_ms / 2) / unit_ms * unit_ms);
}

Result<scheduler::Dependency> parse_item(const std::string& text) {
  const std::size_t colon = text.find(':');
  const auto ending = scheduler::ending_of(text.substr(0, colon));
  if (colon == std::string::npos || !ending.has_value()) {
    return Error{ErrorCode::kInvalid, "write ok:JOB, fail:JOB or any:JOB"};
  }
  const Result<JobId> job = parse_job(text.substr(colon + 1));
  if (!job) {
    return job.error();
  }
  return scheduler::Dependency{*ending, *job};
}

}  // namespace

Status take_time(const std::string& text, bool may_be_none, std::string& target) {
  target = text;
  return text.empty() ? Status(Error{ErrorCode::kInvalid,
                                     "the value is empty, as of a variable "
                                     "that is not set: write " +
                                         time_forms(may_be_none)})
                      : ok();
}

Result<JobTimes> read_times(const TimeTexts& texts, const WorldClock& clock) {
  const TimeReader reader(clock, texts.may_be_none);
  JobTimes times;
  if (!texts.begin.empty()) {
    const Result<Duration> span = reader.span(texts.begin, Duration(0));
    if (!span) {
      return Error{ErrorCode::kInvalid, "--begin: " + span.error().text};
    }
    times.begin = *span;
  }
  const Duration begin = times.begin.value_or(Duration(0));
  if (!texts.deadline.empty()) {
    const Result<Duration> span = reader.span(texts.deadline, begin);
    if (!span) {
      return Error{ErrorCode::kInvalid, "--deadline: " + span.error().text};
    }
    times.deadline = *span;
  }
  const Duration deadline = times.deadline.value_or(Duration(0));
  if (deadline != Duration(0) && deadline <= begin) {
    return Error{ErrorCode::kInvalid, "--deadline: '" + texts.deadline +
                                          "' is not after --begin: the job could never start"};
  }
  return times;
}

std::string brief_time(std::uint64_t unix_ms, const WorldClock& clock) {
  constexpr std::size_t kDateEnd = 11;  // With the blank behind it.
  const std::string then =
      shown_time(unix_ms, std::chrono::minutes(1), clock).substr(0, kMinuteEnd);
  const bool is_today =
      then.substr(0, kDateEnd) == clock.local_time(clock.unix_ms()).substr(0, kDateEnd);
  return is_today ? then.substr(kDateEnd) : then;
}

std::string full_time(std::uint64_t unix_ms, const WorldClock& clock) {
  return shown_time(unix_ms, std::chrono::seconds(1), clock);
}

Result<std::vector<scheduler::Dependency>> parse_after(const std::string& text) {
  std::vector<scheduler::Dependency> items;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    const std::string word = text.substr(start, end - start);
    const std::string place = "item " + std::to_string(items.size() + 1) + " `" + word + "`: ";
    if (items.size() == scheduler::kDependenciesMax) {
      return Error{ErrorCode::kInvalid, place + "at most " +
                                            std::to_string(scheduler::kDependenciesMax) +
                                            " jobs can be waited for"};
    }
    const Result<scheduler::Dependency> item = parse_item(word);
    if (!item) {
      return Error{ErrorCode::kInvalid, place + item.error().text};
    }
    items.push_back(*item);
    start = end + 1;
  }
  return items;
}

}  // namespace muster::cli
