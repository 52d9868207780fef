// The knowledge of a log about earlier epochs when it goes on after a lost quorum.

#include "scheduler/state/epochs.h"

#include <gtest/gtest.h>

namespace muster::scheduler {
namespace {

constexpr Duration kNow = std::chrono::seconds(100);

TEST(Epochs, TheFirstEpochRecoversFromNothing) {
  const Epochs epochs;
  EXPECT_FALSE(epochs.is_recovering(Duration(0)));
  EXPECT_EQ(epochs.last_of(1), LogIndex());
}

TEST(Epochs, ARecoveryIsOverAfterItsWindow) {
  Epochs epochs;
  epochs.begin(2, {LogIndex(7), JobId(3)}, kNow);
  EXPECT_TRUE(epochs.is_recovering(kNow));
  EXPECT_FALSE(epochs.is_recovering(kNow + kAdoptionWindow));
  EXPECT_EQ(epochs.last_of(1), LogIndex(7));
}

TEST(Epochs, NumbersThatARecoveryLeftOutWereGivenToNobody) {
  Epochs epochs;
  epochs.begin(2, {LogIndex(7), JobId(3)}, kNow);
  const JobId later(3 + kJobIdsSkipped + 5);
  epochs.begin(3, {LogIndex(20), later}, kNow);
  EXPECT_TRUE(epochs.was_given(1, JobId(3)));
  EXPECT_FALSE(epochs.was_given(1, JobId(4))) << "perhaps by the lost log";
  EXPECT_FALSE(epochs.was_given(2, JobId(3 + kJobIdsSkipped)));
  EXPECT_TRUE(epochs.was_given(2, later));
  EXPECT_FALSE(epochs.was_given(3, JobId(1))) << "no earlier epoch";
}

TEST(Epochs, ANewEpochDoubtsNothingYet) {
  Epochs epochs;
  epochs.begin(2, {LogIndex(7), JobId(3)}, kNow);
  epochs.doubt(Token{1, 9});
  EXPECT_TRUE(epochs.is_unsure(Token{1, 9}));
  epochs.begin(3, {LogIndex(8), JobId(3)}, kNow);
  EXPECT_FALSE(epochs.is_unsure(Token{1, 9}));
  EXPECT_FALSE(epochs.trust(Token{1, 9}));
}

}  // namespace
}  // namespace muster::scheduler
