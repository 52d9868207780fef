// An operator's orders about GPUs, as the log keeps them: the refusals, what a mask keeps away and
// what it leaves alone, and the limits of a host's record.

#include <gtest/gtest.h>

#include "scheduler/state/state.h"
#include "scheduler/why/explain.h"
#include "tests/scheduler/state/cluster.h"

namespace muster::scheduler {
namespace {

using namespace testing;  // NOLINT: the fixture's verbs

/// Two hosts of four GPUs.
class GpuOrdersTest : public ::testing::Test {
 protected:
  GpuOrdersTest() {
    log.apply(registration(1, 4));
    log.apply(registration(2, 4));
  }
  ApplyResult say(const std::string& uuid, bool is_mask, const std::string& why = "fan 3") {
    return log.apply(entry::GpuOrder{host_id(1), uuid, is_mask, why, {"ann@a"}});
  }
  ApplyResult mask(const std::string& uuid) { return say(uuid, true); }
  ApplyResult unmask(const std::string& uuid) { return say(uuid, false, "replaced"); }
  const HostRecord& host(std::uint64_t number = 1) { return *log.state.host(host_id(number)); }
  std::size_t free() { return log.state.free_gpus(host()).size(); }

  Log log;
};

TEST_F(GpuOrdersTest, AMaskedGpuIsFreeForNoJobUntilItsUnmask) {
  const ApplyResult done = mask(uuid_of(1, 2));
  EXPECT_EQ(done.rejected, "");
  EXPECT_TRUE(done.capacity_changed);
  EXPECT_EQ(done.hosts_changed, std::vector<HostId>{host_id(1)});
  EXPECT_EQ(free(), 3U);
  EXPECT_FALSE(host().offers(uuid_of(1, 2)));
  const JobId job = log.submit(4);
  EXPECT_NE(log.apply(entry::Decide{job, 1, {member_of(1, 0, 4)}}).rejected, "");
  EXPECT_EQ(host().mask_of(uuid_of(1, 2))->why, "fan 3");
  EXPECT_EQ(host().mask_of(uuid_of(1, 2))->by, "ann@a");
  EXPECT_TRUE(unmask(uuid_of(1, 2)).capacity_changed);
  EXPECT_EQ(free(), 4U);
  EXPECT_EQ(log.apply(entry::Decide{job, 1, {member_of(1, 0, 4)}}).rejected, "");
}

TEST_F(GpuOrdersTest, WhatRunsThereGoesOn) {
  const JobId job = log.submit(4);
  const Token token = log.run(job, {member_of(1, 0, 4)});
  EXPECT_TRUE(mask(uuid_of(1, 0)).touched.empty());
  EXPECT_EQ(log.state.attempt(token)->state, AttemptState::kStarted);
}

TEST_F(GpuOrdersTest, AMaskStandsOverARegistrationAndABoot) {
  mask(uuid_of(1, 0));
  entry::Register again = registration(1, 4, 2);
  again.boot_id = "another boot";
  ASSERT_EQ(log.apply(again).rejected, "");
  EXPECT_EQ(free(), 3U);
  again.start = pair_of(3);
  again.gpus.erase(again.gpus.begin());
  ASSERT_EQ(log.apply(again).rejected, "");
  EXPECT_NE(host().mask_of(uuid_of(1, 0)), nullptr) << "also while it is not there";
  EXPECT_EQ(unmask(uuid_of(1, 0)).rejected, "");
  EXPECT_NE(unmask(uuid_of(1, 0)).rejected, "") << "neither there nor masked";
}

TEST_F(GpuOrdersTest, OrdersThatMeanNothingAreRefusedInWords) {
  const ApplyResult unknown = mask(uuid_of(2, 0));
  EXPECT_EQ(unknown.rejected_as, ErrorCode::kNotFound);
  EXPECT_EQ(unknown.rejected,
            "host host1 has not registered a GPU 'GPU-2-0': `muster gpus --host host1` lists its "
            "GPUs");
  const std::string gpu = uuid_of(1, 0);
  for (const std::string& why : {std::string(), std::string("two\nlines"), std::string("\x1b[2J"),
                                 std::string(kGpuWhyBytesMax + 1, 'x')}) {
    EXPECT_EQ(say(gpu, true, why).rejected_as, ErrorCode::kInvalid) << why;
    EXPECT_NE(say(gpu, true, why).rejected, "") << why;
  }
  EXPECT_EQ(say(gpu, true, std::string(kGpuWhyBytesMax, 'x')).rejected, "");
  EXPECT_EQ(log.apply(entry::GpuOrder{host_id(9), gpu, true, "fan", {"ann@a"}}).rejected_as,
            ErrorCode::kNotFound);
  EXPECT_EQ(host().gpu_orders.size(), 1U);
}

TEST_F(GpuOrdersTest, TheLastOrderAboutEachGpuIsKeptInTheirOrder) {
  mask(uuid_of(1, 0));
  mask(uuid_of(1, 1));
  unmask(uuid_of(1, 0));
  ASSERT_EQ(host().gpu_orders.size(), 2U);
  EXPECT_EQ(host().gpu_orders[0].uuid, uuid_of(1, 1));
  EXPECT_EQ(host().gpu_orders[1].uuid, uuid_of(1, 0));
  EXPECT_FALSE(host().gpu_orders[1].is_mask);
  EXPECT_EQ(host().gpu_orders[1].at, (Token{1, log.index().value()}));
  EXPECT_LT(host().gpu_orders[0].at, host().gpu_orders[1].at);
  log.state.begin_epoch(2, log.index());
  EXPECT_NE(host().mask_of(uuid_of(1, 1)), nullptr) << "a recovery of the quorum keeps it";
}

TEST_F(GpuOrdersTest, ARecordIsBounded) {
  log.apply(registration(1, kGpuMasksMax + 1));
  for (std::uint32_t i = 0; i < kGpuMasksMax; ++i) {
    ASSERT_EQ(mask(uuid_of(1, i)).rejected, "");
  }
  EXPECT_EQ(mask(uuid_of(1, kGpuMasksMax)).rejected_as, ErrorCode::kConflict);
  EXPECT_EQ(mask(uuid_of(1, 0)).rejected, "") << "it is masked: a new reason";
  for (std::uint32_t i = 0; i < kGpuMasksMax; ++i) {
    ASSERT_EQ(unmask(uuid_of(1, i)).rejected, "");
  }
  ASSERT_EQ(host().gpu_orders.size(), kGpuUnmasksKept);
  EXPECT_EQ(host().gpu_orders.back().uuid, uuid_of(1, kGpuMasksMax - 1));
  EXPECT_EQ(free(), kGpuMasksMax + 1);
}

TEST_F(GpuOrdersTest, SnapshotsHaveThem) {
  mask(uuid_of(1, 0));
  unmask(uuid_of(1, 1));
  const Result<State> copy = State::decode(log.state.encode());
  ASSERT_TRUE(copy.has_value());
  EXPECT_EQ(copy->host(host_id(1))->gpu_orders, host().gpu_orders);
  const std::uint64_t digest = log.state.digest();
  EXPECT_EQ(copy->digest(), digest);
  mask(uuid_of(1, 1));
  EXPECT_NE(log.state.digest(), digest);
}

}  // namespace
}  // namespace muster::scheduler
