// Goal: refusals reach the log in batches that count once, at a bounded pace, and the rest is
// counted.

#include "agent/front/request_notes.h"

#include <string>

#include <gtest/gtest.h>

namespace muster::agent {
namespace {

using namespace std::chrono_literals;

const Instant kBegin{100s};

scheduler::RequestNote note_of(const std::string& user, const std::string& object = "job 1") {
  scheduler::RequestNote note;
  note.by = {user + "@n1", user, HostId()};
  note.verb = "cancel";
  note.object = object;
  return note;
}

TEST(RequestNotes, NothingIsDueWithoutANote) {
  RequestNotes notes;
  EXPECT_EQ(notes.next_deadline(), kNever);
  EXPECT_EQ(notes.due(kBegin), nullptr);
}

TEST(RequestNotes, ANoteIsDueAtOnceAndLaterOnesTravelTogether) {
  RequestNotes notes;
  EXPECT_EQ(notes.note(kBegin, note_of("ann")), 1U);
  EXPECT_EQ(notes.next_deadline(), kBegin);
  ASSERT_NE(notes.due(kBegin), nullptr);
  EXPECT_EQ(notes.sent(), 1U);
  EXPECT_EQ(notes.note(kBegin + 100ms, note_of("bob")), 2U);
  EXPECT_EQ(notes.note(kBegin + 200ms, note_of("carol")), 3U);
  EXPECT_EQ(notes.due(kBegin + 500ms), nullptr) << "a batch is on its way";
  EXPECT_EQ(notes.settled(), 0U);
  notes.acknowledged(1);
  EXPECT_EQ(notes.settled(), 1U);
  EXPECT_EQ(notes.sent(), 0U);
  const RequestNotes::Batch* batch = notes.due(kBegin + 600ms);
  ASSERT_NE(batch, nullptr);
  EXPECT_EQ(batch->number, 2U);
  ASSERT_EQ(batch->notes.size(), 2U);
  EXPECT_EQ(batch->notes[1].by.user, "carol");
  notes.acknowledged(2);
  EXPECT_EQ(notes.settled(), 3U);
}

TEST(RequestNotes, ABatchIsRepeatedUnchangedUntilTheLogHasIt) {
  RequestNotes notes;
  notes.note(kBegin, note_of("ann"));
  ASSERT_NE(notes.due(kBegin + 1s), nullptr);
  notes.note(kBegin + 1500ms, note_of("bob"));
  EXPECT_EQ(notes.due(kBegin + 2s), nullptr);
  const RequestNotes::Batch* again = notes.due(kBegin + 3s);
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(again->number, 1U);
  EXPECT_EQ(again->notes.size(), 1U) << "later notes wait for the next batch";
  notes.acknowledged(2);
  EXPECT_NE(notes.due(kBegin + 5s), nullptr) << "that was another batch";
  notes.acknowledged(1);
  const RequestNotes::Batch* next = notes.due(kBegin + 6s);
  ASSERT_NE(next, nullptr);
  EXPECT_EQ(next->number, 2U);
  EXPECT_EQ(next->notes.front().by.user, "bob");
}

TEST(RequestNotes, MoreThanTenASecondAreCounted) {
  RequestNotes notes;
  for (std::uint64_t i = 1; i <= 37; ++i) {
    const std::uint64_t number = notes.note(kBegin, note_of("ann"));
    EXPECT_EQ(number, i <= RequestNotes::kNotesASecond ? i : 0) << "the rest is only counted";
  }
  const RequestNotes::Batch* batch = notes.due(kBegin + 1s);
  ASSERT_NE(batch, nullptr);
  ASSERT_EQ(batch->notes.size(), RequestNotes::kNotesASecond + 1);
  EXPECT_EQ(batch->notes.back().why, "27 more requests");
  EXPECT_EQ(batch->notes.back().by.user, "");
}

TEST(RequestNotes, WithoutALeaderTheyStayBoundedAndTheRestIsCounted) {
  RequestNotes notes;
  std::uint64_t kept = 0;
  std::uint64_t counted = 0;
  const auto take = [&](const RequestNotes::Batch& batch) {
    EXPECT_LE(batch.notes.size(), RequestNotes::kNotesMax);
    for (const scheduler::RequestNote& note : batch.notes) {
      kept += note.by.user.empty() ? 0 : 1;
      counted += note.by.user.empty() ? std::stoull(note.why) : 0;
    }
  };
  constexpr int kSeconds = 60;
  Instant now = kBegin;
  for (int second = 0; second < kSeconds; ++second, now += 1s) {
    for (int i = 0; i < 20; ++i) {
      notes.note(now, note_of("ann"));
    }
    notes.due(now);
  }
  // A leader comes.
  for (int i = 0; i < 10; ++i, now += 2s) {
    if (const RequestNotes::Batch* batch = notes.due(now)) {
      take(*batch);
      notes.acknowledged(batch->number);
    }
  }
  EXPECT_EQ(kept + counted, kSeconds * 20U) << "each is kept or counted, and none twice";
  EXPECT_LE(kept, 2 * RequestNotes::kNotesMax);
  EXPECT_EQ(notes.next_deadline(), kNever);
}

TEST(RequestNotes, ABatchThatNoLeaderTakesIsDroppedAtLast) {
  RequestNotes notes;
  notes.note(kBegin, note_of("ann"));
  ASSERT_NE(notes.due(kBegin + 1s), nullptr);
  EXPECT_EQ(notes.due(kBegin + 1s + RequestNotes::kGiveUpTime), nullptr);
  EXPECT_EQ(notes.dropped(), 1U);
  EXPECT_EQ(notes.settled(), 1U) << "nobody waits for it any more";
  EXPECT_EQ(notes.next_deadline(), kNever);
}

TEST(RequestNotes, AReaderThatGoesOnReadingIsNotedOnce) {
  RequestNotes notes;
  for (int i = 0; i < 100; ++i) {
    notes.note_read(kBegin + i * 500ms, note_of("ann", "job 7"));
  }
  notes.note_read(kBegin + 50s, note_of("ann", "job 8"));
  notes.note_read(kBegin + 50s, note_of("bob", "job 7"));
  const RequestNotes::Batch* batch = notes.due(kBegin + 60s);
  ASSERT_NE(batch, nullptr);
  EXPECT_EQ(batch->notes.size(), 3U);
  notes.acknowledged(1);
  notes.note_read(kBegin + 60s + RequestNotes::kReadAgainTime, note_of("ann", "job 7"));
  EXPECT_NE(notes.due(kBegin + 70s + RequestNotes::kReadAgainTime), nullptr);
}

TEST(NotesPace, TakesTenASecondOfAllHostsTogether) {
  NotesPace pace;
  EXPECT_TRUE(pace.takes(kBegin, RequestNotes::kNotesMax));
  EXPECT_FALSE(pace.takes(kBegin, 1));
  EXPECT_TRUE(pace.takes(kBegin + 1s, 10));
  EXPECT_FALSE(pace.takes(kBegin + 1500ms, 1));
  EXPECT_FALSE(pace.takes(kBegin + 2s, 11));
  EXPECT_TRUE(pace.takes(kBegin + 1h, RequestNotes::kNotesMax));
  EXPECT_FALSE(pace.takes(kBegin + 1h, 1)) << "no more than one batch is saved up";
}

}  // namespace
}  // namespace muster::agent
