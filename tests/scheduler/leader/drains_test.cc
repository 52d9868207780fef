// Hosts that operators take out of service, and jobs that no host can hold: one leader, scripted.

#include "scheduler/why/explain.h"
#include "tests/scheduler/leader/one_leader.h"

namespace muster::scheduler {
namespace {

using namespace testing;               // NOLINT: the fixture's verbs
using namespace std::chrono_literals;  // NOLINT

class Drains : public OneLeader {
 protected:
  template <class T>
  ClientReply say(T word) {
    give(input::ClientOrder{++request, std::move(word)});
    return replies.back();
  }
  ClientReply drain(std::uint64_t host, bool requeues = false, Duration after = 0s) {
    return say(entry::Drain{host_id(host), {"ann@a"}, "disk", requeues, after});
  }
  bool is_done(const ClientReply& reply) const { return !reply.error.has_value(); }
  std::string state_of(JobId number) { return std::string(text_of(job(number).life.state)); }
  const HostRecord& host(std::uint64_t number) { return *scheduler.state().host(host_id(number)); }
};

TEST_F(Drains, NothingNewIsPlacedThereAndWhatRunsGoesOn) {
  join(1);
  join(2);
  const JobId first = submit(2, "first");
  const HostId at = scheduler.state().attempt(job(first).life.current)->members.front().member.host;
  const std::uint64_t drained = at == host_id(1) ? 1 : 2;
  ready(drained);
  EXPECT_TRUE(is_done(drain(drained)));
  EXPECT_EQ(host(drained).drain->why, "disk");
  const JobId second = submit(4, "second");
  EXPECT_NE(scheduler.state().attempt(job(second).life.current)->members.front().member.host, at);
  ready(3 - drained);
  EXPECT_EQ(state_of(submit(2, "third")), "queued");
  pass(1h);
  EXPECT_EQ(state_of(first), "running") << "without a deadline it is waited for";
  EXPECT_TRUE(is_done(say(entry::Undrain{at, "ann@a"})));
  EXPECT_EQ(state_of(JobId(3)), "scheduled");
}

TEST_F(Drains, ASecondOneKeepsTheReasonUnlessItHasItsOwn) {
  join(1);
  drain(1);
  EXPECT_TRUE(is_done(say(entry::Drain{host_id(1), {"ben@b"}, "", true, 60s})));
  EXPECT_EQ(host(1).drain->why, "disk");
  EXPECT_EQ(host(1).drain->by, "ben@b");
  EXPECT_TRUE(is_done(say(entry::Drain{host_id(1), {"ben@b"}, "fan", true, 60s})));
  EXPECT_EQ(host(1).drain->why, "fan");
}

TEST_F(Drains, TheDeadlineIsOfClusterTimeAndUsesNoRetry) {
  join(1);
  const JobId number = submit(2, "gang");
  const Token token = ready(1);
  drain(1, true, 60s);
  pass(50s);
  EXPECT_EQ(state_of(number), "running");
  pass(15s);
  EXPECT_EQ(state_of(number), "stopping");
  finish(1, token, 0, true);
  EXPECT_EQ(state_of(number), "queued");
  EXPECT_EQ(job(number).life.failures.count, 0U);
  EXPECT_NE(job(number).life.reason.find("the drain of host host1"), std::string::npos)
      << job(number).life.reason;
  say(entry::Undrain{host_id(1), "ann@a"});
  EXPECT_EQ(job(number).life.attempts, 2U);
}

TEST_F(Drains, AtOnceIsADeadlineThatHasCome) {
  running_gang();
  drain(2, true);
  EXPECT_EQ(state_of(id), "stopping");
}

TEST_F(Drains, OutliveTheAgentTheLeaderAndASnapshot) {
  join(1);
  drain(1, true, 60s);
  hear(1, hello_of(1, 2), Nonce(9));
  EXPECT_TRUE(host(1).drain.has_value()) << "the agent began anew";
  restart_with_snapshot();
  ASSERT_TRUE(host(1).drain.has_value());
  EXPECT_EQ(host(1).drain->by, "ann@a");
  EXPECT_EQ(state_of(submit(1, "job")), "queued");
}

TEST_F(Drains, SaidAgainTheNewerReasonCounts) {
  join(1);
  drain(1, true, 60s);
  const Duration since = host(1).drain->since;
  submit(9, "so that time goes on");
  pass(5s);
  say(entry::Drain{host_id(1), {"bob@b"}, "fan", false, 0s});
  EXPECT_EQ(host(1).drain->why, "fan");
  EXPECT_EQ(host(1).drain->by, "bob@b");
  EXPECT_FALSE(host(1).drain->requeues);
  EXPECT_EQ(host(1).drain->since, since);
}

TEST_F(Drains, OfWhoIsNotThereAreNotFound) {
  EXPECT_EQ(drain(7).error->code, ErrorCode::kNotFound);
  join(1);
  see(1, Verdict::kLeft);
  EXPECT_EQ(drain(1).error->code, ErrorCode::kNotFound);
  EXPECT_EQ(say(entry::RemoveHost{host_id(7), "ann"}).error->code, ErrorCode::kNotFound);
}

TEST_F(Drains, OnlyAHostThatIsGoneAndHoldsNothingIsRemoved) {
  running_gang();
  EXPECT_EQ(say(entry::RemoveHost{host_id(2), "ann"}).error->code, ErrorCode::kConflict);
  see(2, Verdict::kSilent);
  const ClientReply refused = say(entry::RemoveHost{host_id(2), "ann"});
  ASSERT_TRUE(refused.error.has_value());
  EXPECT_NE(refused.error->text.find("hosts fence host2"), std::string::npos);
  say(entry::Fence{host_id(2), {"ann"}, false, {}});
  EXPECT_TRUE(is_done(say(entry::RemoveHost{host_id(2), "ann"})));
  EXPECT_TRUE(host(2).is_removed);
  EXPECT_EQ(scheduler.capacity().ever_for(Shape()), 4U);
  see(2, Verdict::kAlive);
  EXPECT_FALSE(host(2).is_removed) << "it is back";
}

TEST_F(Drains, ARemovedHostWhoseNameWasTakenIsBackUnderAnotherNameAlone) {
  join(1);
  join(2);
  see(2, Verdict::kSilent);
  EXPECT_TRUE(is_done(say(entry::RemoveHost{host_id(2), "ann"})));
  Hello heir = hello_of(3);
  heir.name = "host2";
  hear(3, heir, Nonce(3));
  see(3, Verdict::kAlive);
  ASSERT_NE(scheduler.state().host(host_id(3)), nullptr);
  see(2, Verdict::kAlive);
  EXPECT_TRUE(host(2).is_removed) << "two hosts of one name";
  EXPECT_FALSE(host(2).takes_work());
  Hello renamed = hello_of(2, 2);
  renamed.name = "host4";
  hear(2, renamed, Nonce(4));
  EXPECT_FALSE(host(2).is_removed);
  EXPECT_EQ(host(2).name, "host4");
}

// ---- a job that no host can hold steps aside ----

TEST_F(Drains, AHeadThatNoLiveHostsCanHoldLetsOthersPass) {
  join(1);
  join(2);
  see(2, Verdict::kSilent);
  const JobId large = submit(8, "large");
  const JobId small = submit(2, "small");
  EXPECT_EQ(state_of(large), "queued");
  EXPECT_EQ(state_of(small), "scheduled");
  const auto told =
      why(scheduler.state(), scheduler.capacity(), scheduler.pending().queue(), large);
  EXPECT_TRUE(told->is_aside);
  EXPECT_NE(told->text().find("it needs 8 GPUs"), std::string::npos) << told->text();
  ready(1);
  see(2, Verdict::kAlive);
  EXPECT_EQ(state_of(submit(2, "late")), "queued") << "the head has its place again";
  finish(1, job(small).life.current, 0);
  EXPECT_EQ(state_of(large), "scheduled");
}

TEST_F(Drains, AHeadThatOnlyWaitsForRunningOnesKeepsItsPlace) {
  join(1);
  join(2);
  const JobId small = submit(2, "small");
  EXPECT_EQ(state_of(small), "scheduled");
  const JobId large = submit(8, "large");
  EXPECT_EQ(state_of(large), "queued");
  EXPECT_EQ(state_of(submit(1, "behind")), "queued");
  EXPECT_FALSE(
      why(scheduler.state(), scheduler.capacity(), scheduler.pending().queue(), large)->is_aside);
  drain(2);
  EXPECT_EQ(state_of(JobId(3)), "scheduled") << "drained hosts do not count";
}

TEST_F(Drains, AHeadThatAllHostsRefusedLetsOthersPassUntilTheyMayBeAskedAgain) {
  join(1);
  const JobId stranger = submit(1, "stranger");
  const Assign first = said<Assign>(1).back();
  hear(1, Refuse{first.token, first.start, "user zoe is unknown on this host"});
  const JobId other = submit(4, "other");
  EXPECT_EQ(state_of(stranger), "queued");
  EXPECT_EQ(state_of(other), "scheduled");
  const auto told =
      why(scheduler.state(), scheduler.capacity(), scheduler.pending().queue(), stranger);
  EXPECT_TRUE(told->is_aside);
  EXPECT_NE(told->text().find("zoe"), std::string::npos) << told->text();
  finish(1, ready(1), 0);
  EXPECT_EQ(job(stranger).life.attempts, 1U);
  pass(61s);
  EXPECT_EQ(job(stranger).life.attempts, 2U);
  EXPECT_EQ(state_of(stranger), "scheduled");
}

// ---- the rest of a day ----

TEST_F(Drains, APriorityIsForJobsThatWait) {
  join(1);
  const JobId running = submit(4, "running");
  const JobId first = submit(4, "first");
  const JobId second = submit(4, "second");
  EXPECT_TRUE(is_done(say(entry::Edit{second, 5, "ann"})));
  EXPECT_EQ(scheduler.pending().queue().begin()->second.begin()->job, second);
  EXPECT_EQ(say(entry::Edit{running, 5, "ann"}).error->code, ErrorCode::kConflict);
  EXPECT_EQ(say(entry::Edit{JobId(99), 5, "ann"}).error->code, ErrorCode::kNotFound);
  finish(1, ready(1), 0);
  EXPECT_EQ(state_of(second), "scheduled");
  EXPECT_EQ(state_of(first), "queued");
  EXPECT_EQ(job(second).spec.priority, 0) << "what was submitted stays what it was";
}

TEST_F(Drains, AWordAboutRanksEndsWhatWasThereAndIsFoundWrong) {
  const Token token = running_gang();
  EXPECT_EQ(say(entry::Fence{host_id(2), {"ann"}, true, {}}).error->code, ErrorCode::kConflict)
      << "its agent answers";
  see(2, Verdict::kSilent);
  EXPECT_EQ(say(entry::Fence{host_id(2), {"ann"}, true, {}}).error->code, ErrorCode::kConflict)
      << "nobody can have looked";
  see(2, Verdict::kRefused);
  EXPECT_EQ(say(entry::Fence{host_id(2), {"ann"}, false, {}}).error->code, ErrorCode::kConflict)
      << "its kernel answers";
  EXPECT_TRUE(is_done(say(entry::Fence{host_id(2), {"ann"}, true, {}})));
  EXPECT_TRUE(scheduler.state().is_over(token, host_id(2)));
  Hello hello = hello_of(2, 2);
  hello.grants = {{token, GrantState::kRunning, {}, {}}};
  events.clear();
  hear(2, hello, Nonce(9));
  const auto told = std::find_if(events.begin(), events.end(),
                                 [](const Event& each) { return each.name == "word_was_wrong"; });
  ASSERT_NE(told, events.end());
  EXPECT_EQ(told->field("token"), token.text());
}

TEST_F(Drains, GpuTimeIsCountedByUserTypeAndDay) {
  join(1);
  const JobId number = submit(2, "job");
  const Token token = ready(1);
  pass(100s);
  finish(1, token, 0);
  const UsageBook::Rows& rows = scheduler.state().usage().rows();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows.begin()->first.gpu_type, "H100");
  EXPECT_EQ(rows.begin()->second, job(number).history.gpu_ms);
  EXPECT_GE(job(number).history.gpu_ms, 198'000U);
  EXPECT_LE(job(number).history.gpu_ms, 202'000U);
  const auto copy = State::decode(scheduler.state().encode());
  ASSERT_TRUE(copy.has_value());
  EXPECT_EQ(copy->usage().rows(), rows);
}

TEST_F(Drains, EntriesNameTheLeadersWallClockAndNothingFollowsFromIt) {
  give(input::WallClockSet{1'700'000'000'000});
  join(1);
  const JobId number = submit(2, "job");
  EXPECT_EQ(job(number).history.submitted_unix_ms, 1'700'000'000'000);
  give(input::WallClockSet{1'600'000'000'000});
  const Token token = ready(1);
  EXPECT_EQ(job(number).history.started_unix_ms, 1'600'000'000'000) << "it was set back";
  pass(2s);
  finish(1, token, 0);
  EXPECT_EQ(job(number).history.ended_unix_ms, 1'600'000'002'000);
}

}  // namespace
}  // namespace muster::scheduler
