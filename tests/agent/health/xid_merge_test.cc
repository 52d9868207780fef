#include "agent/health/xid_merge.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <vector>

namespace muster::agent {
namespace {

using std::chrono::milliseconds;
constexpr XidSource kEvent = XidSource::kEvent;
constexpr XidSource kKernelLog = XidSource::kKernelLog;

TEST(XidMerge, TwoTellingsAreOneXidInEitherOrder) {
  for (const bool is_event_first : {true, false}) {
    XidMerge merge;
    const XidSource first = is_event_first ? kEvent : kKernelLog;
    const XidSource second = is_event_first ? kKernelLog : kEvent;
    EXPECT_TRUE(merge.is_new(Instant{}, first, "GPU-a", 79));
    EXPECT_FALSE(merge.is_new(Instant{} + kMergeWindow, second, "GPU-a", 79));
    EXPECT_EQ(merge.size(), 0U);
  }
}

TEST(XidMerge, OthersAreNotMerged) {
  XidMerge merge;
  EXPECT_TRUE(merge.is_new(Instant{}, kEvent, "GPU-a", 79));
  EXPECT_TRUE(merge.is_new(Instant{}, kKernelLog, "GPU-b", 79));
  EXPECT_TRUE(merge.is_new(Instant{}, kKernelLog, "GPU-a", 62));
  EXPECT_TRUE(merge.is_new(Instant{}, kEvent, "GPU-a", 79));
}

TEST(XidMerge, ASecondEqualXidCounts) {
  XidMerge merge;
  EXPECT_TRUE(merge.is_new(Instant{}, kEvent, "GPU-a", 79));
  EXPECT_FALSE(merge.is_new(Instant{}, kKernelLog, "GPU-a", 79));
  EXPECT_TRUE(merge.is_new(Instant{} + milliseconds(10), kKernelLog, "GPU-a", 79));
  EXPECT_FALSE(merge.is_new(Instant{} + milliseconds(20), kEvent, "GPU-a", 79));
}

TEST(XidMerge, ALateTellingIsAnXid) {
  XidMerge merge;
  EXPECT_TRUE(merge.is_new(Instant{}, kEvent, "GPU-a", 79));
  const Instant late = Instant{} + kMergeWindow + Duration(1);
  EXPECT_EQ(merge.next_deadline(), late);
  EXPECT_TRUE(merge.is_new(late, kKernelLog, "GPU-a", 79));
  merge.forget(late + kMergeWindow + Duration(1));
  EXPECT_EQ(merge.size(), 0U);
  EXPECT_EQ(merge.next_deadline(), kNever);
}

TEST(XidMerge, WhatWaitsIsBounded) {
  XidMerge merge;
  for (std::size_t i = 0; i < kTellingsMax * 3; ++i) {
    EXPECT_TRUE(merge.is_new(Instant{}, kEvent, "GPU-a", 79));
    EXPECT_LE(merge.size(), kTellingsMax);
  }
}

struct Telling {
  Instant at{};
  XidSource source = kEvent;
  std::string gpu;
  std::uint32_t code = 0;
};

std::map<std::pair<std::string, std::uint32_t>, int> count(const std::vector<Telling>& tellings) {
  XidMerge merge;
  std::map<std::pair<std::string, std::uint32_t>, int> counts;
  for (const Telling& each : tellings) {
    counts[{each.gpu, each.code}] +=
        merge.is_new(each.at, each.source, each.gpu, each.code) ? 1 : 0;
  }
  return counts;
}

/// Xids far enough apart, each told by one or both sources, with any lag of the second one.
std::vector<Telling> drawn_tellings(std::size_t& xids) {
  std::vector<Telling> tellings;
  xids = *rc::gen::inRange<std::size_t>(1, 30);
  Instant at{};
  for (std::size_t i = 0; i < xids; ++i) {
    at += milliseconds(*rc::gen::inRange(2001, 5000));
    const Telling first{at, *rc::gen::arbitrary<bool>() ? kEvent : kKernelLog,
                        "GPU-" + std::to_string(*rc::gen::inRange(0, 3)),
                        static_cast<std::uint32_t>(*rc::gen::inRange(1, 4))};
    tellings.push_back(first);
    if (*rc::gen::arbitrary<bool>()) {
      Telling second = first;
      second.at += milliseconds(*rc::gen::inRange(0, 1001));
      second.source = first.source == kEvent ? kKernelLog : kEvent;
      tellings.push_back(second);
    }
  }
  return tellings;
}

TEST(XidMerge, EachXidCountsOnceWhateverTellsItFirst) {
  EXPECT_TRUE(rc::check([] {
    std::size_t xids = 0;
    std::vector<Telling> tellings = drawn_tellings(xids);
    const auto counts = count(tellings);
    int total = 0;
    for (const auto& [key, number] : counts) {
      total += number;
    }
    RC_ASSERT(total == static_cast<int>(xids));
    for (Telling& each : tellings) {
      each.source = each.source == kEvent ? kKernelLog : kEvent;
    }
    RC_ASSERT(count(tellings) == counts);
  }));
}

TEST(XidMerge, TellingsOfOneInstantCountAlikeInEachOrder) {
  EXPECT_TRUE(rc::check([] {
    std::vector<Telling> tellings;
    const auto size = *rc::gen::inRange(1, 40);
    for (int i = 0; i < size; ++i) {
      tellings.push_back({Instant{}, *rc::gen::arbitrary<bool>() ? kEvent : kKernelLog,
                          "GPU-" + std::to_string(*rc::gen::inRange(0, 2)),
                          static_cast<std::uint32_t>(*rc::gen::inRange(1, 3))});
    }
    const auto counts = count(tellings);
    for (std::size_t i = tellings.size(); i > 1; --i) {
      std::swap(tellings[i - 1], tellings[*rc::gen::inRange<std::size_t>(0, i)]);
    }
    RC_ASSERT(count(tellings) == counts);
  }));
}

}  // namespace
}  // namespace muster::agent
