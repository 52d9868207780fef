// Hosts that cannot start ranks: their shortage becomes log state, and they get no jobs.

#include "scheduler/why/explain.h"
#include "tests/scheduler/leader/one_leader.h"

namespace muster::scheduler {
namespace {

using namespace testing;               // NOLINT: the fixture's verbs
using namespace std::chrono_literals;  // NOLINT

class ShortHosts : public OneLeader {
 protected:
  /// The row of the host says so; "" if it can start grants.
  void say_short(std::uint64_t host, const std::string& shortage) {
    HostView view;
    view.host = host_id(host);
    view.start = pair_of(1);
    view.cordoned = !shortage.empty();
    view.shortage = shortage;
    give(input::HostViewChanged{view});
  }
  std::string state_of(JobId number) { return std::string(text_of(job(number).life.state)); }
};

TEST_F(ShortHosts, NothingIsPlacedThereUntilItSaysThatItCan) {
  join(1);
  say_short(1, "disk: 3 MiB free");
  EXPECT_EQ(scheduler.state().host(host_id(1))->shortage, "disk: 3 MiB free");
  const JobId number = submit(2, "job");
  EXPECT_EQ(state_of(number), "queued");
  say_short(1, "");
  EXPECT_EQ(state_of(number), "scheduled");
}

TEST_F(ShortHosts, WhatRunsThereGoesOn) {
  running_gang();
  say_short(2, "disk: 3 MiB free");
  pass(10min);
  EXPECT_EQ(state_of(id), "running");
}

TEST_F(ShortHosts, WhyNamesTheHostAndWhatItLacks) {
  join(1);
  say_short(1, "disk: 3 MiB free");
  const JobId number = submit(2, "job");
  Capacity capacity(scheduler.state());
  const Why answer = *why(scheduler.state(), capacity, scheduler.pending().queue(), number);
  ASSERT_EQ(answer.withheld.size(), 1U);
  EXPECT_EQ(answer.withheld.front(), (Withheld{"host host1 starts nothing: disk: 3 MiB free", 4}));
}

TEST_F(ShortHosts, OutlivesTheLeaderAndASnapshot) {
  join(1);
  say_short(1, "disk: 3 MiB free");
  restart_with_snapshot();
  EXPECT_EQ(scheduler.state().host(host_id(1))->shortage, "disk: 3 MiB free");
  EXPECT_EQ(state_of(submit(2, "job")), "queued");
}

TEST_F(ShortHosts, AQuarantineKeepsWhatTheHostLacks) {
  join(1);
  submit(2, "job");
  const Assign assign = said<Assign>(1).back();
  say_short(1, "disk: 3 MiB free");
  hear(1, Refuse{assign.token, assign.start, "stuck"});
  EXPECT_EQ(scheduler.state().host(host_id(1))->shortage, "disk: 3 MiB free");
}

TEST_F(ShortHosts, TheReasonOfARefusalIsTheJobsLastWord) {
  join(1);
  const JobId number = submit(2, "job");
  const Assign assign = said<Assign>(1).back();
  hear(1, Refuse{assign.token, assign.start, "launch failed: disk: 3 MiB free"});
  EXPECT_EQ(state_of(number), "queued");
  EXPECT_EQ(job(number).life.reason, "refused by host host1: launch failed: disk: 3 MiB free");
}

}  // namespace
}  // namespace muster::scheduler
