// When a Start is repeated, and to which hosts.

#include <gtest/gtest.h>

#include "tests/scheduler/leader/one_leader.h"

namespace muster::scheduler {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using namespace testing;               // NOLINT: the fixture's verbs

TEST_F(OneLeader, AStartIsRepeatedToWhoWaitsForItAndToNobodyElse) {
  const Token token = running_gang();
  forget();
  const Renew waits{pair_of(1), {token}, std::vector<Token>{token}};
  const Renew runs{pair_of(1), {token}, std::vector<Token>()};
  hear(1, runs, Nonce(1));
  hear(2, waits, Nonce(2));
  pass(5min);
  EXPECT_TRUE(said<Start>(1).empty()) << "it has it";
  EXPECT_GE(said<Start>(2).size(), 25U) << "it renews, and runs nothing";
  hear(2, runs, Nonce(3));
  forget();
  pass(5min);
  EXPECT_TRUE(said<Start>(2).empty());
  hear(2, waits, Nonce(4));
  pass(1s);
  EXPECT_FALSE(said<Start>(2).empty());
}

/// A Start at once, again after a second, and then not before the host that has it has renewed. A
/// host that renews and says that it waits is told at once.
TEST_F(OneLeader, AStartIsRepeatedOnceSoonAndThenWhenARenewalWouldHaveCome) {
  const Token token = running_gang();
  const auto starts = [&](std::uint64_t host) { return said<Start>(host).size(); };
  EXPECT_EQ(starts(1), 1U);
  EXPECT_FALSE(messages.back().is_again);
  pass(1s);
  EXPECT_EQ(starts(1), 2U);
  EXPECT_TRUE(messages.back().is_again) << "the first may be lost in its connection";
  pass(5900ms);
  EXPECT_EQ(starts(1), 2U);
  EXPECT_EQ(starts(2), 2U);
  hear(2, Renew{pair_of(1), {token}, std::vector<Token>{token}}, Nonce(2));
  pass(1ms);
  EXPECT_EQ(starts(2), 3U) << "it says that it waits";
  pass(100ms);
  EXPECT_EQ(starts(1), 3U);
}

/// A host that runs programs of its site before it is ready has their time in addition.
TEST_F(OneLeader, AHostWithPrologsHasLongerToBeReady) {
  const auto deadline_on = [&](std::uint64_t host, const std::string& label, std::uint32_t gpus) {
    Hello hello = hello_of(host);
    hello.traits.labels = {"arch=x86_64", label};
    hear(host, hello, Nonce(host));
    see(host, Verdict::kAlive);
    submit(gpus, "job" + std::to_string(host));
    return scheduler.state().attempt(said<Assign>(host).back().token)->deadline;
  };
  EXPECT_EQ(deadline_on(1, "prolog", 4), 10s);
  EXPECT_EQ(deadline_on(2, "prolog=300", 4), 310s);
  EXPECT_EQ(deadline_on(3, "prolog=-5", 4), 10s) << "a label can be written by hand";
  EXPECT_EQ(deadline_on(4, "prolog=4000", 4), 3610s) << "the longest";
  EXPECT_EQ(deadline_on(5, "prolog=99999999999999999999", 4), 10s);
  hear(6, hello_of(6), Nonce(6));
  see(6, Verdict::kAlive);
  EXPECT_EQ(deadline_on(7, "prolog=60", 8), 70s) << "the longest of the gang";
}

TEST_F(OneLeader, AFinishFreesNoGpuThatItsAgentHasNotSeenClean) {
  join(1);
  const JobId running = submit(2, "a");
  const Token token = ready(1);
  const Member member = scheduler.state().attempt(token)->find(host_id(1))->member;
  const std::vector<std::string> dirty = {member.gpus[0].uuid.text()};
  // A GPU that is not of the grant is not taken away by its end.
  Finish finish{token, member.start, results_of(member, 0, false), true, dirty};
  finish.withheld.push_back("GPU-elsewhere");
  hear(1, finish);
  EXPECT_EQ(job(running).life.state, JobState::kCompleted) << "results are not late";
  const auto record = [&]() -> const HostRecord& { return *scheduler.state().host(host_id(1)); };
  EXPECT_EQ(record().quarantined, dirty);
  EXPECT_EQ(scheduler.state().free_gpus(record()).size(), 3U);
  see(1, Verdict::kSilent);
  see(1, Verdict::kAlive);
  EXPECT_EQ(record().quarantined, dirty) << "an Observe takes no GPU off the list";
  hear(1, hello_of(1));
  EXPECT_TRUE(record().quarantined.empty());
  EXPECT_EQ(scheduler.state().free_gpus(record()).size(), 4U);
}

}  // namespace
}  // namespace muster::scheduler
