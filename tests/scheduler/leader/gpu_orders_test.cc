// Orders about GPUs on their way to the host: one leader, scripted, and the agent as the test plays
// it.

#include "scheduler/leader/gpu_order_sender.h"
#include "tests/scheduler/leader/one_leader.h"

namespace muster::scheduler {
namespace {

using namespace testing;               // NOLINT: the fixture's verbs
using namespace std::chrono_literals;  // NOLINT

class GpuOrdersSent : public OneLeader {
 protected:
  ClientReply say(std::uint32_t gpu, bool is_mask) {
    give(input::ClientOrder{
        ++request, entry::GpuOrder{host_id(1), uuid_of(1, gpu), is_mask, "fan", {"ann@a"}}});
    return replies.back();
  }
  void acknowledge(const Token& heard, std::uint64_t generation = 1) {
    hear(1, GpuOrdersAck{pair_of(generation), heard});
  }
  std::vector<GpuOrders> told() { return said<GpuOrders>(1); }
  Token last_told() { return told().back().orders.back().at; }
};

TEST_F(GpuOrdersSent, AnOrderIsRepeatedUntilItIsAcknowledged) {
  join(1);
  EXPECT_FALSE(say(0, true).error.has_value());
  ASSERT_EQ(told().size(), 1U);
  EXPECT_EQ(told()[0].start, pair_of(1));
  ASSERT_EQ(told()[0].orders.size(), 1U);
  EXPECT_TRUE(told()[0].orders[0].is_mask);
  EXPECT_EQ(told()[0].orders[0].why, "fan");
  pass(kGpuOrdersAgain * 3 + 100ms);
  EXPECT_EQ(told().size(), 3U) << "each wait is twice the one before";
  EXPECT_TRUE(messages.back().is_again);
  acknowledge(last_told());
  pass(1min);
  EXPECT_EQ(told().size(), 3U);
  EXPECT_FALSE(say(1, true).error.has_value());
  EXPECT_EQ(told().back().orders.size(), 1U) << "only what it has not heard";
}

TEST_F(GpuOrdersSent, ARefusedOrderIsToldToTheClientAlone) {
  join(1);
  EXPECT_TRUE(say(7, true).error.has_value());
  EXPECT_TRUE(told().empty());
}

TEST_F(GpuOrdersSent, AnUnreachableHostHearsThemWhenItIsBack) {
  join(1);
  see(1, Verdict::kSilent);
  say(0, true);
  pass(1min);
  EXPECT_TRUE(told().empty());
  see(1, Verdict::kAlive);
  ASSERT_EQ(told().size(), 1U);
  see(1, Verdict::kSilent);
  pass(1min);
  EXPECT_EQ(told().size(), 1U);
}

TEST_F(GpuOrdersSent, ANewStartAndANewLeaderHearAllOfThemAgain) {
  join(1);
  say(0, true);
  say(1, false);
  acknowledge(last_told());
  forget();
  hear(1, hello_of(1, 2), Nonce(2));
  see(1, Verdict::kAlive, 2);
  ASSERT_EQ(told().size(), 1U);
  EXPECT_EQ(told()[0].start, pair_of(2));
  EXPECT_EQ(told()[0].orders.size(), 2U);
  const std::uint64_t dropped = scheduler.dropped_count();
  acknowledge(last_told(), 1);
  EXPECT_EQ(scheduler.dropped_count(), dropped + 1) << "of the start before";
  pass(kGpuOrdersAgain + 100ms);
  EXPECT_EQ(told().size(), 2U);
  acknowledge(last_told(), 2);
  forget();
  restart_with_snapshot();
  ASSERT_EQ(told().size(), 1U);
  EXPECT_EQ(told()[0].orders.size(), 2U);
}

TEST_F(GpuOrdersSent, MoreThanOneMessageOfThemAreHeardOneAfterTheOther) {
  hear(1, hello_of(1, 1, 80), Nonce(1));
  see(1, Verdict::kAlive);
  commit = false;
  for (std::uint32_t gpu = 0; gpu < 80; ++gpu) {
    give(input::ClientOrder{++request,
                            entry::GpuOrder{host_id(1), uuid_of(1, gpu), true, "fan", {"ann@a"}}});
  }
  commit = true;
  settle();
  std::size_t heard = 0;
  for (int round = 0; round < 5 && heard < 80; ++round) {
    forget();
    acknowledge(heard == 0 ? Token{1, 1}
                           : scheduler.state().host(host_id(1))->gpu_orders[heard - 1].at);
    ASSERT_FALSE(told().empty()) << heard;
    EXPECT_LE(told().back().orders.size(), kGpuOrdersMax);
    EXPECT_EQ(told().back().orders.front().uuid, uuid_of(1, static_cast<std::uint32_t>(heard)));
    heard += told().back().orders.size();
  }
  EXPECT_EQ(heard, 80U);
  forget();
  acknowledge(scheduler.state().host(host_id(1))->gpu_orders.back().at);
  pass(1min);
  EXPECT_TRUE(told().empty());
}

TEST_F(GpuOrdersSent, NothingNewIsPlacedOnAMaskedGpu) {
  join(1);
  say(0, true);
  submit(4, "first");
  EXPECT_EQ(scheduler.state().attempts().size(), 0U);
  say(0, false);
  EXPECT_EQ(scheduler.state().attempts().size(), 1U);
}

}  // namespace
}  // namespace muster::scheduler
