#include "agent/front/event_ring.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace muster::agent {
namespace {

Event event(std::string_view name, Severity severity = Severity::kInfo, std::string host = "") {
  Event event{severity, name, {}};
  if (!host.empty()) {
    event.fields.emplace_back("host", std::move(host));
  }
  return event;
}

/// Applies these writes to the disk.
void store(crdt::Records& disk, const crdt::WriteBatch& writes) {
  for (const crdt::Write& write : writes) {
    if (write.value.has_value()) {
      disk[write.key] = *write.value;
    } else {
      disk.erase(write.key);
    }
  }
}

std::vector<std::string> texts(const EventsPage& page) {
  std::vector<std::string> all;
  for (const EventInfo& each : page.events) {
    all.push_back(each.text);
  }
  return all;
}

using Texts = std::vector<std::string>;

TEST(EventRing, TheNewestOnesThatFit) {
  EventRing ring({});
  ring.add(1000, event("one"));
  ring.add(2000, event("two", Severity::kWarn));
  ring.add(3000, event("three", Severity::kDebug));
  ring.add(4000, event("four"));
  ring.add(5000, event("two", Severity::kAlarm));
  EXPECT_EQ(texts(ring.page(5000, {}, {})), (Texts{"one", "two", "four", "two"}));
  EXPECT_EQ(texts(ring.page(5000, {.newest = 2}, {})), (Texts{"four", "two"}));
  EXPECT_EQ(texts(ring.page(5000, {.newest = 2, .severity = "warn"}, {})), (Texts{"two", "two"}));
  EXPECT_EQ(texts(ring.page(5000, {.newest = 1, .names = {"four", "one"}}, {})), Texts{"four"});
  EXPECT_EQ(texts(ring.page(5000, {.since_ms = 1000}, {})), (Texts{"four", "two"}));
  EXPECT_EQ(texts(ring.page(5000, {.after = 2}, {})), (Texts{"four", "two"}));
  EXPECT_EQ(texts(ring.page(5000, {.severity = "shout"}, {})), Texts{});
  const EventsPage page = ring.page(6000, {.newest = 1}, {});
  EXPECT_EQ(page.events.at(0).age_ms, 1000U);
  EXPECT_EQ(page.events.at(0).unix_ms, 5000U);
  EXPECT_EQ(page.events.at(0).severity, "alarm");
  EXPECT_EQ(page.last, 4U);
}

TEST(EventRing, AlarmsOfThisStartAreCountedByName) {
  crdt::Records disk;
  {
    EventRing ring({});
    ring.add(1000, event("disk_failed", Severity::kAlarm));
    ring.add(1000, event("disk_failed", Severity::kAlarm));
    ring.add(1000, event("rival_epoch", Severity::kAlarm));
    ring.add(1000, event("paused", Severity::kWarn));
    using Counts = std::map<std::string, std::uint64_t>;
    EXPECT_EQ(ring.alarms(), (Counts{{"disk_failed", 2}, {"rival_epoch", 1}}));
    store(disk, ring.take_writes());
  }
  EXPECT_TRUE(EventRing(disk).alarms().empty()) << "an earlier life raised them";
}

TEST(EventRing, WhatIsAboutAHost) {
  EventRing ring({});
  ring.add(1, event("suspect", Severity::kInfo, "a1b2c3d4"));
  ring.add(1, event("suspect", Severity::kInfo, "00000000"));
  EXPECT_EQ(texts(ring.page(1, {.about = "a1b2c3d4"}, {})), Texts{"suspect host=a1b2c3d4"});
}

TEST(EventRing, AClockThatWasSetBackMakesNoEventOfTheFuture) {
  EventRing ring({});
  ring.add(9000, event("early"));
  const EventsPage page = ring.page(5000, {.since_ms = 10}, {});
  ASSERT_EQ(page.events.size(), 1U);
  EXPECT_EQ(page.events[0].age_ms, 0U);
}

TEST(EventRing, KnownHostsAreNamed) {
  EventRing ring({});
  ring.add(1, event("suspect", Severity::kInfo, "a1b2c3d4"));
  ring.add(1, event("suspect", Severity::kInfo, "00000000"));
  EXPECT_EQ(texts(ring.page(1, {}, {{"a1b2c3d4", "gpu17"}})),
            (Texts{"suspect host=gpu17", "suspect host=00000000"}));
}

TEST(EventRing, AnAnswerHoldsAPageAndTheNextOneFollows) {
  EventRing ring({});
  for (std::size_t i = 0; i < EventRing::kPageMax + 10; ++i) {
    ring.add(1, event("one"));
  }
  const EventsPage first = ring.page(1, {.newest = EventRing::kPageMax + 5}, {});
  ASSERT_EQ(first.events.size(), EventRing::kPageMax);
  EXPECT_EQ(first.events.front().sequence, 6U);
  const EventsPage rest = ring.page(1, {.after = first.events.back().sequence}, {});
  EXPECT_EQ(rest.events.size(), 5U);
  EXPECT_EQ(rest.lost, 0U);
}

TEST(EventRing, TheOldestGoFirstByCountAndByBytes) {
  EventRing ring({});
  for (std::size_t i = 0; i < EventRing::kEventsMax + 7; ++i) {
    ring.add(1, event("one"));
  }
  EXPECT_EQ(ring.page(1, {.after = 1}, {}).lost, 6U);
  EXPECT_EQ(ring.page(1, {}, {}).events.front().sequence, 8U);

  EventRing wide({});
  Event long_one = event("long");
  for (int i = 0; i < 100; ++i) {
    long_one.fields.emplace_back("key", std::string(5000, 'x'));
  }
  for (int i = 0; i < 1000; ++i) {
    wide.add(1, long_one);
  }
  crdt::Records disk;
  store(disk, wide.take_writes());
  std::size_t bytes = 0;
  for (const auto& [key, value] : disk) {
    bytes += value.size();
  }
  EXPECT_LE(bytes, EventRing::kBytesMax);
  EXPECT_GT(bytes, EventRing::kBytesMax / 2);
}

TEST(EventRing, ANewLifeGoesOnWhereTheLastOneWas) {
  crdt::Records disk;
  disk["row/x"] = "another table";
  {
    EventRing ring(disk);
    ring.add(1000, event("one"));
    ring.add(2000, event("two"));
    store(disk, ring.take_writes());
  }
  disk["event/nonsense"] = "?";
  EventRing ring(disk);
  ring.add(3000, event("three"));
  EXPECT_EQ(texts(ring.page(3000, {}, {})), (Texts{"one", "two", "three"}));
  EXPECT_EQ(ring.page(3000, {}, {}).events.back().sequence, 3U);
  store(disk, ring.take_writes());
  EXPECT_EQ(disk.size(), 4U);
}

TEST(EventRing, WhatTheLogDidIsNotKeptASecondTime) {
  const auto at = [](std::string_view name, int index, Severity severity = Severity::kInfo) {
    return Event{severity, name, {{"job", "1"}, {"index", std::to_string(index)}}};
  };
  crdt::Records disk;
  EventRing first(disk);
  first.add(1, at("job_queued", 8));
  first.add(1, at("job_started", 12));
  first.add(1, at("configuration_changed", 14));  // In the log, and not applied yet.
  store(disk, first.take_writes());

  EventRing again(disk);
  again.expect_replay(LogIndex(20));
  again.add(2, at("job_queued", 8));
  again.add(2, at("job_started", 12));
  again.add(2, at("voter_differs", 12, Severity::kWarn));
  again.add(2, at("snapshot_sent", 11));
  again.add(2, at("job_ended", 13));
  EXPECT_EQ(texts(again.page(2, {}, {})),
            (Texts{"job_queued job=1 index=8", "job_started job=1 index=12",
                   "configuration_changed job=1 index=14", "voter_differs job=1 index=12",
                   "snapshot_sent job=1 index=11", "job_ended job=1 index=13"}));

  EventRing shorter(disk);  // A recovery went on from a log that ends earlier.
  shorter.expect_replay(LogIndex(10));
  shorter.add(2, at("job_queued", 8));
  shorter.add(2, at("job_cancelled", 11));
  EXPECT_EQ(texts(shorter.page(2, {}, {})).back(), "job_cancelled job=1 index=11");
  EXPECT_EQ(shorter.page(2, {}, {}).events.size(), 4U);
}

TEST(EventRing, WhatIsOnDiskIsWhatIsKept) {
  ASSERT_TRUE(rc::check("over any number of lives", [] {
    crdt::Records disk;
    for (int lives = *rc::gen::inRange(1, 6); lives > 0; --lives) {
      EventRing ring(disk);
      for (int i = *rc::gen::inRange(0, 4000); i > 0; --i) {
        ring.add(i, event("one", i % 3 == 0 ? Severity::kDebug : Severity::kWarn));
      }
      store(disk, ring.take_writes());
      RC_ASSERT(disk.size() <= EventRing::kEventsMax);
      const EventRing again(disk);
      RC_ASSERT(texts(again.page(0, {.newest = 9}, {})) == texts(ring.page(0, {.newest = 9}, {})));
      RC_ASSERT(again.page(0, {}, {}).last == ring.page(0, {}, {}).last);
    }
  }));
}

}  // namespace
}  // namespace muster::agent
