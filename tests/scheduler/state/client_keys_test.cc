// Which client keys are forgotten, and in what order.

#include "scheduler/state/client_keys.h"

#include <gtest/gtest.h>

namespace muster::scheduler {
namespace {

TEST(ClientKeys, TheOldestGoesFirstAndAmongEqualsThatOfTheFirstJob) {
  ClientKeys keys;
  keys.remember("b", JobId(1), Duration(10));
  keys.remember("a", JobId(2), Duration(10));
  keys.remember("late", JobId(4), Duration(20));
  EXPECT_EQ(keys.find("a"), JobId(2));
  EXPECT_EQ(keys.oldest_job(), JobId(1));
  EXPECT_EQ(keys.forget_oldest(), "b");
  EXPECT_EQ(keys.forget_oldest(), "a");
  EXPECT_EQ(keys.find("b"), std::nullopt);
  EXPECT_EQ(keys.find("late"), JobId(4));
  keys.check();
}

TEST(ClientKeys, AKeyOutlivesItsLifeOnlyWhenThatIsOver) {
  ClientKeys keys;
  EXPECT_FALSE(keys.has_outlived(kClientKeyLife * 2)) << "there is none";
  keys.remember("key", JobId(1), Duration(5));
  EXPECT_FALSE(keys.has_outlived(Duration(5) + kClientKeyLife));
  EXPECT_TRUE(keys.has_outlived(Duration(6) + kClientKeyLife));
}

TEST(ClientKeys, ASnapshotsKeysAreForgottenInTheSameOrder) {
  ClientKeys keys;
  keys.remember("b", JobId(1), Duration(1));
  keys.remember("a", JobId(2), Duration(2));
  ClientKeys copy(keys.all());
  EXPECT_EQ(copy.forget_oldest(), keys.forget_oldest());
  EXPECT_EQ(copy.forget_oldest(), keys.forget_oldest());
}

}  // namespace
}  // namespace muster::scheduler
