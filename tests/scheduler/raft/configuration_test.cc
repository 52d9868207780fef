// Goal: the configurations that may follow another, and those that a log remembers. Method: small
// tables, and random bytes for the decoder.

#include "scheduler/raft/configuration.h"

#include <gtest/gtest.h>

#include "gossip/base/rng.h"
#include "tests/scheduler/raft/host.h"

namespace muster::scheduler {
namespace {

Seat seat(std::uint8_t number) {
  return {host(number), SeatId(number)};
}

const Configuration kFounders = founding({host(1), host(2), host(3)});

TEST(Configuration, OneVoterAtATimeComesOrGoes) {
  const Configuration learning = kFounders.with_learner(seat(4));
  EXPECT_EQ(why_not_next(kFounders, learning), "");
  EXPECT_EQ(why_not_next(learning, learning.with_promoted(host(4))), "");
  EXPECT_EQ(why_not_next(kFounders, kFounders.without(host(2))), "");
  EXPECT_NE(why_not_next(kFounders, kFounders.without(host(2)).without(host(3))), "");
  EXPECT_NE(why_not_next(learning, learning.with_promoted(host(4)).without(host(1))), "");
  EXPECT_NE(why_not_next(kFounders, Configuration()), "");
}

TEST(Configuration, WhoBecomesAVoterWasALearnerInThatSeat) {
  const Configuration voting = kFounders.with_learner(seat(4)).with_promoted(host(4));
  EXPECT_NE(why_not_next(kFounders, voting), "");
  const Configuration elsewhere = kFounders.with_learner({host(4), SeatId(99)});
  EXPECT_NE(why_not_next(elsewhere, voting), "");
}

TEST(Configuration, AVotersSeatIsNotChangedInOneStep) {
  Configuration moved = kFounders;
  moved.voters[0].id = SeatId(5);
  EXPECT_NE(why_not_next(kFounders, moved), "");
}

TEST(Configuration, LimitsHold) {
  Configuration many = kFounders;
  for (std::uint8_t i = 10; i < 10 + kLearnersMax; ++i) {
    many = many.with_learner(seat(i));
  }
  EXPECT_EQ(why_not_next(kFounders, many), "");
  EXPECT_NE(why_not_next(many, many.with_learner(seat(50))), "");
}

TEST(Configuration, RoundTripsAndRefusesDisorder) {
  const Configuration full = kFounders.with_learner(seat(4)).with_learner(seat(9));
  EXPECT_EQ(decode_configuration(encode(full)), full);
  EXPECT_EQ(decode_configuration(encode(Configuration())), Configuration());
  Configuration disorder = kFounders;
  std::swap(disorder.voters[0], disorder.voters[1]);
  EXPECT_FALSE(decode_configuration(encode(disorder)).has_value());
  Configuration both = kFounders;
  both.learners.push_back(both.voters[0]);
  EXPECT_FALSE(decode_configuration(encode(both)).has_value());
  Rng rng(1);
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = encode(full);
    bytes[rng.below(bytes.size())] = static_cast<char>(rng.below(256));
    decode_configuration(bytes);
  }
}

TEST(ConfigurationHistory, FollowsTheLog) {
  const Configuration second = kFounders.with_learner(seat(4));
  const Configuration third = second.with_promoted(host(4));
  ConfigurationHistory history(kFounders);
  history.append(LogIndex(5), second);
  history.append(LogIndex(9), third);
  EXPECT_EQ(history.at(LogIndex(4)), kFounders);
  EXPECT_EQ(history.at(LogIndex(8)), second);
  history.truncate_from(LogIndex(9));
  EXPECT_EQ(history.newest(), second);
  EXPECT_EQ(history.newest_index(), LogIndex(5));
  history.compact(LogIndex(7));
  EXPECT_EQ(history.newest(), second);
  EXPECT_EQ(history.newest_index(), LogIndex());
  history.append(LogIndex(12), third);
  history.install(LogIndex(10), kFounders, true);
  EXPECT_EQ(history.at(LogIndex(10)), kFounders);
  EXPECT_EQ(history.newest(), third);
  history.install(LogIndex(20), second, false);
  EXPECT_EQ(history.newest(), second);
}

}  // namespace
}  // namespace muster::scheduler
