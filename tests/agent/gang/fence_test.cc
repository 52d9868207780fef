// The fence: tokens are compared over overlapping places and survive a restart.

#include "agent/gang/fence.h"

#include <gtest/gtest.h>

namespace muster::agent {
namespace {

using scheduler::GpuSlot;

crdt::Records applied(const crdt::WriteBatch& batch) {
  crdt::Records records;
  for (const crdt::Write& write : batch) {
    records[write.key] = write.value.value_or("");
  }
  return records;
}

TEST(Fence, WholeDeviceOverlapsEverySlotAndSlotsDoNotOverlapEachOther) {
  EXPECT_TRUE(overlaps(GpuSlot{"a", 0}, GpuSlot{"a", 3}));
  EXPECT_TRUE(overlaps(GpuSlot{"a", 3}, GpuSlot{"a", 0}));
  EXPECT_TRUE(overlaps(GpuSlot{"a", 3}, GpuSlot{"a", 3}));
  EXPECT_FALSE(overlaps(GpuSlot{"a", 3}, GpuSlot{"a", 4}));
  EXPECT_FALSE(overlaps(GpuSlot{"a", 0}, GpuSlot{"b", 0}));
}

TEST(Fence, AcceptsOnlyTokensAboveEveryOverlappingOne) {
  Fence fence;
  crdt::WriteBatch batch;
  fence.raise({"a", 1}, {1, 10}, batch);
  fence.raise({"a", 2}, {1, 20}, batch);
  EXPECT_FALSE(fence.accepts({{"a", 0}}, {1, 20}));
  EXPECT_TRUE(fence.accepts({{"a", 0}}, {1, 21}));
  EXPECT_TRUE(fence.accepts({{"a", 1}}, {1, 11}));
  EXPECT_FALSE(fence.accepts({{"a", 1}}, {1, 10}));
  EXPECT_TRUE(fence.accepts({{"a", 1}}, {2, 1})) << "a later epoch is above";
  EXPECT_FALSE(fence.accepts({{"b", 0}, {"a", 2}}, {1, 15})) << "every place must accept it";
}

TEST(Fence, SurvivesARestartAndNeverFalls) {
  Fence fence;
  crdt::WriteBatch batch;
  fence.raise({"a", 0}, {1, 10}, batch);
  fence.raise({"a", 0}, {1, 9}, batch);
  EXPECT_EQ(batch.size(), 1U);
  const Fence again(applied(batch));
  EXPECT_EQ(again.highest({"a", 5}), (Token{1, 10}));
  EXPECT_TRUE(again.knows("a"));
  EXPECT_FALSE(again.knows("b"));
}

TEST(Fence, CountsRecordsThatDoNotDecode) {
  const Fence fence(crdt::Records{{"fence/x", "junk"}, {"other/y", "junk"}});
  EXPECT_EQ(fence.damaged(), 1U);
  EXPECT_EQ(fence.size(), 0U);
}

}  // namespace
}  // namespace muster::agent
