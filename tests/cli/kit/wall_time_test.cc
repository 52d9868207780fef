// Times of jobs as people write them, read by a local clock that shows Saturday, 2026-11-28 12:00.

#include "cli/kit/wall_time.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/cli/kit/fake_world.h"

namespace muster::cli {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.

struct TimeRow {
  std::string text;
  Duration span;
};

/// Of a begin, as `muster submit` reads it.
Result<Duration> span_of(const std::string& text, const WorldClock& clock) {
  const Result<JobTimes> times = read_times({text, ""}, clock);
  if (!times) {
    return times.error();
  }
  return times->begin.value_or(Duration(0));
}

/// The error of these times; "" if there is no error.
std::string wrong_with(const TimeTexts& texts, const WorldClock& clock) {
  const Result<JobTimes> times = read_times(texts, clock);
  return times ? "" : times.error().text;
}

/// The clock skips the time from 02:00 to 03:00 of that day of November 2026.
void skip_an_hour(FakeWorld& world, int day) {
  WorldClock& clock = world.world().clock;
  clock.unix_of = [day, otherwise = clock.unix_of](const LocalMinute& minute) {
    return minute.day == day && minute.hour == 2 ? std::nullopt : otherwise(minute);
  };
}

TEST(WallTime, IsASpanFromNow) {
  FakeWorld world;
  const std::vector<TimeRow> rows = {{"12:01", 1min},
                                     {"22:00", 10h},
                                     {"12:00", 24h},
                                     {"06:00", 18h},
                                     {"2026-11-28T12:30", 30min},
                                     {"2026-12-01T08:00", 68h},
                                     {"+2h", 2h},
                                     {"+1h30m", 90min},
                                     {"+365d", 365 * 24h}};
  for (const TimeRow& row : rows) {
    const Result<Duration> span = span_of(row.text, world.world().clock);
    ASSERT_TRUE(span.has_value()) << row.text << ": " << span.error().text;
    EXPECT_EQ(*span, row.span) << row.text;
  }
}

TEST(WallTime, TheLastDayOfAMonthIsFollowedByTheFirst) {
  FakeWorld world;
  world.wall_unix_ms += 2 * 86'400'000;  // 2026-11-30
  const Result<Duration> span = span_of("06:00", world.world().clock);
  ASSERT_TRUE(span.has_value());
  EXPECT_EQ(*span, 18h);
}

TEST(WallTime, TheLastDayOfAYearIsFollowedByTheFirst) {
  FakeWorld world;
  world.wall_unix_ms += std::uint64_t{33} * 86'400'000;  // 2026-12-31
  const Result<Duration> span = span_of("06:00", world.world().clock);
  ASSERT_TRUE(span.has_value());
  EXPECT_EQ(*span, 18h);
}

struct BothRow {
  int hour;  ///< Of now, on 2026-11-28.
  std::string begin;
  std::string deadline;
  Duration begin_in;
  Duration deadline_in;
};

TEST(WallTime, ADeadlineIsTheFirstOneAfterTheBegin) {
  const std::vector<BothRow> rows = {
      {12, "22:00", "06:00", 10h, 18h},
      {23, "22:00", "06:00", 23h, 31h},
      {2, "22:00", "06:00", 20h, 28h},
      {12, "22:00", "23:00", 10h, 11h},
      {12, "+11h", "22:00", 11h, 34h},
      {12, "2026-12-01T08:00", "07:00", 68h, 91h},
      {12, "2026-12-01T08:00", "09:00", 68h, 69h},
      {12, "+2h", "+3h", 2h, 3h},
      {12, "", "06:00", 0h, 18h},
      {12, "none", "06:00", 0h, 18h},
      {12, "22:00", "none", 10h, 0h},
  };
  for (const BothRow& row : rows) {
    SCOPED_TRACE(std::to_string(row.hour) + " " + row.begin + " " + row.deadline);
    FakeWorld world;
    world.wall_unix_ms += static_cast<std::uint64_t>(std::int64_t{row.hour - 12} * 3'600'000);
    const Result<JobTimes> times = read_times({row.begin, row.deadline, true}, world.world().clock);
    ASSERT_TRUE(times.has_value()) << times.error().text;
    EXPECT_EQ(times->begin.value_or(Duration(0)), row.begin_in);
    EXPECT_EQ(times->deadline, row.deadline_in);
  }
}

TEST(WallTime, ADeadlineThatIsNotAfterTheBeginIsRefused) {
  FakeWorld world;
  const std::string why = "is not after --begin: the job could never start";
  for (const auto& [begin, deadline] :
       std::vector<std::pair<std::string, std::string>>{{"22:00", "22:00"},
                                                        {"+2h", "+2h"},
                                                        {"+2h", "14:00"},
                                                        {"+3h", "+2h"},
                                                        {"2026-12-01T08:00", "2026-12-01T08:00"},
                                                        {"22:00", "2026-11-28T21:00"}}) {
    EXPECT_EQ(wrong_with({begin, deadline}, world.world().clock),
              "--deadline: '" + deadline + "' " + why);
  }
}

TEST(WallTime, TheClockIsReadOnce) {
  FakeWorld world;
  // It becomes 22:00 between a look and the next one.
  world.world().clock.unix_ms = [now = world.wall_unix_ms + 36'000'000 - 1]() mutable {
    return now++;
  };
  EXPECT_NE(wrong_with({"22:00", "22:00"}, world.world().clock).find("is not after --begin"),
            std::string::npos);
}

TEST(WallTime, NoneIsATimeOnlyWhereItRemovesOne) {
  FakeWorld world;
  const WorldClock& clock = world.world().clock;
  EXPECT_EQ(wrong_with({"none", "none", true}, clock), "");
  EXPECT_EQ(wrong_with({"none", ""}, clock),
            "--begin: 'none' is not a time: write 22:00, 2026-12-01T08:00 or +2h, in your local "
            "time");
  EXPECT_EQ(wrong_with({"", "never", true}, clock),
            "--deadline: 'never' is not a time: write 22:00, 2026-12-01T08:00, +2h or none, in "
            "your local time");
}

TEST(WallTime, AnEmptyValueIsNotTaken) {
  std::string target = "22:00";
  const Status empty = take_time("", true, target);
  ASSERT_FALSE(empty.has_value());
  EXPECT_EQ(empty.error().text,
            "the value is empty, as of a variable that is not set: write 22:00, 2026-12-01T08:00, "
            "+2h or none");
  EXPECT_TRUE(take_time("+2h", false, target).has_value());
  EXPECT_EQ(target, "+2h");
}

TEST(WallTime, ATimeThatTheClockSkipsIsNamed) {
  FakeWorld world;
  skip_an_hour(world, 29);
  const WorldClock& clock = world.world().clock;
  for (const std::string text : {"02:30", "2026-11-29T02:30"}) {
    EXPECT_EQ(
        wrong_with({text, ""}, clock),
        "--begin: '" + text + "' is a time that your local clock skips, as it is set forward then");
  }
  EXPECT_EQ(wrong_with({"03:00", ""}, clock), "");
}

TEST(WallTime, ATimeThatTheClockSkippedEarlierTodayIsThatOfTomorrow) {
  FakeWorld world;
  skip_an_hour(world, 28);
  const Result<Duration> span = span_of("02:30", world.world().clock);
  ASSERT_TRUE(span.has_value()) << span.error().text;
  EXPECT_EQ(*span, 14h + 30min);
}

TEST(WallTime, WhatIsNoneSaysWhy) {
  FakeWorld world;
  for (const auto& [text, why] : std::vector<std::pair<std::string, std::string>>{
           {"2026-11-28T11:59", "has passed"},
           {"2020-01-01T00:00", "has passed"},
           {"2028-01-01T00:00", "more than a year away"},
           {"+366d", "longer than 365d"},
           {"+0", "is now"},
           {"+", "not a duration"},
           {"24:00", "is not a time"},
           {"22:60", "is not a time"},
           {"2026-13-01T08:00", "is not a time"},
           {"2026-12-01 08:00", "is not a time"},
           {"9:00", "is not a time"},
           {"nnnn-nn-nnT12:30", "is not a time"},
           {"nn:nn", "is not a time"},
           {"2026-12-01Tnn:nn", "is not a time"},
           {"2026-11-31T08:00", "names a day that the calendar does not have"},
           {"2027-02-29T08:00", "names a day that the calendar does not have"},
           {"2026-00-10T08:00", "is not a time"},
           {"tomorrow", "is not a time"},
           {"2h", "is not a time"}}) {
    const Result<Duration> span = span_of(text, world.world().clock);
    ASSERT_FALSE(span.has_value()) << text;
    EXPECT_NE(span.error().text.find(why), std::string::npos) << span.error().text;
  }
}

TEST(WallTime, IsShownShortOnItsDay) {
  FakeWorld world;
  const WorldClock& clock = world.world().clock;
  EXPECT_EQ(brief_time(world.wall_unix_ms + 36'000'000, clock), "22:00");
  EXPECT_EQ(brief_time(world.wall_unix_ms + 72'000'000, clock), "2026-11-29 08:00");
}

TEST(WallTime, IsShownToTheNearestMinuteOrSecond) {
  FakeWorld world;
  const WorldClock& clock = world.world().clock;
  const std::uint64_t begin = world.wall_unix_ms + 36'000'000;  // 22:00
  EXPECT_EQ(brief_time(begin - 50, clock), "22:00") << "the clock of the leader is behind";
  EXPECT_EQ(brief_time(begin + 50, clock), "22:00");
  EXPECT_EQ(brief_time(begin + 30'000, clock), "22:01");
  EXPECT_EQ(brief_time(begin + 7'200'000 - 50, clock), "2026-11-29 00:00") << "another day";
  EXPECT_EQ(full_time(begin - 50, clock), "2026-11-28 22:00:00");
  EXPECT_EQ(full_time(begin + 50, clock), "2026-11-28 22:00:00");
  EXPECT_EQ(full_time(begin + 500, clock), "2026-11-28 22:00:01");
}

TEST(After, ReadsJobsTasksAndArrays) {
  using scheduler::Dependency;
  using scheduler::Ending;
  const auto items = parse_after("ok:7,any:8.3,fail:9");
  ASSERT_TRUE(items.has_value()) << items.error().text;
  EXPECT_EQ(*items, (std::vector<Dependency>{{Ending::kOk, JobId(7)},
                                             {Ending::kAny, task_id(JobId(8), 3)},
                                             {Ending::kFail, JobId(9)}}));
}

TEST(After, NamesTheItemThatIsWrong) {
  std::string many = "ok:1";
  for (int i = 0; i < 16; ++i) {
    many += ",ok:1";
  }
  for (const auto& [text, why] :
       std::vector<std::pair<std::string, std::string>>{{"ok:1,any:2,ok:x", "item 3 `ok:x`: "},
                                                        {"7", "item 1 `7`: write ok:JOB"},
                                                        {"good:7", "item 1 `good:7`: write ok:JOB"},
                                                        {"ok:7,", "item 2 ``: "},
                                                        {"ok:", "item 1 `ok:`: "},
                                                        {"", "item 1 ``: "},
                                                        {many, "item 17 `ok:1`: at most 16"}}) {
    const auto items = parse_after(text);
    ASSERT_FALSE(items.has_value()) << text;
    EXPECT_TRUE(items.error().text.starts_with(why)) << items.error().text;
  }
}

}  // namespace
}  // namespace muster::cli
