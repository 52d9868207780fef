#include "agent/health/cleanliness.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "gossip/base/state_machine.h"

namespace muster::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
static_assert(StateMachine<Cleanliness>);
using Uuids = std::vector<std::string>;
using Kills = std::vector<clean::Kill>;

constexpr std::uint64_t kMiB = 1ULL << 20;

clean::Seen well(Instant began) {
  return {"GPU-a", began, true, 500 * kMiB, std::vector<clean::Holder>{}, RecoveryAction::kNothing};
}

/// A machine whose GPU-a had 500 MiB in use when it was idle.
class CleanDesk {
 public:
  CleanDesk() { say(well(now)); }
  clean::Output say(clean::Input input) {
    machine.step(now, std::move(input));
    machine.check_invariants();
    return machine.take_output();
  }
  /// Waits for the next look, and answers it.
  clean::Output next_look(clean::Seen seen) {
    now = machine.next_deadline();
    machine.tick(now);
    seen.began = now;
    clean::Output asked = machine.take_output();
    clean::Output out = asked.looks.empty() ? clean::Output{} : say(std::move(seen));
    out.leaked.insert(out.leaked.end(), asked.leaked.begin(), asked.leaked.end());
    out.events.insert(out.events.end(), asked.events.begin(), asked.events.end());
    return out;
  }
  std::string why() const {
    const auto dirty = machine.dirty();
    return dirty.contains("GPU-a") ? dirty.at("GPU-a") : "";
  }

  Instant now{};
  Cleanliness machine;
};

TEST(Cleanliness, ACleanGpuIsOfferedAfterOneLook) {
  CleanDesk desk;
  EXPECT_EQ(desk.say(clean::GrantEnded{"GPU-a"}).looks, Uuids{"GPU-a"});
  EXPECT_EQ(desk.why(), "no look at it was answered yet");
  desk.now += milliseconds(30);
  const clean::Output out = desk.say(well(desk.now));
  ASSERT_EQ(out.cleaned.size(), 1U);
  EXPECT_EQ(out.cleaned[0].took, milliseconds(30));
  EXPECT_EQ(out.cleaned[0].unchecked, "");
  EXPECT_EQ(desk.why(), "");
  EXPECT_EQ(desk.machine.next_deadline(), kNever);
}

TEST(Cleanliness, EachFactKeepsTheGpu) {
  struct Row {
    clean::Seen seen;
    std::string why;
  };
  std::vector<Row> rows;
  clean::Seen seen = well({});
  seen.is_cgroup_empty = false;
  rows.push_back({seen, "processes of the grant still run"});
  seen = well({});
  seen.used_bytes = 565 * kMiB;
  rows.push_back({seen, "65 MiB more of its memory are used than when it was clean"});
  seen = well({});
  seen.holders = {{77, false, "ann", "python"}};
  rows.push_back({seen, "pid 77 (python of ann) uses it"});
  seen.holders = {{77, true, "", "python"}};
  rows.push_back({seen, "pid 77 (python), left by the grant, uses it"});
  seen.holders = {{77, false, "ann", ""}};
  rows.push_back({seen, "pid 77 (a program of ann) uses it"});
  seen.holders = std::vector<clean::Holder>(6, clean::Holder{5, false, "", ""});
  rows.push_back({seen,
                  "pid 5 uses it; pid 5 uses it; pid 5 uses it; pid 5 uses it; 2 more processes "
                  "use it"});
  seen = well({});
  seen.recovery = RecoveryAction::kDrain;
  rows.push_back({seen, "the driver asks for a recovery of it"});
  seen = well({});
  seen.is_cgroup_empty = false;
  seen.recovery = RecoveryAction::kReset;
  rows.push_back({seen, "processes of the grant still run; the driver asks for a recovery of it"});
  for (const Row& row : rows) {
    CleanDesk desk;
    desk.say(clean::GrantEnded{"GPU-a"});
    EXPECT_TRUE(desk.say(row.seen).cleaned.empty()) << row.why;
    EXPECT_EQ(desk.why(), row.why);
    EXPECT_EQ(desk.next_look(well({})).cleaned.size(), 1U) << row.why;
  }
}

TEST(Cleanliness, ALittleMoreMemoryIsClean) {
  CleanDesk desk;
  desk.say(clean::GrantEnded{"GPU-a"});
  clean::Seen seen = well(desk.now);
  seen.used_bytes = 564 * kMiB;
  EXPECT_EQ(desk.say(seen).cleaned.size(), 1U);
  EXPECT_EQ(desk.machine.lowest().at("GPU-a"), 500 * kMiB) << "it does not creep up";
}

TEST(Cleanliness, LooksAreCloseAtFirst) {
  CleanDesk desk;
  desk.say(clean::GrantEnded{"GPU-a"});
  clean::Seen held = well(desk.now);
  held.holders = {{77, false, "ann", "python"}};
  desk.say(held);
  const Instant start = desk.now;
  int looks = 0;
  while (desk.now < start + kCleanSoon) {
    const Instant before = desk.now;
    desk.next_look(held);
    EXPECT_EQ(desk.now - before, kCleanLookEvery);
    ++looks;
  }
  EXPECT_EQ(looks, 100);
  const Instant before = desk.now;
  desk.next_look(held);
  EXPECT_EQ(desk.now - before, kCleanLookLater);
}

TEST(Cleanliness, OurHolderIsKilledAndAForeignOneNamed) {
  CleanDesk desk;
  desk.say(clean::GrantEnded{"GPU-a"});
  clean::Seen held = well(desk.now);
  held.holders = {{77, true, "ann", "python"}, {78, false, "bob", "jupyter"}};
  EXPECT_EQ(desk.say(held).kills, (Kills{{"GPU-a", 77}}));
  Kills kills;
  const Instant start = desk.now;
  while (desk.now < start + seconds(3)) {
    const clean::Output out = desk.next_look(held);
    kills.insert(kills.end(), out.kills.begin(), out.kills.end());
  }
  EXPECT_EQ(kills.size(), 3U) << "once a second";
  EXPECT_TRUE(std::all_of(kills.begin(), kills.end(),
                          [](const clean::Kill& each) { return each.pid == 77; }));
}

TEST(Cleanliness, AfterAMinuteAGpuIsLeakedAndCanStillBecomeClean) {
  CleanDesk desk;
  desk.say(clean::GrantEnded{"GPU-a"});
  clean::Seen held = well(desk.now);
  held.used_bytes = 70'000 * kMiB;
  desk.say(held);
  const Instant start = desk.now;
  Uuids leaked;
  while (desk.now < start + seconds(120)) {
    const clean::Output out = desk.next_look(held);
    leaked.insert(leaked.end(), out.leaked.begin(), out.leaked.end());
    EXPECT_EQ(leaked.empty(), desk.now < start + kLeakedAfter);
  }
  EXPECT_EQ(leaked, Uuids{"GPU-a"}) << "told once";
  EXPECT_EQ(desk.why(), "leaked: 69500 MiB more of its memory are used than when it was clean");
  EXPECT_EQ(desk.next_look(well({})).cleaned.size(), 1U);
}

TEST(Cleanliness, AFactThatCannotBeReadIsNamed) {
  CleanDesk desk;
  desk.say(clean::GrantEnded{"GPU-a"});
  const clean::Output out = desk.say(clean::Seen{"GPU-a", desk.now, {}, {}, {}, {}});
  ASSERT_EQ(out.cleaned.size(), 1U);
  EXPECT_EQ(out.cleaned[0].unchecked, "cgroup, processes, memory, recovery action");
}

TEST(Cleanliness, MemoryIsNotCheckedBeforeTheFirstCleanReading) {
  Cleanliness machine;
  machine.step(Instant{}, clean::GrantEnded{"GPU-a"});
  machine.step(Instant{}, well({}));
  clean::Output out = machine.take_output();
  ASSERT_EQ(out.cleaned.size(), 1U);
  EXPECT_EQ(out.cleaned[0].unchecked, "memory");
  EXPECT_EQ(machine.lowest().at("GPU-a"), 500 * kMiB);
  Cleanliness later(machine.lowest());
  later.step(Instant{}, clean::GrantEnded{"GPU-a"});
  clean::Seen held = well({});
  held.used_bytes = 700 * kMiB;
  later.step(Instant{}, held);
  EXPECT_TRUE(later.take_output().cleaned.empty());
}

TEST(Cleanliness, ALookThatIsNotAnsweredTellsNothing) {
  CleanDesk desk;
  desk.say(clean::GrantEnded{"GPU-a"});
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(desk.say(clean::NotSeen{"GPU-a"}).cleaned.empty());
    desk.now = desk.machine.next_deadline();
    desk.machine.tick(desk.now);
    EXPECT_EQ(desk.machine.take_output().looks, Uuids{"GPU-a"});
  }
  EXPECT_EQ(desk.why(), "no look at it was answered yet");
}

TEST(Cleanliness, ALookFromBeforeTheEndDoesNotCount) {
  CleanDesk desk;
  const Instant early = desk.now;
  desk.now += seconds(1);
  desk.say(clean::GrantEnded{"GPU-a"});
  EXPECT_TRUE(desk.say(well(early)).cleaned.empty());
  EXPECT_EQ(desk.next_look(well({})).cleaned.size(), 1U);
}

TEST(Cleanliness, ALookDuringAGrantTeachesNothing) {
  CleanDesk desk;
  clean::Seen busy = well(desk.now);
  busy.used_bytes = 100 * kMiB;
  busy.holders = {{77, true, "ann", "python"}};
  desk.say(busy);
  EXPECT_EQ(desk.machine.lowest().at("GPU-a"), 500 * kMiB);
}

TEST(Cleanliness, AResetBeginsTheLowestUseAgain) {
  CleanDesk desk;
  desk.say(clean::GrantEnded{"GPU-a"});
  clean::Seen more = well(desk.now);
  more.used_bytes = 900 * kMiB;
  EXPECT_TRUE(desk.say(more).cleaned.empty());
  desk.say(clean::WasReset{"GPU-a"});
  EXPECT_EQ(desk.next_look(more).cleaned.at(0).unchecked, "memory");
  EXPECT_EQ(desk.machine.lowest().at("GPU-a"), 900 * kMiB);
}

TEST(Cleanliness, WatchedGpusAreBounded) {
  CleanDesk desk;
  for (std::size_t i = 0; i < 3 * kGpusReadMax; ++i) {
    desk.say(clean::GrantEnded{"GPU-" + std::to_string(i)});
    clean::Seen seen = well(desk.now);
    seen.uuid = "GPU-idle" + std::to_string(i);
    desk.say(seen);
  }
  EXPECT_EQ(desk.machine.dirty().size(), kGpusReadMax);
}

TEST(Cleanliness, NoSequenceOfLooksOffersADirtyGpu) {
  EXPECT_TRUE(rc::check([] {
    CleanDesk desk;
    const int steps = *rc::gen::inRange(1, 60);
    Instant ended = kNever;
    for (int i = 0; i < steps; ++i) {
      desk.now += milliseconds(*rc::gen::inRange(0, 9000));
      if (ended == kNever || *rc::gen::inRange(0, 8) == 0) {
        ended = desk.now;
        desk.say(clean::GrantEnded{"GPU-a"});
        continue;
      }
      clean::Seen seen = well(desk.now - milliseconds(*rc::gen::inRange(0, 9000)));
      const bool is_old = seen.began < ended;
      const bool has_holder = *rc::gen::arbitrary<bool>();
      const bool has_memory = *rc::gen::arbitrary<bool>();
      const bool has_rank = *rc::gen::arbitrary<bool>();
      if (has_holder) {
        seen.holders = {{1, *rc::gen::arbitrary<bool>(), "", ""}};
      }
      if (has_memory) {
        seen.used_bytes = 5000 * kMiB;
      }
      seen.is_cgroup_empty = !has_rank;
      const bool is_clean = !desk.say(seen).cleaned.empty();
      RC_ASSERT(is_clean == (!is_old && !has_holder && !has_memory && !has_rank));
      ended = is_clean ? kNever : ended;
    }
  }));
}

}  // namespace
}  // namespace muster::agent
