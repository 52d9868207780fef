// Watch alone: the messages of one observer and their times, with answers made here.

#include "membership/watch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "membership/observers_clock.h"

namespace muster::membership {
namespace {

using std::chrono::milliseconds;

HostId host(std::uint8_t number) {
  std::array<std::uint8_t, HostId::kSizeBytes> bytes{};
  bytes[0] = number;
  return HostId(bytes);
}

class WatchTest : public ::testing::Test {
 protected:
  static constexpr Generation kFirst{1};

  WatchTest() : watch_(host(0), "", Rng(1)) {
    for (std::uint8_t i = 0; i <= 10; ++i) {
      ring_.push_back(host(i));
    }
    for (std::uint8_t subject = 1; subject <= 5; ++subject) {
      watch_.set_subject(now_, host(subject), kFirst, ring_, "");
    }
  }

  void answer(HostId subject, Duration next = milliseconds(5500)) {
    watch_.on_ack(now_, now_, subject, asked_.at(subject).nonce, Ack{next, Sequence(1)});
  }

  /// The output until now. Notes when each subject was asked last.
  Watch::Output take() {
    Watch::Output output = watch_.take_output();
    for (const Outgoing& message : output.messages) {
      if (std::holds_alternative<Probe>(message.body)) {
        asked_[message.to] = {message.nonce, now_};
      }
    }
    return output;
  }

  /// A step of 10 ms; all subjects answer but these.
  Watch::Output step(const std::vector<HostId>& silent) {
    now_ += milliseconds(10);
    watch_.tick(now_);
    Watch::Output output = take();
    for (const Outgoing& message : output.messages) {
      const bool is_silent = std::find(silent.begin(), silent.end(), message.to) != silent.end();
      if (std::holds_alternative<Probe>(message.body) && !is_silent) {
        answer(message.to);
      }
    }
    return output;
  }

  /// Runs until this host is asked; it has not answered then.
  void ask(HostId subject) {
    const Instant before = asked_[subject].at;
    for (int i = 0; i < 3000 && asked_[subject].at == before; ++i) {
      step({subject});
    }
    ASSERT_NE(asked_[subject].at, before);
  }

  /// Runs until this host was asked `after` ago, and has not answered.
  void wait_for_attempt(HostId host, Duration after, const std::vector<HostId>& silent) {
    for (int i = 0; i < 3000 && now_ - asked_[host].at != after; ++i) {
      step(silent);
    }
    ASSERT_EQ(now_ - asked_[host].at, after);
  }

  /// All answer until the next round of `second` begins so long after that of `first`.
  void begin_rounds_apart(HostId first, HostId second, Duration apart) {
    const Duration next = milliseconds(9000);
    ask(first);
    const Instant begins = now_ + next;
    answer(first, next);
    ask(second);
    answer(second, begins + apart - now_);
  }

  struct Asked {
    Nonce nonce;
    Instant at;
  };
  Instant now_{};
  std::vector<HostId> ring_;
  Watch watch_;
  std::map<HostId, Asked> asked_;
};

bool is_asked(const Watch::Output& output, HostId subject) {
  return std::any_of(output.messages.begin(), output.messages.end(), [&](const auto& message) {
    return message.to == subject && std::holds_alternative<Probe>(message.body);
  });
}

TEST_F(WatchTest, WhoHearsOneThatItClaimedLooksAtTheOthersOverNewLinks) {
  const std::vector<HostId> silent{host(1), host(2)};
  for (int i = 0; i < 3000 && watch_.claims().size() < 2; ++i) {
    step(silent);
  }
  ASSERT_EQ(watch_.claims().size(), 2U);
  // In mid-round, whose dial may have gone into the cut: 120 ms after an attempt at 2.
  wait_for_attempt(host(2), milliseconds(120), silent);
  answer(host(1));
  const Watch::Output output = take();
  EXPECT_TRUE(is_asked(output, host(2)));
  EXPECT_FALSE(is_asked(output, host(3)));
  EXPECT_EQ(output.drop_links, std::vector<HostId>{host(2)});
  // The answer of the next one finds it looked at just now.
  watch_.check_invariants();
  answer(host(2));
  EXPECT_TRUE(watch_.claims().empty());
}

bool is_anybody_called(const Watch::Output& output) {
  return std::any_of(output.messages.begin(), output.messages.end(), [](const auto& message) {
    return std::holds_alternative<Call>(message.body);
  });
}

TEST_F(WatchTest, WhoMissedManyLeavesItToTheOthersToSeeThatTheyAreBack) {
  const std::vector<HostId> silent{host(1), host(2), host(3)};
  for (int i = 0; i < 3000 && watch_.claims().size() < 3; ++i) {
    step(silent);
  }
  ASSERT_EQ(watch_.claims().size(), 3U);
  take();
  for (const HostId& back : silent) {
    answer(back);
    EXPECT_FALSE(is_anybody_called(take()));
  }
  ASSERT_TRUE(watch_.claims().empty());
  // The next one that is missed alone is told of again.
  for (int i = 0; i < 3000 && watch_.claims().empty(); ++i) {
    step({host(1)});
  }
  ASSERT_EQ(watch_.claims().size(), 1U);
  take();
  answer(host(1));
  EXPECT_TRUE(is_anybody_called(take()));
}

TEST_F(WatchTest, AnAnswerOfWhoWasNotClaimedIsNoReasonToLook) {
  const std::vector<HostId> silent{host(2)};
  for (int i = 0; i < 3000 && watch_.claims().empty(); ++i) {
    step(silent);
  }
  ASSERT_EQ(watch_.claims().size(), 1U);
  wait_for_attempt(host(2), milliseconds(120), silent);
  answer(host(3));
  EXPECT_FALSE(is_asked(take(), host(2)));
}

TEST_F(WatchTest, OldAnswersEndNoClaim) {
  const std::vector<HostId> silent{host(1)};
  for (int i = 0; i < 2000; ++i) {
    step({});
  }
  const Asked old = asked_.at(host(1));  // Answered long ago; a link may say it again.
  for (int i = 0; i < 1500; ++i) {
    step(silent);
    watch_.on_ack(now_, now_, host(1), old.nonce, Ack{milliseconds(5500), Sequence(1)});
  }
  EXPECT_EQ(watch_.claims().size(), 1U);
}

TEST_F(WatchTest, AVetoCountsUnderTheNonceOfTheCallAlone) {
  const std::vector<HostId> silent{host(1)};
  for (int i = 0; i < 1500; ++i) {
    step(silent);
    watch_.on_veto(now_, host(7), Nonce(99), Veto{host(1), kFirst});
  }
  EXPECT_EQ(watch_.claims().size(), 1U);
}

TEST_F(WatchTest, WhatOthersMissIsNoEvidence) {
  for (int i = 0; i < 1500; ++i) {
    step({});
    watch_.on_call(now_, host(7), Nonce(99), Call{host(1), kFirst});
    step({});
    EXPECT_TRUE(watch_.claims().empty());
  }
}

bool is_anybody_accused(const Watch::Output& output) {
  return std::any_of(output.messages.begin(), output.messages.end(), [](const auto& message) {
    return std::holds_alternative<Accuse>(message.body);
  });
}

TEST_F(WatchTest, WhoMissesASecondOneLooksAtAllBeforeItAccuses) {
  const std::vector<HostId> silent{host(1), host(2)};
  // The first one's own silence would be enough in the middle of the look at all.
  begin_rounds_apart(host(1), host(2), milliseconds(750));
  for (int i = 0; i < 3000 && watch_.missing_count() < 2; ++i) {
    EXPECT_FALSE(is_anybody_accused(step(silent)));
  }
  ASSERT_EQ(watch_.missing_count(), 2U);
  const Instant missed = now_;
  while (now_ - missed < 2 * kAttemptTimeout - milliseconds(10)) {
    EXPECT_FALSE(is_anybody_accused(step(silent)));
    EXPECT_TRUE(watch_.claims().empty());
  }
  for (const HostId other : {host(3), host(4), host(5)}) {
    EXPECT_LE(missed - asked_.at(other).at, kRedialDelay);
    EXPECT_LE(asked_.at(other).at - missed, kRedialDelay);
  }
  EXPECT_TRUE(is_anybody_accused(step(silent)));
  ASSERT_EQ(watch_.claims().size(), 1U);
  EXPECT_EQ(watch_.claims()[0].subject, host(1));
}

TEST_F(WatchTest, OneThatWasNeverHeardIsGivenTimeBeforeTheRingIsCalled) {
  const std::vector<HostId> all{host(1), host(2), host(3), host(4), host(5)};
  const auto calls = [](const Watch::Output& output) {
    return std::count_if(output.messages.begin(), output.messages.end(), [](const auto& message) {
      return std::holds_alternative<Call>(message.body);
    });
  };
  const Instant begun = now_;
  Instant first = kNever;
  Instant second = kNever;
  HostId subject;
  while (now_ - begun < kFirstContact - milliseconds(10)) {
    const Watch::Output output = step(all);
    EXPECT_EQ(calls(output), 0);
    for (const HostId each : all) {
      if (is_asked(output, each) && first == kNever) {
        subject = each;
        first = now_;
      } else if (is_asked(output, each) && each == subject && second == kNever) {
        second = now_;
      }
    }
  }
  ASSERT_LT(first - begun, kFirstContact - 3 * kAttemptTimeout) << "else it would not call anyhow";
  EXPECT_EQ(second - first, kFirstAttemptTimeout);
  std::ptrdiff_t called = 0;
  while (now_ - begun < 2 * kFirstContact) {
    called += calls(step(all));
  }
  EXPECT_GT(called, 0);
}

TEST_F(WatchTest, OneThatAnsweredOnceIsGivenNoMoreTimeThanOthers) {
  while (asked_.empty()) {
    step({});
  }
  const HostId heard = asked_.begin()->first;
  const Instant from = now_;
  Instant missed = kNever;
  Instant called = kNever;
  while (now_ - from < kFirstContact * 3 && called == kNever) {
    for (const Outgoing& message : step({heard}).messages) {
      if (missed == kNever && message.to == heard && std::holds_alternative<Probe>(message.body)) {
        missed = now_;
      }
      called = std::holds_alternative<Call>(message.body) ? now_ : called;
    }
  }
  EXPECT_EQ(called - missed, 2 * kAttemptTimeout);
}

TEST_F(WatchTest, AHostThatIsLateWaitsLongerForAnswers) {
  for (int i = 0; i < 2000; ++i) {
    step({});
  }
  watch_.be_late(milliseconds(20));
  const std::vector<HostId> silent{host(1)};
  const Instant before = asked_.at(host(1)).at;
  while (asked_.at(host(1)).at == before) {
    step(silent);
  }
  const Instant first = asked_.at(host(1)).at;
  while (asked_.at(host(1)).at == first) {
    step(silent);
  }
  EXPECT_EQ(asked_.at(host(1)).at - first, kAttemptTimeout + kTimeoutALag * milliseconds(20));
}

TEST(ObserversClock, WaitsLongerAfterEachChangeUntilItIsCalm) {
  ObserversClock clock;
  Instant now{std::chrono::hours(1)};
  for (const Duration delay : {kObserversDelay, 2 * kObserversDelay, 4 * kObserversDelay,
                               kObserversDelayMax, kObserversDelayMax}) {
    clock.want(now);
    EXPECT_EQ(clock.deadline(), now + delay);
    now += delay;
    EXPECT_TRUE(clock.is_due(now));
    clock.chosen();
    EXPECT_FALSE(clock.is_due(now));
    clock.changed(now);
  }
  now += kObserversCalm + milliseconds(1);
  clock.want(now);
  EXPECT_EQ(clock.deadline(), now + kObserversDelay);
}

TEST(ObserversClock, WaitsUntilNothingHappenedForAWhileButNotForEver) {
  ObserversClock clock;
  const Instant begun{std::chrono::hours(1)};
  clock.want(begun);
  clock.want(begun + milliseconds(400));
  EXPECT_EQ(clock.deadline(), begun + milliseconds(400) + kObserversDelay);
  for (Instant now = begun; now < begun + 2 * kObserversDelayMax; now += milliseconds(100)) {
    clock.want(now);
  }
  EXPECT_EQ(clock.deadline(), begun + kObserversDelayMax);
}

TEST_F(WatchTest, WhoStoodStillJudgesNobodyForASecond) {
  const std::vector<HostId> silent{host(1)};
  for (int i = 0; i < 2000; ++i) {
    step({});
  }
  while (watch_.missing_count() == 0) {
    step(silent);
  }
  now_ += milliseconds(3000);
  watch_.paused(now_);
  const Instant woke = now_;
  while (now_ - woke < milliseconds(990)) {
    step({host(1), host(2), host(3), host(4), host(5)});
    EXPECT_TRUE(watch_.claims().empty());
    EXPECT_FALSE(watch_.is_isolated());
  }
}

}  // namespace
}  // namespace muster::membership
