// News as Server-Sent Events: pieces that follow each other without a gap, whole characters, hashes
// without ages.

#include "agent/api/rest/follow_text.h"

#include <gtest/gtest.h>

#include <string>

#include "agent/api/json/dump.h"

namespace muster::agent {
namespace {

const FollowRank kFollowedRank{JobId(7), 1, 0};

std::string all_bytes(const std::vector<FollowBatch>& batches) {
  std::string bytes;
  for (const FollowBatch& batch : batches) {
    bytes += batch.bytes;
  }
  return bytes;
}

TEST(FollowText, AnEventIsALineOfEachFieldAndAnEmptyOne) {
  EXPECT_EQ(event_text("", "12", "{}"), "id: 12\ndata: {}\n\n");
  EXPECT_EQ(event_text("gap", "", "{}"), "event: gap\ndata: {}\n\n");
  EXPECT_EQ(gap_text(3, 9, "9"), "event: gap\nid: 9\ndata: {\"from\":3,\"to\":9}\n\n");
  EXPECT_EQ(notice_text("stale", "no quorum"), "event: stale\ndata: {\"text\":\"no quorum\"}\n\n");
  EXPECT_EQ(notice_text("fresh", ""), "event: fresh\ndata: {}\n\n");
}

TEST(FollowText, PiecesHaveOneStreamAndTheOffsetBehindThemAsId) {
  OutputChunk chunk;
  chunk.bytes = "outERRout";
  chunk.begin = 10;
  chunk.size = 19;
  chunk.marks = {{0, 1, kStdout}, {13, 2, kStderr}, {16, 3, kStdout}};
  const auto both = output_batches(kFollowedRank, chunk, 11, "");
  ASSERT_EQ(both.size(), 1U);
  EXPECT_EQ(both[0].to, 19U);
  EXPECT_NE(both[0].bytes.find("id: 13\n"), std::string::npos);
  EXPECT_NE(both[0].bytes.find("id: 16\n"), std::string::npos);
  EXPECT_NE(both[0].bytes.find("id: 19\n"), std::string::npos);
  EXPECT_NE(both[0].bytes.find("\"text\":\"ut\""), std::string::npos);
  const auto errors = output_batches(kFollowedRank, chunk, 10, kStderr);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0].to, 19U);
  EXPECT_NE(errors[0].bytes.find("\"text\":\"ERR\""), std::string::npos);
  EXPECT_EQ(errors[0].bytes.find("id: 19"), std::string::npos);
  const auto nothing = output_batches(kFollowedRank, chunk, 16, kStderr);
  ASSERT_EQ(nothing.size(), 1U);
  EXPECT_EQ(nothing[0].to, 19U);
  EXPECT_EQ(nothing[0].bytes, "");
}

TEST(FollowText, ALargeChunkOfAnyBytesIsCutIntoBatchesThatAStreamTakes) {
  for (const char byte : {'x', '\0', '\xff'}) {
    OutputChunk chunk;
    chunk.bytes = std::string(kOutputBytesMax, byte);
    chunk.size = chunk.bytes.size();
    std::uint64_t at = 0;
    for (const FollowBatch& batch : output_batches(kFollowedRank, chunk, 0, "")) {
      EXPECT_GT(batch.to, at);
      EXPECT_LE(batch.bytes.size(), kFollowBatchBytes + 7 * kFollowPieceBytes + 1024);
      at = batch.to;
    }
    EXPECT_EQ(at, chunk.size);
  }
}

TEST(FollowText, ACutCharacterWaitsOnceForItsRest) {
  OutputChunk chunk;
  chunk.bytes = "ab\xc3";
  chunk.size = 3;
  hold_cut_character(chunk);
  EXPECT_EQ(chunk.bytes, "ab");
  EXPECT_EQ(chunk.size, 2U) << "as if it had not begun: nobody is behind";
  OutputChunk alone;
  alone.bytes = "\xc3";
  alone.size = 1;
  hold_cut_character(alone);
  EXPECT_EQ(alone.bytes, "\xc3") << "no rest came";
  OutputChunk last = {"ab\xc3", 3, true, 0, {}};
  hold_cut_character(last);
  EXPECT_EQ(last.bytes, "ab\xc3");
  OutputChunk middle = {"ab\xc3", 9, true, 0, {}};
  hold_cut_character(middle);
  EXPECT_EQ(middle.bytes, "ab");
  EXPECT_EQ(middle.size, 9U);
}

TEST(FollowText, EventsComeBehindTheNumberThatIsThere) {
  EventsPage page;
  page.events = {{5, 0, "info", "a", "a", 0}, {8, 0, "info", "b", "b", 0}};
  const auto batches = events_batches(page, 5, 9);
  ASSERT_EQ(batches.size(), 1U);
  EXPECT_EQ(batches[0].to, 9U);
  EXPECT_EQ(all_bytes(batches).find("id: 5\n"), std::string::npos);
  EXPECT_NE(all_bytes(batches).find("id: 8\n"), std::string::npos);
}

TEST(FollowText, TheIdOfAStateHasNeitherAgesNorTheViewOfANode) {
  const auto document = [](int age, const std::string& host_state, const std::string& state) {
    return dump({{"job", {{"state", state}, {"age_ms", age}}},
                 {"attempts", {{{"host_state", host_state}}}},
                 {"answered_by", "n" + std::to_string(age)}});
  };
  const StateIds one = state_ids(document(1, "alive", "running"));
  const StateIds later = state_ids(document(2, "alive", "running"));
  const StateIds elsewhere = state_ids(document(1, "suspect", "running"));
  const StateIds ended = state_ids(document(1, "alive", "completed"));
  EXPECT_EQ(one.id, later.id);
  EXPECT_EQ(one.look, later.look);
  EXPECT_EQ(one.id, elsewhere.id);
  EXPECT_NE(one.look, elsewhere.look);
  EXPECT_NE(one.id, ended.id);
  EXPECT_EQ(one.id.size(), 16U);
  const std::string large = state_text(one.id, std::string(kFollowStateBytes + 1, 'x'));
  EXPECT_LT(large.size(), 200U);
  EXPECT_NE(large.find("is_too_large"), std::string::npos);
}

}  // namespace
}  // namespace muster::agent
