// A quorum that lost its majority for good, brought back by hand: what runs goes on and
// is known again, what was placed meanwhile is adopted, who comes back late joins, and no GPU is
// ever bound twice. Submits that the lost voters alone had logged may be gone: nobody checks those
// here.

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "agent/api/jobs.h"
#include "agent/api/payload.h"
#include "agent/api/quorum.h"
#include "agent/api/request.h"
#include "scheduler/raft/codec.h"
#include "tests/sim/checkers.h"
#include "tests/sim/log_checkers.h"
#include "tests/sim/world.h"

namespace muster::sim {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using scheduler::JobState;

/// Grants whose ranks were started, attempts that were adopted, seats that were given up.
class Launches : public Checker {
 public:
  std::string name() const override { return "launches"; }
  void on_event(World&, std::uint32_t /*host*/, const Event& event) override {
    if (event.name == "attempt_adopted") {
      adopted_.insert(event.fields.at(1).second);
    }
    given_up_ += event.name == "seat_given_up" ? 1U : 0U;
  }
  void on_fact(World&, std::uint32_t /*host*/, const FarmFact& fact) override {
    started_ += fact.kind == FarmFact::Kind::kLaunched ? 1U : 0U;
  }
  std::uint64_t started() const { return started_; }
  std::size_t adopted() const { return adopted_.size(); }
  std::uint64_t given_up() const { return given_up_; }

 private:
  std::uint64_t started_ = 0;
  std::set<std::string> adopted_;  ///< Tokens.
  std::uint64_t given_up_ = 0;
};

class RecoveryTest : public testing::Test {
 protected:
  static constexpr std::uint32_t kHosts = 5;

  RecoveryTest() : world_(options()) {
    world_.add_checker(std::make_unique<NoGpuInTwoAttempts>());
    world_.add_checker(std::make_unique<CompletesOnce>());
    world_.add_checker(std::make_unique<GenerationsRise>());
    auto launches = std::make_unique<Launches>();
    launches_ = launches.get();
    world_.add_checker(std::move(launches));
    EXPECT_TRUE(world_.run_until_true([&] { return is_whole(); }, 60s));
    leader_ = leader();
    survivor_ = leader_ == 0 ? 1 : 0;
    other_ = 3 - leader_ - survivor_;
  }
  ~RecoveryTest() override {
    world_.finish();
    for (const Violation& violation : world_.violations()) {
      ADD_FAILURE() << violation.checker << ": " << violation.text;
    }
  }

  static WorldOptions options() {
    WorldOptions options;
    options.hosts = kHosts;
    options.trace = std::getenv("MUSTER_TRACE") != nullptr;
    return options;
  }
  const scheduler::QuorumSeat& seat(std::uint32_t host) const { return world_.node(host).seat(); }
  std::uint32_t leader() const { return world_.leader(); }
  const scheduler::State& state() const { return seat(leader()).state(); }
  bool is_whole() const {
    return leader() < kHosts && state().hosts().size() == kHosts &&
           std::all_of(state().hosts().begin(), state().hosts().end(), [](const auto& item) {
             return !item.second.gpus.empty() && item.second.takes_work();
           });
  }
  std::uint64_t submit(std::uint32_t gpus, Duration run) {
    agent::SubmitArgs arguments;
    arguments.key = "key" + std::to_string(++submits_);
    arguments.spec.request.gpus = gpus;
    arguments.spec.command.argv = {"sim", "run_ms=" + std::to_string(to_ms(run))};
    arguments.spec.limits.hold = 120s;
    agent::Request request;
    request.verb = agent::Verb::kSubmit;
    request.arguments = agent::encode_payload(arguments);
    return world_.ask(leader(), std::move(request));
  }
  void power_off_majority() {
    world_.power_off(leader_);
    world_.power_off(other_);
    world_.run_for(10s);
    ASSERT_EQ(leader(), kHosts);
  }
  agent::Response recovery(const agent::RecoverArgs& arguments) {
    agent::Request request;
    request.verb = agent::Verb::kRecover;
    request.arguments = agent::encode_payload(arguments);
    const std::uint64_t number = world_.ask(survivor_, std::move(request));
    EXPECT_TRUE(world_.run_until_true([&] { return world_.reply_to(number) != nullptr; }, 5s));
    return world_.reply_to(number)->response;
  }
  /// As an operator does it: looks, then says so.
  agent::ResponseStatus recover() {
    const auto seen = agent::decode_payload<agent::RecoveryInfo>(recovery({}).payload);
    return recovery({true, seen->term, seen->last}).status;
  }
  bool leads_again() {
    return world_.run_until_true([&] { return leader() == survivor_; }, 10s);
  }
  std::size_t jobs_in(JobState wanted) const {
    return static_cast<std::size_t>(
        std::count_if(state().jobs().begin(), state().jobs().end(),
                      [&](const auto& item) { return item.second.life.state == wanted; }));
  }
  /// Every voter is up again, in the same epoch as all hosts, under one leader.
  bool is_one_again() const {
    if (!is_whole() || seat(leader()).known_quorum().voters.size() != 3) {
      return false;
    }
    for (std::uint32_t host = 0; host < kHosts; ++host) {
      if (!world_.is_running(host) || seat(host).epoch() != seat(leader()).epoch() ||
          seat(host).known_quorum().leader != world_.id(leader())) {
        return false;
      }
    }
    return true;
  }

  World world_;
  Launches* launches_ = nullptr;
  std::uint32_t leader_ = 0;
  std::uint32_t survivor_ = 0;
  std::uint32_t other_ = 0;
  int submits_ = 0;
};

TEST_F(RecoveryTest, NothingIsRecoveredWhileAMajorityLives) {
  world_.kill_agent(leader_);
  EXPECT_EQ(recover(), agent::ResponseStatus::kConflict);
  ASSERT_TRUE(world_.run_until_true([&] { return leader() < kHosts; }, 10s));
  EXPECT_EQ(state().epoch(), 1U);
}

TEST_F(RecoveryTest, ALogThatMovedOnIsLookedAtAgain) {
  power_off_majority();
  const auto seen = agent::decode_payload<agent::RecoveryInfo>(recovery({}).payload);
  EXPECT_EQ(recovery({true, seen->term, LogIndex(seen->last.value() - 1)}).status,
            agent::ResponseStatus::kConflict);
  EXPECT_EQ(leader(), kHosts);
}

/// Meanwhile its operator may have recovered another one, which it hears within those seconds.
TEST_F(RecoveryTest, AnOrderThatLayInTheSocketOfAFrozenHostIsNotObeyed) {
  power_off_majority();
  const auto seen = agent::decode_payload<agent::RecoveryInfo>(recovery({}).payload);
  world_.freeze(survivor_, 30s);
  agent::Request order;
  order.verb = agent::Verb::kRecover;
  order.arguments = agent::encode_payload(agent::RecoverArgs{true, seen->term, seen->last});
  const std::uint64_t number = world_.ask(survivor_, std::move(order));
  ASSERT_TRUE(world_.run_until_true([&] { return world_.reply_to(number) != nullptr; }, 40s));
  EXPECT_EQ(world_.reply_to(number)->response.status, agent::ResponseStatus::kConflict);
  world_.run_for(6s);
  EXPECT_EQ(leader(), kHosts);
  EXPECT_EQ(recover(), agent::ResponseStatus::kOk);
}

TEST_F(RecoveryTest, WhatRunsGoesOnAndNewWorkIsPlaced) {
  for (int i = 0; i < 5; ++i) {
    submit(8, 100s);
  }
  ASSERT_TRUE(world_.run_until_true([&] { return jobs_in(JobState::kRunning) == 5; }, 20s));
  world_.run_for(1s);
  const std::uint64_t started = launches_->started();
  power_off_majority();
  ASSERT_EQ(recover(), agent::ResponseStatus::kOk);
  ASSERT_TRUE(leads_again());
  EXPECT_EQ(state().epoch(), 2U);
  world_.run_for(15s);
  EXPECT_GE(jobs_in(JobState::kRunning), 3U);
  EXPECT_EQ(launches_->started(), started) << "nothing that ran was touched";
  ASSERT_TRUE(world_.run_until_true([&] { return jobs_in(JobState::kCompleted) >= 3; }, 150s));
  submit(8, 2s);
  ASSERT_TRUE(world_.run_until_true([&] { return jobs_in(JobState::kCompleted) >= 4; }, 60s));
}

/// Two hosts live of three, but only one disk: the other host speaks from a new seat.
TEST_F(RecoveryTest, ALostDiskIsALostVoterThoughItsHostLives) {
  world_.power_off(leader_);
  world_.lose_raft(other_,
                   {{std::string(scheduler::kSeatKey), *scheduler::write_of(SeatId(77)).value}});
  world_.start_agent(other_);
  world_.run_for(20s);
  ASSERT_EQ(leader(), kHosts);
  ASSERT_EQ(recover(), agent::ResponseStatus::kOk);
  ASSERT_TRUE(leads_again());
}

/// Alone, and with entries that only it has.
TEST_F(RecoveryTest, WhoWentOnAloneGoesOnAfterAPowerLossToo) {
  power_off_majority();
  ASSERT_EQ(recover(), agent::ResponseStatus::kOk);
  ASSERT_TRUE(leads_again());
  submit(8, 1s);
  world_.run_for(500ms);
  ASSERT_EQ(state().jobs().size(), 1U);
  world_.power_off(survivor_);
  world_.run_for(1s);
  world_.power_on(survivor_);
  world_.start_agent(survivor_);
  ASSERT_TRUE(leads_again());
  EXPECT_EQ(state().epoch(), 2U);
  EXPECT_EQ(state().jobs().size(), 1U);
}

TEST_F(RecoveryTest, WhoComesBackGivesItsOldLogUpAndVotesAgain) {
  power_off_majority();
  ASSERT_EQ(recover(), agent::ResponseStatus::kOk);
  ASSERT_TRUE(leads_again());
  world_.run_for(60s);
  world_.power_on(leader_);
  world_.power_on(other_);
  world_.start_agent(leader_);
  world_.start_agent(other_);
  ASSERT_TRUE(world_.run_until_true([&] { return is_one_again(); }, 120s));
  EXPECT_EQ(launches_->given_up(), 2U);
  EXPECT_EQ(state().epoch(), 2U);
  world_.kill_agent(leader());
  EXPECT_TRUE(world_.run_until_true([&] { return leader() < kHosts; }, 10s)) << "a real majority";
}

/// Rows and id/ of before are all that it has.
TEST_F(RecoveryTest, AHostThatRestartsKnowsWhoLeadsInTheNewEpoch) {
  power_off_majority();
  ASSERT_EQ(recover(), agent::ResponseStatus::kOk);
  ASSERT_TRUE(leads_again());
  constexpr std::uint32_t kWithoutLog = 4;
  world_.run_for(300ms);
  world_.kill_agent(kWithoutLog);
  world_.run_for(500ms);
  world_.start_agent(kWithoutLog);
  world_.run_for(300ms);
  ASSERT_FALSE(seat(kWithoutLog).has_seat());
  EXPECT_EQ(seat(kWithoutLog).epoch().counter, 2U);
  EXPECT_EQ(seat(kWithoutLog).known_leader(), world_.id(survivor_));
}

/// Jobs that the survivor's log never had: logged and started by the two voters that are then lost.
TEST_F(RecoveryTest, WhatTheLostVotersStartedIsAdopted) {
  for (const std::uint32_t voter : {leader_, other_}) {
    world_.network().cut(voter, survivor_);
    world_.network().cut(survivor_, voter);
  }
  world_.run_for(3s);
  for (int i = 0; i < 4; ++i) {
    submit(8, 60s);
  }
  ASSERT_TRUE(world_.run_until_true([&] { return jobs_in(JobState::kRunning) == 4; }, 20s));
  world_.run_for(1s);
  const std::uint64_t started = launches_->started();
  ASSERT_EQ(seat(survivor_).state().jobs().size(), 0U);
  power_off_majority();
  world_.network().heal_all();
  ASSERT_EQ(recover(), agent::ResponseStatus::kOk);
  ASSERT_TRUE(leads_again());
  submit(8, 1s);
  world_.run_for(15s);
  EXPECT_EQ(launches_->adopted(), 2U) << "the two on hosts that do not vote";
  EXPECT_GE(jobs_in(JobState::kRunning), 2U);
  EXPECT_LE(launches_->started(), started + 1);
  ASSERT_TRUE(world_.run_until_true([&] { return jobs_in(JobState::kCompleted) == 3; }, 90s));
}

/// Two operators, on either side of a cut. The alarm says what to do, and it may be done though
/// both quorums have leaders.
TEST_F(RecoveryTest, OfTwoRecoveriesUnderOneCounterAThirdMakesOneQuorum) {
  world_.power_off(leader_);
  world_.network().cut(other_, survivor_);
  world_.network().cut(survivor_, other_);
  for (std::uint32_t host = 3; host < kHosts; ++host) {
    world_.network().cut(other_, host);
    world_.network().cut(host, other_);
  }
  world_.run_for(10s);
  ASSERT_EQ(recover(), agent::ResponseStatus::kOk);
  std::swap(survivor_, other_);
  ASSERT_EQ(recover(), agent::ResponseStatus::kOk);
  std::swap(survivor_, other_);
  world_.run_for(10s);
  EXPECT_EQ(recover(), agent::ResponseStatus::kConflict) << "nobody knows yet";
  world_.network().heal_all();
  world_.run_for(30s);
  ASSERT_NE(seat(survivor_).epoch(), seat(other_).epoch());
  ASSERT_EQ(seat(survivor_).epoch().counter, 2U);
  ASSERT_EQ(seat(other_).epoch().counter, 2U);
  EXPECT_EQ(recover(), agent::ResponseStatus::kOk);
  world_.power_on(leader_);
  world_.start_agent(leader_);
  ASSERT_TRUE(world_.run_until_true([&] { return is_one_again(); }, 150s));
  EXPECT_EQ(state().epoch(), 3U);
  EXPECT_EQ(recover(), agent::ResponseStatus::kConflict) << "there is nothing to end any more";
}

/// The others were only out of sight: an operator's mistake. All follow the new epoch in the end.
TEST_F(RecoveryTest, ALivingQuorumYieldsToTheOneThatWasWronglyRecovered) {
  for (const std::uint32_t voter : {leader_, other_}) {
    world_.network().cut(voter, survivor_);
    world_.network().cut(survivor_, voter);
  }
  world_.run_for(10s);
  for (int i = 0; i < 4; ++i) {
    submit(8, 60s);
  }
  world_.run_for(5s);
  ASSERT_EQ(recover(), agent::ResponseStatus::kOk);
  world_.run_for(20s);
  world_.network().heal_all();
  ASSERT_TRUE(world_.run_until_true([&] { return is_one_again(); }, 150s));
  EXPECT_EQ(state().epoch(), 2U);
  ASSERT_TRUE(world_.run_until_true([&] { return jobs_in(JobState::kCompleted) == 4; }, 150s));
}

}  // namespace
}  // namespace muster::sim
