// How old a voter's answers are, by its own account. Method: one voter of three, its peers played
// by the test.

#include "scheduler/seat/quorum_seat.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "scheduler/raft/codec.h"
#include "scheduler/raft/first_quorum_messages.h"
#include "scheduler/seat/seat_records.h"

namespace muster::scheduler {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.

HostId host(char letter) {
  return HostId::from_bytes(std::string(HostId::kSizeBytes, letter));
}

/// Each entry is a point: its hash is told.
constexpr std::uint64_t kCompactEntries = kHashPoints;

class SeatOfThree : public testing::Test {
 protected:
  SeatOfThree() {
    SeatOptions options;
    options.self = host('a');
    options.compact_entries = kCompactEntries;
    crdt::WriteBatch formed;
    write_formed_to({ClusterId::from_bytes("cluster_________"), {host('a'), host('b'), host('c')}},
                    formed);
    crdt::Records records;
    for (const crdt::Write& write : formed) {
      if (write.value.has_value()) {
        records[write.key] = *write.value;
      }
    }
    seat_.emplace(options, records, Rng(1), now_);
    collect();
  }
  void collect() {
    SeatOutput output = seat_->take_output();
    for (const SeatPersist& each : output.persists) {
      for (const crdt::Write& write : each.writes) {
        written_.erase(write.key);
        if (write.value.has_value()) {
          written_[write.key] = *write.value;
        }
      }
      seat_->step(now_, input::Persisted{each.id});
    }
    must_restart_ = must_restart_ || output.fate.must_restart;
    std::move(output.answers.replies.begin(), output.answers.replies.end(),
              std::back_inserter(replies_));
    std::move(output.events.begin(), output.events.end(), std::back_inserter(events_));
    for (SeatSend& message : output.messages) {
      sent_.push_back(std::move(message));
    }
    if (!output.persists.empty()) {
      collect();
    }
  }
  /// Time passes; the `answering_` answer what they are asked, when they are `heard`.
  void pass(Duration time, bool is_heard) {
    const Instant end = now_ + time;
    while (seat_->next_deadline() <= end) {
      now_ = std::max(now_, seat_->next_deadline());
      seat_->tick(now_);
      if (seat_->wants_hosts(now_)) {
        seat_->step(now_, input::HostsSeen{});
      }
      collect();
      for (const SeatSend& message : std::exchange(sent_, {})) {
        if (is_heard && answering_.contains(message.to)) {
          answer(message);
        }
      }
    }
    now_ = end;
  }
  void answer(const SeatSend& sent) {
    const Result<gossip::Document> document = gossip::Document::parse(sent.body);
    const auto message = decode_raft_message(sent.type, document->root());
    RaftMessage reply;
    if (!message.has_value()) {
      return;  // For the agent on `b`, which this test does not play.
    }
    if (const auto* vote = std::get_if<VoteRequest>(&*message)) {
      reply = VoteReply{vote->term, vote->pre_vote, true, vote->request};
    } else if (const auto* append = std::get_if<AppendRequest>(&*message)) {
      const LogIndex match(append->previous.index.value() + append->entries.size());
      reply = AppendReply{append->term, append->request, append->round, true, match, {},
                          {},           levels_[sent.to]};
    } else {
      return;
    }
    hear(sent.to, reply);
  }

  /// A newer leader has nothing new to say.
  void follow(HostId leader) {
    AppendRequest append;
    append.term = Term(seat_->raft()->term().value() + 1);
    append.previous = {seat_->raft()->last_index(), seat_->raft()->term()};
    hear(leader, append);
  }
  /// `b` leads in the first term, and has committed so much when it sends its first entry.
  AppendRequest first_entry(LogIndex commit) {
    answering_ = {host('b'), host('c')};
    pass(10ms, true);  // It compares its disk.
    AppendRequest append;
    append.term = Term(1);
    append.entries = {{Term(1), LogEntryKind::kNoop, ""}};
    append.commit = commit;
    hear(host('b'), append);
    return append;
  }
  void hear(HostId from, const RaftMessage& message) {
    const Result<gossip::Document> body = gossip::Document::parse(encode(message));
    seat_->step(now_,
                input::MessageReceived{from, *decode_seat_message(type_of(message), body->root())});
    collect();
  }

  /// The hash in the last acknowledgement.
  StateHash said_last() const {
    StateHash last;
    for (const SeatSend& each : sent_) {
      const Result<gossip::Document> document = gossip::Document::parse(each.body);
      const auto message = decode_raft_message(each.type, document->root());
      const auto* reply = message.has_value() ? std::get_if<AppendReply>(&*message) : nullptr;
      last = reply == nullptr ? last : reply->state;
    }
    return last;
  }

  /// The answers that came meanwhile.
  std::vector<SeatReply> suspend() {
    input::ClientOrder order;
    order.request = ++last_request_;
    order.order = entry::Suspend{JobId(1), "ann"};
    seat_->step(now_, order);
    collect();
    return std::exchange(replies_, {});
  }

  std::ptrdiff_t count(std::string_view event) const {
    return std::count_if(events_.begin(), events_.end(),
                         [event](const Event& each) { return each.name == event; });
  }

  /// And raft/ says so.
  void expect_seat_given_up() const {
    EXPECT_TRUE(must_restart_);
    const Status checked = check_seat(written_, host('a'));
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().code, ErrorCode::kCorrupt);
  }

  Instant now_ = Instant{} + 1000s;
  std::set<HostId> answering_ = {host('b')};
  std::map<HostId, std::uint64_t> levels_;  ///< As they say it.
  bool must_restart_ = false;
  std::uint64_t last_request_ = 0;
  std::vector<SeatReply> replies_;
  std::vector<Event> events_;
  crdt::Records written_;
  std::optional<QuorumSeat> seat_;
  std::vector<SeatSend> sent_;
};

TEST_F(SeatOfThree, AVoterThatIsToldWhatItForgotTakesAnotherSeat) {
  seat_->tick(now_);
  collect();
  const auto asked = std::find_if(sent_.begin(), sent_.end(), [](const SeatSend& each) {
    return each.type == gossip::MessageType::kAppendRequest;
  });
  ASSERT_NE(asked, sent_.end());
  const auto document = gossip::Document::parse(asked->body);
  const auto question = decode_raft_message(asked->type, document->root());
  AppendReply reply;
  reply.term = Term(3);
  reply.request = std::get<AppendRequest>(*question).request;
  reply.answer = Answer{{}, false, {Term(3), {}, true}};
  const HostId teller = asked->to;
  hear(teller, reply);
  expect_seat_given_up();
}

TEST_F(SeatOfThree, AFormerLeaderCountsFromTheLastWordOfAMajority) {
  pass(180s, true);
  ASSERT_TRUE(seat_->leads());
  EXPECT_EQ(seat_->age(now_), Duration(0));
  pass(5s, false);
  ASSERT_FALSE(seat_->leads());
  EXPECT_TRUE(seat_->knows_state());
  EXPECT_GE(seat_->age(now_), 5s);
  EXPECT_LE(seat_->age(now_), 6s);
}

TEST_F(SeatOfThree, AVoterWithoutALeaderForLongSaysSoOnceAndWhenOneIsBack) {
  pass(20s, true);
  ASSERT_TRUE(seat_->leads());
  pass(5s, false);
  ASSERT_FALSE(seat_->leads());
  EXPECT_EQ(count("quorum_unreachable"), 0) << "that may be an election";
  pass(60s, false);
  EXPECT_EQ(count("quorum_unreachable"), 1);
  EXPECT_EQ(count("quorum_reached"), 0);
  pass(20s, true);
  ASSERT_TRUE(seat_->leads());
  EXPECT_EQ(count("quorum_unreachable"), 1);
  EXPECT_EQ(count("quorum_reached"), 1);
}

TEST_F(SeatOfThree, AVoterThatWasReplacedRaisesNoAlarm) {
  pass(20s, true);
  pass(5s, false);
  ASSERT_FALSE(seat_->leads());
  crdt::QuorumView newer;
  newer.term = Term(seat_->raft()->term().value() + 100);
  newer.leader = host('b');
  newer.voters = {host('b'), host('c'), host('d')};
  seat_->step(now_, input::QuorumHeard{newer});
  pass(60s, false);
  EXPECT_EQ(count("quorum_unreachable"), 0);
}

TEST_F(SeatOfThree, AVoterThatHeardNoLeaderCountsFromItsStart) {
  pass(20s, false);
  EXPECT_FALSE(seat_->leads());
  EXPECT_EQ(seat_->age(now_), 20s);
}

TEST_F(SeatOfThree, WhatAVoterCouldNotApplyIsNotWrittenIntoTheLog) {
  answering_ = {host('b'), host('c')};
  levels_ = {{host('b'), kCommandLevel}, {host('c'), 1}};
  pass(20s, true);
  ASSERT_TRUE(seat_->leads());
  const LogIndex before = seat_->raft()->last_index();
  const auto refused = suspend();
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_EQ(refused[0].code, ErrorCode::kUnavailable);
  EXPECT_NE(refused[0].text.find("upgrade " + host('c').short_hex() + " first"), std::string::npos)
      << refused[0].text;
  EXPECT_EQ(seat_->raft()->last_index(), before);
  input::ClientOrder cancel;  // Every version knows it.
  cancel.order = entry::Cancel{JobId(1), "ann"};
  seat_->step(now_, cancel);
  EXPECT_GT(seat_->raft()->last_index(), before);
  levels_[host('c')] = kCommandLevel;
  pass(2s, true);
  replies_.clear();
  suspend();
  pass(1s, true);
  ASSERT_EQ(replies_.size(), 1U);
  EXPECT_EQ(replies_[0].code, ErrorCode::kNotFound);  // The log heard of it.
}

TEST_F(SeatOfThree, ASubmitThatWaitsIsRefusedWhileAVoterWouldNotWait) {
  answering_ = {host('b'), host('c')};
  levels_ = {{host('b'), kCommandLevel}, {host('c'), kWaitsLevel - 1}};
  pass(20s, true);
  ASSERT_TRUE(seat_->leads());
  input::ClientSubmit submit;
  submit.request = 7;
  submit.key = "key";
  submit.spec.command.argv = {"train"};
  submit.spec.request.ranks = 1;
  submit.spec.eligibility.begin = 1h;
  replies_.clear();
  seat_->step(now_, submit);
  collect();
  ASSERT_EQ(replies_.size(), 1U);
  EXPECT_EQ(replies_[0].code, ErrorCode::kUnavailable);
  EXPECT_NE(replies_[0].text.find("upgrade " + host('c').short_hex() + " first"), std::string::npos)
      << replies_[0].text;
}

TEST_F(SeatOfThree, WhatTheLogHoldsAlreadyIsNotGatedBySilentVoters) {
  answering_ = {host('b'), host('c')};
  levels_ = {{host('b'), kCommandLevel}, {host('c'), kCommandLevel}};
  pass(20s, true);
  suspend();
  pass(1s, true);
  ASSERT_EQ(seat_->state().level_met(), level_needed(EntryKind::kSuspend));
  pass(5s, false);
  answering_ = {host('b')};
  pass(20s, true);
  ASSERT_TRUE(seat_->leads());
  EXPECT_EQ(seat_->raft()->common_level(), 0U);
  replies_.clear();
  suspend();
  pass(1s, true);
  ASSERT_EQ(replies_.size(), 1U);
  EXPECT_EQ(replies_[0].code, ErrorCode::kNotFound);
}

TEST_F(SeatOfThree, ATransferIsToldByWhoLeadsThen) {
  for (const char who : {'b', 'c'}) {
    answering_ = {host('b'), host('c')};
    pass(20s, true);
    ASSERT_TRUE(seat_->leads());
    seat_->step(now_, input::ChangeQuorum{99, QuorumAction::kTransfer, host('b')});
    collect();
    ASSERT_TRUE(seat_->raft()->is_handing_over());
    replies_.clear();
    follow(host(who));
    ASSERT_EQ(replies_.size(), 1U);
    EXPECT_EQ(replies_[0].request, 99U);
    EXPECT_EQ(replies_[0].done, who == 'b') << replies_[0].text;
  }
}

TEST_F(SeatOfThree, AFollowerThatLagsBehindItsLeaderKnowsIt) {
  const Term term(1);
  AppendRequest append = first_entry(LogIndex(9));
  EXPECT_FALSE(seat_->knows_state()) << "eight more entries are committed";
  append.previous = {LogIndex(1), term};
  append.entries.assign(8, {term, LogEntryKind::kNoop, ""});
  hear(host('b'), append);
  EXPECT_TRUE(seat_->knows_state());
}

TEST_F(SeatOfThree, WhatAFollowerSaysIsAsOldAsWhatItHasCaughtUpWith) {
  const Term term(1);
  AppendRequest append = first_entry(LogIndex(1));
  EXPECT_EQ(seat_->age(now_), Duration(0));
  // Nine more are committed, of which heartbeats arrive and no entry.
  AppendRequest beat;
  beat.term = term;
  beat.previous = {LogIndex(1), term};
  beat.commit = LogIndex(1);
  beat.committed = LogIndex(10);
  now_ += 300ms;
  hear(host('b'), beat);
  EXPECT_EQ(seat_->age(now_), 300ms);
  EXPECT_EQ(seat_->leaderless(now_), Duration(0));
  now_ += 300ms;
  append.previous = {LogIndex(1), term};
  append.entries.assign(9, {term, LogEntryKind::kNoop, ""});
  append.commit = LogIndex(10);
  hear(host('b'), append);
  EXPECT_EQ(seat_->age(now_), Duration(0));
}

TEST_F(SeatOfThree, WhatAFollowerSaysIsNotCurrentBeforeANewLeaderCommittedAnEntry) {
  AppendRequest append = first_entry(LogIndex(1));
  now_ += 300ms;
  AppendRequest beat;
  beat.term = Term(2);
  beat.previous = {LogIndex(1), Term(1)};
  beat.commit = beat.committed = LogIndex(1);
  hear(host('c'), beat);
  EXPECT_EQ(seat_->age(now_), 300ms) << "the leader before may have committed more";
  append.term = Term(2);
  append.previous = {LogIndex(1), Term(1)};
  append.entries = {{Term(2), LogEntryKind::kNoop, ""}};
  append.commit = LogIndex(2);
  hear(host('c'), append);
  EXPECT_EQ(seat_->age(now_), Duration(0));
}

TEST_F(SeatOfThree, AnOrderThatTheLogWouldDropIsRefusedAndTheNextIsAnswered) {
  answering_ = {host('b'), host('c')};
  levels_ = {{host('b'), kCommandLevel}, {host('c'), kCommandLevel}};
  pass(20s, true);
  ASSERT_TRUE(seat_->leads());
  seat_->step(now_, input::ChangeQuorum{99, QuorumAction::kTransfer, host('b')});
  collect();
  ASSERT_TRUE(seat_->raft()->is_handing_over());
  const auto refused = suspend();
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_EQ(refused[0].request, 1U);
  EXPECT_EQ(refused[0].code, ErrorCode::kUnavailable);
  pass(4s, true);  // `b` never campaigns, so this host leads on.
  ASSERT_TRUE(seat_->leads());
  ASSERT_FALSE(seat_->raft()->is_handing_over());
  replies_.clear();
  suspend();
  pass(1s, true);
  ASSERT_EQ(replies_.size(), 1U);
  EXPECT_EQ(replies_[0].request, 2U);
  EXPECT_EQ(replies_[0].code, ErrorCode::kNotFound);
}

TEST_F(SeatOfThree, WhoseStateIsNotThatOfAMajorityServesNothingMore) {
  pass(1s, true);  // It has compared its disk with what `b` heard of it.
  AppendRequest append;
  append.term = Term(1);
  append.commit = LogIndex(1);
  append.entries = {{Term(1), LogEntryKind::kNoop, ""}};
  hear(host('b'), append);
  ASSERT_TRUE(seat_->knows_state());
  hear(host('b'), append);
  const StateHash own = said_last();
  ASSERT_EQ(own.index, LogIndex(1));
  append.agreed = own;
  hear(host('b'), append);
  EXPECT_TRUE(seat_->knows_state()) << "it is the same";
  append.agreed.hash += 1;
  sent_.clear();
  hear(host('b'), append);
  EXPECT_FALSE(seat_->knows_state());
  EXPECT_FALSE(seat_->trusts_own_seat());
  EXPECT_TRUE(sent_.empty());
  expect_seat_given_up();
}

TEST_F(SeatOfThree, ALogOfALowerEpochIsKeptAsideWhenAHigherOneIsMet) {
  answering_ = {host('b'), host('c')};
  pass(20s, true);
  ASSERT_TRUE(seat_->leads());
  const LogIndex last = seat_->raft()->last_index();
  seat_->step(now_, input::EpochMet{{2, 77}});
  EXPECT_FALSE(seat_->has_seat());
  EXPECT_FALSE(must_restart_) << "not before that is durable";
  collect();
  expect_seat_given_up();
  auto kept = recover_log(written_);
  ASSERT_TRUE(kept.has_value());
  EXPECT_EQ(RaftLog(*kept).last().index, last);
}

TEST_F(SeatOfThree, WhoGaveItsSeatUpTakesNoneBeforeItStartsAgain) {
  pass(1s, true);
  seat_->step(now_, input::EpochMet{{2, 77}});
  collect();
  sent_.clear();
  AppendRequest append;
  append.term = Term(9);
  hear(host('b'), append);
  pass(20s, true);
  EXPECT_FALSE(seat_->has_seat());
  EXPECT_TRUE(sent_.empty());
  expect_seat_given_up();
}

TEST_F(SeatOfThree, ASeatWithoutALogGoesOnInTheNextEpoch) {
  const crdt::Records empty = {{write_of(SeatId(7)).key, *write_of(SeatId(7)).value}};
  SeatOptions options;
  options.self = host('a');
  seat_.emplace(options, empty, Rng(1), now_);
  written_ = empty;
  seat_->step(now_, input::EpochMet{{2, 77}});
  collect();
  EXPECT_FALSE(must_restart_);
  ASSERT_TRUE(check_seat(written_, host('a')));
  EXPECT_EQ(recover_log(written_)->epoch, (ClusterEpoch{2, 77}));
}

TEST_F(SeatOfThree, MakesItsSnapshotsWhereAllVotersDo) {
  pass(1s, true);  // It has compared its disk with what `b` heard of it.
  AppendRequest append;
  append.term = Term(1);
  append.commit = LogIndex(2 * kCompactEntries + 3);
  append.entries.assign(append.commit.value(), {Term(1), LogEntryKind::kNoop, ""});
  hear(host('b'), append);
  EXPECT_EQ(seat_->raft()->snapshot_index(), LogIndex(2 * kCompactEntries));
}

}  // namespace
}  // namespace muster::scheduler
