// Tests of Spread: news goes to each neighbour once, and to none that has it.

#include "crdt/store/spread.h"

#include <gtest/gtest.h>

#include "crdt/rows/host_state.h"
#include "gossip/wire/wire.h"

namespace muster::crdt {
namespace {

using std::chrono::milliseconds;

HostId host(char letter) {
  return HostId::from_bytes(std::string(15, 'h') + letter);
}

class SpreadTest : public ::testing::Test {
 protected:
  void SetUp() override { spread_.set_neighbours({host('a'), host('b'), host('c')}); }
  void hold(HostId owner, std::uint32_t field, const std::string& bytes) {
    HeldRow& held = rows_.edit(owner);
    held.row.fields[field] = Field{{Generation(1), Sequence(1)}, bytes};
    rows_.changed(owner, held);
  }
  void pass(Duration duration) {
    now_ += duration;
    spread_.tick(now_, rows_, messages_);
    spread_.check_invariants();
  }
  /// The receivers, each with its number of fields: "a1 c2".
  std::string sent() {
    std::string text;
    for (const RowsMessage& message : messages_) {
      const auto document = gossip::Document::parse(message.body);
      std::size_t fields = 0;
      const auto body = decode_rows(document->root());
      for (const RowOf& row : body->rows) {
        fields += row.row.fields.size();
      }
      text += text.empty() ? "" : " ";
      text += message.to.bytes().back();
      text += std::to_string(fields);
    }
    messages_.clear();
    return text;
  }

  Spread spread_;
  HeldRows rows_;
  std::vector<RowsMessage> messages_;
  Instant now_{std::chrono::seconds(1)};
};

TEST_F(SpreadTest, NewsWaitsAndThenGoesToThoseNotKnownToHaveIt) {
  hold(host('x'), 4, "news");
  spread_.add(now_, host('x'), 4, host('a'));
  EXPECT_EQ(spread_.next_deadline(), now_ + kSpreadDelay);
  spread_.note_heard(host('c'), {host('x'), rows_.find(host('x'))->row},
                     rows_.find(host('x'))->row);
  pass(milliseconds(4));
  EXPECT_EQ(sent(), "");
  pass(milliseconds(1));
  EXPECT_EQ(sent(), "b1");
  pass(milliseconds(5));
  EXPECT_EQ(sent(), "") << "each news once";
}

TEST_F(SpreadTest, AHostThatIsLateRestsBetweenMessages) {
  hold(host('x'), 4, "news");
  spread_.be_late(milliseconds(10));
  spread_.add(now_, host('x'), 4, host('a'));
  pass(kSpreadDelay);
  EXPECT_EQ(sent(), "b1 c1");
  hold(host('y'), 4, "more");
  spread_.add(now_, host('y'), 4, host('a'));
  pass(kRestALag * milliseconds(10) - milliseconds(1));
  EXPECT_EQ(sent(), "");
  hold(host('z'), 4, "and more");
  spread_.add(now_, host('z'), 4, host('a'));
  pass(milliseconds(1));
  EXPECT_EQ(sent(), "b2 c2") << "what waited goes together";
  spread_.be_late(std::chrono::hours(1));
  spread_.add(now_, host('x'), 4, host('a'));
  EXPECT_EQ(spread_.next_deadline(), now_ + kSpreadRestMax);
}

TEST_F(SpreadTest, WhoSentAnOlderFieldStillNeedsTheNews) {
  hold(host('x'), 4, "news");
  spread_.add(now_, host('x'), 4, host('a'));
  Row older;
  older.fields[4] = Field{{Generation(1), Sequence(0)}, "olds"};
  spread_.note_heard(host('b'), {host('x'), older}, rows_.find(host('x'))->row);
  pass(kSpreadDelay);
  EXPECT_EQ(sent(), "b1 c1");
}

TEST_F(SpreadTest, AnOwnChangeGoesAtOnceAndTakesTheOthersAlong) {
  hold(host('b'), 4, "of a neighbour");
  hold(host('x'), 4, "own");
  spread_.add(now_, host('b'), 4, host('a'));
  spread_.send_own(now_, host('x'), {4}, rows_, messages_);
  EXPECT_EQ(sent(), "a1 b1 c2") << "nobody is told its own row";
  EXPECT_EQ(spread_.next_deadline(), kNever);
}

TEST_F(SpreadTest, WhatComesFasterThanThePaceTravelsTogether) {
  for (std::uint32_t field = 1; field <= kSpreadsASecond; ++field) {
    hold(host('x'), field, "own");
    spread_.send_own(now_, host('x'), {field}, rows_, messages_);
    EXPECT_EQ(sent(), "a1 b1 c1");
  }
  hold(host('x'), 20, "own");
  hold(host('y'), 4, "news");
  spread_.send_own(now_, host('x'), {20}, rows_, messages_);
  spread_.add(now_, host('y'), 4, host('a'));
  spread_.check_invariants();
  EXPECT_EQ(spread_.next_deadline(), now_ + Duration(std::chrono::seconds(1)) / kSpreadsASecond);
  pass(kSpreadDelay);
  EXPECT_EQ(sent(), "");
  pass(Duration(std::chrono::seconds(1)) / kSpreadsASecond);
  EXPECT_EQ(sent(), "a1 b2 c2");
  EXPECT_EQ(spread_.next_deadline(), kNever);
}

TEST_F(SpreadTest, TheOwnerHearsWhatTheAuthoritySaysOfIt) {
  constexpr auto kRoll = static_cast<std::uint32_t>(FieldId::kRoll);
  hold(host('b'), kRoll, "of the authority");
  hold(host('b'), 4, "its own");
  spread_.add(now_, host('b'), kRoll, host('a'));
  spread_.add(now_, host('b'), 4, host('a'));
  pass(kSpreadDelay);
  EXPECT_EQ(sent(), "b1 c2");
}

TEST_F(SpreadTest, AFieldThatWasDroppedMeanwhileIsNoNews) {
  hold(host('x'), 4, "short-lived");
  spread_.add(now_, host('x'), 4, host('a'));
  rows_.edit(host('x')).row.fields.clear();
  pass(kSpreadDelay);
  EXPECT_EQ(sent(), "");
  EXPECT_EQ(spread_.next_deadline(), kNever);
}

TEST_F(SpreadTest, AGuestIsToldAsIfItWereANeighbourForAWhile) {
  spread_.welcome(now_, host('g'));
  spread_.welcome(now_, host('b'));  // It is a neighbour, too.
  hold(host('x'), 4, "news");
  spread_.add(now_, host('x'), 4, host('a'));
  pass(kSpreadDelay);
  EXPECT_EQ(sent(), "b1 c1 g1");
  pass(kGuestTime);
  spread_.add(now_, host('x'), 4, host('a'));
  pass(kSpreadDelay);
  EXPECT_EQ(sent(), "b1 c1");
}

TEST_F(SpreadTest, GuestsAreBounded) {
  for (std::size_t i = 0; i < 2 * kGuestsMax; ++i) {
    spread_.welcome(now_, HostId::from_bytes(std::string(13, 'g') + std::to_string(100 + i)));
    spread_.check_invariants();
  }
  hold(host('x'), 4, "news");
  spread_.add(now_, host('x'), 4, host('x'));
  pass(kSpreadDelay);
  EXPECT_EQ(messages_.size(), 3 + kGuestsMax);
}

TEST_F(SpreadTest, WhoDoesNotRelayTellsNeighboursWhatHostsSaidThemselves) {
  spread_.set_neighbours({host('a'), host('b')}, false);
  hold(host('x'), 4, "second-hand");
  hold(host('y'), 4, "first-hand");
  hold(host('s'), 4, "its own");
  spread_.add(now_, host('x'), 4, host('a'));
  EXPECT_EQ(spread_.next_deadline(), kNever);
  spread_.add(now_, host('y'), 4, host('y'));
  pass(kSpreadDelay);
  EXPECT_EQ(sent(), "a1 b1");
  spread_.send_own(now_, host('s'), {4}, rows_, messages_);
  EXPECT_EQ(sent(), "a1 b1");
  spread_.welcome(now_, host('g'));
  spread_.add(now_, host('x'), 4, host('a'));
  pass(milliseconds(200));
  EXPECT_EQ(sent(), "g1");
}

TEST_F(SpreadTest, WhatThisHostVouchesForIsOfNobodyElse) {
  spread_.set_neighbours({host('a')}, false);
  hold(host('x'), 6, "its record");
  spread_.add(now_, host('x'), 6, HostId());
  pass(kSpreadDelay);
  EXPECT_EQ(sent(), "a1");
}

TEST_F(SpreadTest, FirstHandNewsStaysSoWhenOthersSayItToo) {
  spread_.set_neighbours({host('a'), host('b')}, false);
  hold(host('x'), 4, "news");
  spread_.add(now_, host('x'), 4, host('x'));
  spread_.add(now_, host('x'), 4, host('b'));
  pass(kSpreadDelay);
  EXPECT_EQ(sent(), "a1");
}

TEST_F(SpreadTest, AGuestWhoseTimeIsOverTakesNoPlace) {
  for (std::size_t i = 0; i < kGuestsMax; ++i) {
    spread_.welcome(now_, HostId::from_bytes(std::string(13, 'g') + std::to_string(100 + i)));
  }
  pass(kGuestTime);
  spread_.welcome(now_, host('g'));
  hold(host('x'), 4, "news");
  spread_.add(now_, host('x'), 4, host('a'));
  pass(kSpreadDelay);
  EXPECT_EQ(sent(), "b1 c1 g1");
}

}  // namespace
}  // namespace muster::crdt
