// The attempt table, row by row: from a state, a fact, an edge, a state. The last test
// of the table asserts that no edge was forgotten.

#include "scheduler/state/reservations.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/scheduler/state/cluster.h"

namespace muster::scheduler {
namespace {

using namespace testing;  // NOLINT: the fixture's verbs

const Member kFirst = member_of(1, 0, 1);
const Member kSecond = member_of(2, 0, 1, 1);
const HostId kStranger = host_id(9);

Attempt reserved() {
  Attempt attempt;
  attempt.token = Token{1, 5};
  attempt.job = JobId(1);
  attempt.members = {MemberRecord{kFirst, false, MemberEnd::kNone, LogIndex(), {}},
                     MemberRecord{kSecond, false, MemberEnd::kNone, LogIndex(), {}}};
  return attempt;
}

fact::Ready ready(const Member& member) {
  return {member.host, member.start, {}};
}
fact::Finish finish(const Member& member, std::int32_t code, bool signalled = false) {
  return {member.host, member.start, results_of(member, code, signalled), true};
}

Attempt after(Attempt attempt, const std::vector<Fact>& facts) {
  for (const Fact& fact : facts) {
    transition(attempt, fact);
  }
  return attempt;
}
Attempt started() {
  return after(reserved(), {ready(kFirst), ready(kSecond), fact::Start{}});
}
Attempt stopping() {
  return after(started(), {fact::Stop{Cause::kRankFailed}});
}
Attempt ended() {
  return after(reserved(), {fact::Abort{Cause::kRefused, kFirst.host}});
}
Attempt kept() {
  Attempt attempt = started();
  attempt.keep = true;
  return attempt;
}

struct Row {
  Attempt from;
  Fact fact;
  Edge edge;
  AttemptState to;
  std::size_t freed = 0;
  std::optional<Edge> then = std::nullopt;
};

std::vector<Row> reserved_rows() {
  const AttemptState still = AttemptState::kReserved;
  const AttemptState over = AttemptState::kEnded;
  return {
      {reserved(), ready(kFirst), Edge::kReadyCounted, still},
      {after(reserved(), {ready(kFirst)}), ready(kFirst), Edge::kReadyRepeated, still},
      {reserved(), fact::Ready{kFirst.host, pair_of(2), {}}, Edge::kReadyOtherPair, still},
      {reserved(), fact::Ready{kStranger, pair_of(1), {}}, Edge::kIgnoredStranger, still},
      {after(reserved(), {ready(kFirst), ready(kSecond)}), fact::Start{}, Edge::kStarted,
       AttemptState::kStarted},
      {after(reserved(), {ready(kFirst)}), fact::Start{}, Edge::kStartTooEarly, still},
      {reserved(), fact::Stop{Cause::kCancelled}, Edge::kStopEarly, still},
      {reserved(), finish(kFirst, 0), Edge::kFinishEarly, still},
      {reserved(), fact::Abort{Cause::kRefused, kFirst.host}, Edge::kAbortedRefused, over, 2},
      {reserved(), fact::Abort{Cause::kDeadline, {}}, Edge::kAbortedDeadline, over, 2},
      {reserved(), fact::Abort{Cause::kCancelled, {}}, Edge::kAbortedCancelled, over, 2},
      {reserved(), fact::Abort{Cause::kSuspended, {}}, Edge::kAbortedSuspended, over, 2},
      {reserved(), fact::Abort{Cause::kRequeued, {}}, Edge::kAbortedRequeued, over, 2},
      {reserved(), fact::Abort{Cause::kPreempted, {}}, Edge::kAbortedPreempted, over, 2},
      {reserved(), fact::Fenced{kFirst.host}, Edge::kAbortedFenced, over, 2},
      {reserved(), fact::Fenced{kStranger}, Edge::kIgnoredStranger, still},
      {reserved(), fact::Condemn{kFirst.host, LogIndex(9)}, Edge::kAbortedCondemned, over, 2},
      {reserved(), fact::Registered{kFirst.host, pair_of(2), true, false, false},
       Edge::kAbortedRestarted, over, 2},
      {reserved(), fact::Expire{kFirst.host, LogIndex(9)}, Edge::kExpireVoid, still},
      {ended(), fact::Start{}, Edge::kIgnoredEnded, over},
      {ended(), finish(kFirst, 0), Edge::kIgnoredEnded, over},
  };
}

std::vector<Row> started_rows() {
  const AttemptState still = AttemptState::kStarted;
  const AttemptState stop = AttemptState::kStopping;
  const AttemptState over = AttemptState::kEnded;
  const Attempt one_done = after(started(), {finish(kFirst, 0)});
  const Attempt all_failed = after(started(), {finish(kFirst, 1), finish(kSecond, 1)});
  const fact::Finish early{kFirst.host, kFirst.start, results_of(kFirst, 1), false};
  return {
      {started(), ready(kFirst), Edge::kReadyLate, still},
      {started(), fact::Start{}, Edge::kStartLate, still},
      {started(), fact::Abort{Cause::kRefused, kFirst.host}, Edge::kAbortLate, still},
      {started(), finish(kFirst, 0), Edge::kFinishCounted, still, 1},
      {started(), fact::Finish{kFirst.host, pair_of(2), {}, true}, Edge::kFinishOtherPair, still},
      {one_done, finish(kFirst, 1), Edge::kFinishRepeated, still},
      {one_done, finish(kSecond, 0), Edge::kFinishCounted, over, 1, Edge::kCompletedStarted},
      {one_done, finish(kSecond, 1), Edge::kFinishCounted, still, 1},
      {started(), early, Edge::kFailureSeen, still},
      {started(), fact::Stop{Cause::kRankFailed}, Edge::kStopRankFailed, stop},
      {started(), fact::Stop{Cause::kHostLost}, Edge::kStopHostLost, stop},
      {started(), fact::Stop{Cause::kCancelled}, Edge::kStopCancelled, stop},
      {started(), fact::Stop{Cause::kTimeLimit}, Edge::kStopTimeLimit, stop},
      {started(), fact::Stop{Cause::kPreempted}, Edge::kStopPreempted, stop},
      {started(), fact::Stop{Cause::kSuspended}, Edge::kStopSuspended, stop},
      {started(), fact::Stop{Cause::kRequeued}, Edge::kStopRequeued, stop},
      {kept(), fact::Fenced{kFirst.host}, Edge::kFenced, still, 1},
      {one_done, fact::Fenced{kFirst.host}, Edge::kIgnoredStranger, still},
      {all_failed, fact::Stop{Cause::kRankFailed}, Edge::kStopRankFailed, over, 0,
       Edge::kStopEndedAtOnce},
      {started(), fact::Condemn{kFirst.host, LogIndex(9)}, Edge::kCondemned, still},
      {kept(), fact::Condemn{kFirst.host, LogIndex(9)}, Edge::kCondemnKept, still},
      {started(), fact::Pardon{kFirst.host}, Edge::kPardonVoid, still},
      {started(), fact::Registered{kFirst.host, pair_of(2), true, false, false}, Edge::kRekeyed,
       still},
      {started(), fact::Registered{kFirst.host, pair_of(2), true, true, true}, Edge::kRekeyed,
       still},
      {started(), fact::Registered{kFirst.host, pair_of(2), false, false, false}, Edge::kProvenLost,
       still, 1},
      {started(), fact::Registered{kFirst.host, pair_of(2), true, false, true}, Edge::kProvenLost,
       still, 1},
  };
}

std::vector<Row> stopping_rows() {
  const AttemptState still = AttemptState::kStopping;
  const AttemptState over = AttemptState::kEnded;
  const fact::Condemn condemn{kFirst.host, LogIndex(9)};
  const fact::Expire expire{kFirst.host, LogIndex(9)};
  const Attempt condemned = after(stopping(), {condemn});
  const Attempt again =
      after(condemned, {fact::Pardon{kFirst.host}, fact::Condemn{kFirst.host, LogIndex(12)}});
  const Attempt one_done = after(stopping(), {finish(kFirst, 0)});
  const Attempt alone = after(condemned, {finish(kSecond, 0)});
  return {
      {stopping(), fact::Stop{Cause::kCancelled}, Edge::kStopRepeated, still},
      {one_done, finish(kSecond, 0), Edge::kFinishCounted, over, 1, Edge::kCompletedStopping},
      {one_done, finish(kSecond, 0, true), Edge::kFinishCounted, over, 1, Edge::kEndedByFinish},
      {condemned, fact::Pardon{kFirst.host}, Edge::kPardoned, still},
      {condemned, expire, Edge::kExpired, still, 1},
      {again, expire, Edge::kExpireVoid, still},
      {after(condemned, {fact::Pardon{kFirst.host}}), expire, Edge::kExpireVoid, still},
      {after(condemned, {expire}), finish(kFirst, 0), Edge::kFinishAfterExpire, still},
      {alone, expire, Edge::kExpired, over, 1, Edge::kEndedByExpire},
      {after(stopping(), {finish(kSecond, 0)}),
       fact::Registered{kFirst.host, pair_of(2), false, false, false}, Edge::kProvenLost, over, 1,
       Edge::kEndedByProof},
      {after(stopping(), {finish(kSecond, 0)}), fact::Fenced{kFirst.host}, Edge::kFenced, over, 1,
       Edge::kEndedByProof},
  };
}

TEST(AttemptTable, EveryRowHoldsAndEveryEdgeIsReached) {
  EdgeCounts reached;
  int number = 0;
  for (const auto& rows : {reserved_rows(), started_rows(), stopping_rows()}) {
    for (Row row : rows) {
      SCOPED_TRACE("row " + std::to_string(++number) + " " + std::string(text_of(row.edge)));
      const Outcome outcome = transition(row.from, row.fact);
      EXPECT_EQ(text_of(outcome.edge), text_of(row.edge));
      EXPECT_EQ(text_of(row.from.state), text_of(row.to));
      EXPECT_EQ(outcome.freed.size(), row.freed);
      EXPECT_EQ(outcome.has_then, row.then.has_value());
      reached.add(outcome.edge);
      if (outcome.has_then && row.then.has_value()) {
        EXPECT_EQ(text_of(outcome.then), text_of(*row.then));
        reached.add(outcome.then);
      }
    }
  }
  // Decide makes attempts and is judged by State.
  Log log;
  log.apply(registration(1, 1));
  const JobId job = log.submit(1);
  log.decide(job, {kFirst});
  log.decide(job, {kFirst});
  reached.merge(log.state.edges());
  for (const std::string_view edge : reached.unreached()) {
    ADD_FAILURE() << "edge never reached: " << edge;
  }
}

TEST(AttemptTable, OfStartAndAbortTheFirstInTheLogWins) {
  const Attempt all_ready = after(reserved(), {ready(kFirst), ready(kSecond)});
  const fact::Abort abort{Cause::kDeadline, {}};
  EXPECT_EQ(after(all_ready, {fact::Start{}, abort}).state, AttemptState::kStarted);
  EXPECT_EQ(after(all_ready, {abort, fact::Start{}}).state, AttemptState::kEnded);
}

TEST(AttemptTable, OfPardonAndExpireTheFirstInTheLogWins) {
  const Attempt condemned = after(started(), {fact::Condemn{kFirst.host, LogIndex(9)}});
  const fact::Expire expire{kFirst.host, LogIndex(9)};
  const fact::Pardon pardon{kFirst.host};
  EXPECT_EQ(after(condemned, {pardon, expire}).find(kFirst.host)->end, MemberEnd::kNone);
  EXPECT_EQ(after(condemned, {expire, pardon}).find(kFirst.host)->end, MemberEnd::kExpired);
}

TEST(AttemptTable, OfFinishAndStopTheOrderDoesNotMatterForCompletion) {
  const fact::Stop stop{Cause::kCancelled};
  EXPECT_TRUE(after(started(), {finish(kFirst, 0), stop, finish(kSecond, 0)}).completed);
  EXPECT_TRUE(after(started(), {stop, finish(kFirst, 0), finish(kSecond, 0)}).completed);
  EXPECT_TRUE(after(started(), {finish(kFirst, 0), finish(kSecond, 0), stop}).completed);
}

TEST(AttemptTable, MissingOrDoubledRankResultsAreNoSuccess) {
  Member two = member_of(1, 0, 2);
  MemberRecord record{two, true, MemberEnd::kFinished, LogIndex(), results_of(two, 0)};
  EXPECT_TRUE(record.succeeded());
  record.results[1].rank = 0;
  EXPECT_FALSE(record.succeeded());
  record.results.pop_back();
  EXPECT_FALSE(record.succeeded());
}

}  // namespace
}  // namespace muster::scheduler
