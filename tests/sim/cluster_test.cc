// Whole clusters in virtual time, a sentence a test, and a slice of the swarm: fixed seeds, and a
// block of seeds drawn from the commit, so that every commit looks at schedules nobody saw before.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "agent/api/events.h"
#include "agent/api/hosts.h"
#include "agent/api/payload.h"
#include "agent/api/quorum.h"
#include "agent/api/request.h"
#include "crdt/rows/roll.h"
#include "tests/sim/checkers.h"
#include "tests/sim/herd.h"
#include "tests/sim/swarm.h"

namespace muster::sim {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using scheduler::JobState;

class ClusterTest : public testing::Test {
 protected:
  void boot(WorldOptions options) {
    options.trace = std::getenv("MUSTER_TRACE") != nullptr;
    world_ = std::make_unique<World>(options);
    submits_ = add_checkers(*world_).submits;
  }
  void boot_and_settle(WorldOptions options = {}) {
    boot(options);
    ASSERT_TRUE(world_->run_until_true([&] { return is_settled(); }, 60s));
  }
  ~ClusterTest() override {
    if (world_ == nullptr) {
      return;
    }
    world_->run_for(20s);  // A host that was away catches up.
    world_->finish();
    for (const Violation& violation : world_->violations()) {
      ADD_FAILURE() << violation.checker << ": " << violation.text;
    }
  }

  std::uint32_t leader() const { return world_->leader(); }
  bool has_leader() const { return leader() < world_->size(); }
  const scheduler::QuorumSeat& seat(std::uint32_t host) const { return world_->node(host).seat(); }
  const scheduler::State& state() const { return seat(leader()).state(); }
  /// A host leads, all are registered with their GPUs, and each sees all of them alive.
  bool is_settled() const {
    if (!has_leader() || state().hosts().size() != world_->size()) {
      return false;
    }
    for (const auto& [id, host] : state().hosts()) {
      if (host.gpus.empty()) {
        return false;
      }
    }
    for (std::uint32_t host = 0; host < world_->size(); ++host) {
      if (!world_->is_running(host) || !sees_all_alive(host)) {
        return false;
      }
    }
    return true;
  }
  bool sees_all_alive(std::uint32_t host) const {
    const auto& members = world_->node(host).membership().members();
    std::size_t alive = 0;
    for (const auto& [id, member] : members) {
      alive += member.state == membership::MemberState::kAlive ? 1U : 0U;
    }
    return alive == world_->size();
  }
  crdt::QuorumView state_of_leader() const { return seat(leader()).known_quorum(); }
  /// The status that an operator at the last host gets.
  agent::ResponseStatus asked(agent::QuorumAction action, HostId host) {
    agent::Request request;
    request.verb = agent::Verb::kChangeQuorum;
    request.arguments = agent::encode_payload(agent::QuorumWish{action, host});
    const std::uint64_t client = world_->ask(world_->size() - 1, std::move(request));
    world_->run_until_true([&] { return world_->reply_to(client) != nullptr; }, 10s);
    const ClientReply* reply = world_->reply_to(client);
    return reply == nullptr ? agent::ResponseStatus::kUnknown : reply->response.status;
  }
  bool votes(std::uint32_t host) const {
    const std::vector<HostId> voters = state_of_leader().voters;
    return std::find(voters.begin(), voters.end(), world_->id(host)) != voters.end();
  }
  void submit(std::uint32_t host, std::uint32_t gpus, Duration run,
              std::vector<std::string> not_hosts = {}) {
    scheduler::JobSpec spec;
    spec.name = "test";
    spec.request.gpus = gpus;
    spec.request.not_hosts = std::move(not_hosts);
    spec.command.argv = {"sim", "run_ms=" + std::to_string(to_ms(run))};
    spec.limits.hold = 30s;
    spec.limits.grace = 2s;
    submits_->submit(*world_, host, spec);
  }
  bool drains(Duration limit) {
    return world_->run_until_true([&] { return submits_->drained(*world_); }, limit);
  }
  const scheduler::Job* job(std::uint64_t id) const { return state().job(JobId(id)); }
  std::uint32_t running_hosts() const {
    std::uint32_t hosts = 0;
    for (std::uint32_t host = 0; host < world_->size(); ++host) {
      hosts += world_->farm(host).is_idle() ? 0U : 1U;
    }
    return hosts;
  }

  /// Some voter that has ranks and does not lead.
  std::uint32_t busy_host() const {
    std::uint32_t host = 0;
    while (host + 1 < world_->size() &&
           (world_->farm(host).is_idle() || !votes(host) || seat(host).leads())) {
      ++host;
    }
    return host;
  }
  void rotate(const agent::RotateArgs& args) {
    agent::Request request;
    request.verb = agent::Verb::kRotateKeys;
    request.arguments = agent::encode_payload(args);
    EXPECT_EQ(answer_of(leader(), request).status, agent::ResponseStatus::kOk);
  }
  std::uint64_t serial(std::uint32_t host) const {
    return world_->is_running(host) ? world_->node(host).roll().link(world_->id(host)).serial : 0;
  }
  std::uint32_t changed_keys() const {
    std::uint32_t hosts = 0;
    for (std::uint32_t host = 0; host < world_->size(); ++host) {
      hosts += serial(host) > 0 ? 1U : 0U;
    }
    return hosts;
  }
  /// Hosts at which records of earlier authorities count no more, and all others are members.
  std::uint32_t signed_by(std::uint64_t authority) const {
    std::uint32_t hosts = 0;
    for (std::uint32_t host = 0; host < world_->size(); ++host) {
      const bool is_known =
          world_->is_running(host) && world_->node(host).roll().counts_from() == authority;
      bool knows_all = true;
      for (std::uint32_t other = 0; is_known && other < world_->size(); ++other) {
        knows_all = knows_all && world_->node(host).roll().is_member(world_->id(other));
      }
      hosts += is_known && knows_all ? 1U : 0U;
    }
    return hosts;
  }
  bool is_revoked_at_all_but(std::uint32_t out) const {
    for (std::uint32_t host = 0; host < world_->size(); ++host) {
      const crdt::Field* field =
          world_->node(host).store().field(world_->id(out), crdt::FieldId::kRoll);
      const auto record = field == nullptr ? std::nullopt : crdt::decode_roll(field->bytes);
      if (host != out && !(record.has_value() && record->revoked)) {
        return false;
      }
    }
    return true;
  }

  /// Through any node, of the target.
  agent::Response answer_of(std::uint32_t host, agent::Request request) {
    const std::uint64_t client = world_->ask(host, std::move(request));
    world_->run_until_true([&] { return world_->reply_to(client) != nullptr; }, 10s);
    const ClientReply* reply = world_->reply_to(client);
    return reply == nullptr ? agent::Response() : reply->response;
  }
  std::vector<agent::EventInfo> events_of(std::uint32_t asked, std::uint32_t target) {
    agent::Request request;
    request.verb = agent::Verb::kEvents;
    request.target = world_->id(target);
    const auto page = agent::decode_payload<agent::EventsPage>(answer_of(asked, request).payload);
    return page.has_value() ? page->events : std::vector<agent::EventInfo>();
  }

  std::unique_ptr<World> world_;
  SubmitsKept* submits_ = nullptr;
};

TEST_F(ClusterTest, HostsThatAllComeBackUnderOthersAddressesFindEachOther) {
  for (const std::uint32_t by : {1U, 3U}) {
    boot_and_settle();
    submit(1, 8, 2s);
    ASSERT_TRUE(drains(30s));
    world_->move_addresses(by);
    EXPECT_TRUE(world_->run_until_true([&] { return is_settled(); }, 60s)) << by;
    submit(2, 8, 2s);
    EXPECT_TRUE(drains(60s));
  }
}

TEST_F(ClusterTest, KeysAreRotatedUnderRunningJobs) {
  boot_and_settle();
  for (std::size_t jobs = 0; jobs < world_->size(); ++jobs) {
    submit(leader(), 8, 60s);
  }
  ASSERT_TRUE(world_->run_until_true([&] { return running_hosts() == world_->size(); }, 20s));
  rotate({});
  ASSERT_TRUE(world_->run_until_true([&] { return changed_keys() == world_->size(); }, 60s));
  const std::uint32_t one = (leader() + 1) % world_->size();
  rotate({world_->id(one), false});
  EXPECT_TRUE(world_->run_until_true([&] { return serial(one) == 2; }, 20s));
  rotate({{}, true});
  EXPECT_TRUE(world_->run_until_true([&] { return signed_by(2) == world_->size(); }, 60s));
  rotate({{}, true});
  EXPECT_TRUE(world_->run_until_true([&] { return signed_by(3) == world_->size(); }, 60s));
  EXPECT_TRUE(drains(120s));
  EXPECT_EQ(job(1)->life.attempts, 1U) << "no rank was touched";
}

TEST_F(ClusterTest, WhoIsOffWhileKeysAreRotatedComesBack) {
  boot_and_settle();
  const std::uint32_t away = (leader() + 1) % world_->size();
  world_->power_off(away);
  world_->run_for(20s);
  rotate({});
  ASSERT_TRUE(world_->run_until_true([&] { return changed_keys() == world_->size() - 1; }, 60s));
  rotate({{}, true});
  ASSERT_TRUE(world_->run_until_true([&] { return signed_by(2) == world_->size() - 1; }, 60s));
  world_->power_on(away);
  EXPECT_TRUE(world_->run_until_true([&] { return changed_keys() == world_->size(); }, 60s));
  EXPECT_TRUE(world_->run_until_true([&] { return signed_by(2) == world_->size(); }, 60s));
}

TEST_F(ClusterTest, WhoIsRevokedIsOutAndItsJobsRunElsewhere) {
  boot_and_settle();
  for (std::size_t jobs = 0; jobs < world_->size() - 1; ++jobs) {
    submit(leader(), 8, 40s);
  }
  ASSERT_TRUE(world_->run_until_true([&] { return running_hosts() == world_->size() - 1; }, 20s));
  const std::uint32_t out = busy_host();
  const bool had_a_vote = votes(out);

  agent::Request request;
  request.verb = agent::Verb::kRevokeHost;
  request.arguments = agent::encode_payload(agent::HostRef{world_->id(out)});
  ASSERT_EQ(answer_of(leader(), request).status, agent::ResponseStatus::kOk);
  const Instant said = world_->now();
  ASSERT_TRUE(world_->run_until_true([&] { return is_revoked_at_all_but(out); }, 10s));
  EXPECT_LE(world_->now() - said, 2s);

  EXPECT_TRUE(drains(300s)) << "its job runs elsewhere, once its ranks must have ended";
  EXPECT_EQ(state().hosts().at(world_->id(out)).verdict, scheduler::Verdict::kSilent);
  EXPECT_TRUE(had_a_vote);
  EXPECT_FALSE(votes(out));
  EXPECT_TRUE(world_->farm(out).is_idle()) << "nobody renewed its grants";
}

TEST_F(ClusterTest, FiveAgentsAgreeAndElect) {
  boot_and_settle();
  std::size_t leaders = 0;
  for (std::uint32_t host = 0; host < world_->size(); ++host) {
    leaders += seat(host).leads() ? 1U : 0U;
    EXPECT_EQ(world_->node(host).cluster(), world_->node(0).cluster());
    EXPECT_EQ(seat(host).known_quorum().leader, world_->id(leader()));
    EXPECT_EQ(seat(host).known_quorum().voters.size(), 3U);
  }
  EXPECT_EQ(leaders, 1U);
  EXPECT_FALSE(world_->node(0).cluster().is_zero());
}

TEST_F(ClusterTest, OneAgentAloneIsACluster) {
  WorldOptions options;
  options.hosts = 1;
  options.bootstrap_expect = 1;
  boot_and_settle(options);
  submit(0, 4, 1s);
  EXPECT_TRUE(drains(30s));
}

/// A host that starts while the first quorum forms refuses rows of a cluster that it is not in yet;
/// no host says them again.
TEST_F(ClusterTest, WhoStartsAsTheFirstQuorumFormsKnowsAllAtOnce) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    WorldOptions options;
    options.seed = seed;
    options.hosts = 12;
    boot(options);
    const auto all_know_all = [&] {
      for (std::uint32_t host = 0; host < world_->size(); ++host) {
        if (!world_->is_running(host) || !sees_all_alive(host)) {
          return false;
        }
      }
      return true;
    };
    EXPECT_TRUE(world_->run_until_true(all_know_all, 3s)) << "seed " << seed;
  }
}

TEST_F(ClusterTest, AVoterThatStaysAwayIsReplacedAndJobsGoOn) {
  boot_and_settle();
  const std::uint32_t lost = leader() == 0 ? 1 : 0;
  const HostId gone = world_->id(lost);
  world_->power_off(lost);
  const auto is_replaced = [&] {
    if (!has_leader()) {
      return false;
    }
    const std::vector<HostId> voters = seat(leader()).known_quorum().voters;
    return voters.size() == 3 && std::find(voters.begin(), voters.end(), gone) == voters.end();
  };
  world_->run_for(240s);
  EXPECT_FALSE(is_replaced()) << "it may be back soon";
  ASSERT_TRUE(world_->run_until_true(is_replaced, 120s));
  // The new voter counts: with one more of the founders gone there is still a majority.
  const std::uint32_t second = leader();
  world_->kill_agent(second);
  ASSERT_TRUE(world_->run_until_true([&] { return has_leader() && leader() != second; }, 10s));
  submit(3, 8, 1s);
  EXPECT_TRUE(drains(60s));
  world_->start_agent(second);
  world_->power_on(lost);
  world_->start_agent(lost);
}

TEST_F(ClusterTest, ALeaderThatIsStoppedHandsOver) {
  boot_and_settle();
  const std::uint32_t old = leader();
  world_->ask_to_stop(old);
  ASSERT_TRUE(world_->run_until_true([&] { return has_leader() && leader() != old; }, 60ms));
  EXPECT_TRUE(world_->run_until_true([&] { return !world_->is_running(old); }, 1s));
  submit(4, 8, 1s);
  EXPECT_TRUE(drains(60s));
  world_->start_agent(old);
}

TEST_F(ClusterTest, AHostWithoutAVoteIsStoppedAtOnce) {
  boot_and_settle();
  world_->ask_to_stop(4);
  EXPECT_TRUE(world_->run_until_true([&] { return !world_->is_running(4); }, 1ms));
  world_->start_agent(4);
}

TEST_F(ClusterTest, OperatorsAddRemoveAndTransfer) {
  boot_and_settle();
  ASSERT_EQ(asked(agent::QuorumAction::kAdd, world_->id(3)), agent::ResponseStatus::kOk);
  ASSERT_TRUE(world_->run_until_true([&] { return has_leader() && votes(3); }, 10s));
  EXPECT_EQ(asked(agent::QuorumAction::kAdd, world_->id(3)), agent::ResponseStatus::kOk) << "again";
  ASSERT_EQ(asked(agent::QuorumAction::kTransfer, world_->id(3)), agent::ResponseStatus::kOk);
  ASSERT_TRUE(world_->run_until_true([&] { return has_leader() && leader() == 3; }, 5s));
  EXPECT_EQ(asked(agent::QuorumAction::kTransfer, world_->id(4)), agent::ResponseStatus::kConflict);
  ASSERT_EQ(asked(agent::QuorumAction::kRemove, world_->id(0)), agent::ResponseStatus::kOk);
  EXPECT_FALSE(votes(0));
  world_->run_for(30s);
  EXPECT_FALSE(votes(0)) << "nobody takes it back";
  EXPECT_EQ(state_of_leader().voters.size(), 3U);
  submit(4, 8, 1s);
  EXPECT_TRUE(drains(60s));
}

TEST_F(ClusterTest, ARemovalRightAfterAnAdditionLeavesAsManyVoters) {
  boot_and_settle();
  ASSERT_EQ(asked(agent::QuorumAction::kAdd, world_->id(3)), agent::ResponseStatus::kOk);
  ASSERT_FALSE(votes(3)) << "it still catches up, or this tests nothing";
  ASSERT_EQ(asked(agent::QuorumAction::kRemove, world_->id(0)), agent::ResponseStatus::kOk);
  world_->run_for(30s);
  ASSERT_TRUE(has_leader());
  EXPECT_EQ(state_of_leader().voters.size(), 3U);
  EXPECT_TRUE(votes(3));
  EXPECT_FALSE(votes(0));
}

TEST_F(ClusterTest, AVoterThatLeavesIsReplacedSoon) {
  boot_and_settle();
  const std::uint32_t gone = leader();
  agent::Request request;
  request.verb = agent::Verb::kLeave;
  world_->ask(gone, std::move(request));
  const auto is_replaced = [&] {
    const bool another = has_leader() && leader() != gone;
    const std::vector<HostId> voters = another ? state_of_leader().voters : std::vector<HostId>();
    return voters.size() == 3 &&
           std::find(voters.begin(), voters.end(), world_->id(gone)) == voters.end();
  };
  EXPECT_TRUE(world_->run_until_true(is_replaced, 20s));
  submit(4, 8, 1s);
  EXPECT_TRUE(drains(60s));
  world_->start_agent(gone);
}

TEST_F(ClusterTest, WithTheLeaderKilledAnotherLeadsAndJobsGoOn) {
  boot_and_settle();
  const std::uint32_t old = leader();
  // A job that has ranks there would begin again elsewhere once its agent has been down for long.
  submit(3, 16, 20s, {world_->id(old).hex()});
  ASSERT_TRUE(world_->run_until_true([&] { return running_hosts() == 2; }, 10s));
  world_->kill_agent(old);
  ASSERT_TRUE(world_->run_until_true([&] { return has_leader(); }, 5s));
  EXPECT_NE(leader(), old);
  submit(4, 8, 2s);
  ASSERT_TRUE(drains(60s));
  EXPECT_EQ(job(1)->life.attempts, 1U);
  EXPECT_EQ(job(1)->life.state, JobState::kCompleted);
  world_->start_agent(old);
  EXPECT_TRUE(world_->run_until_true([&] { return is_settled(); }, 30s));
}

TEST_F(ClusterTest, AGangRunsWholeOrNotAtAll) {
  boot_and_settle();
  submit(0, 24, 10s);
  ASSERT_TRUE(world_->run_until_true([&] { return running_hosts() == 3; }, 10s));
  submit(1, 40, 1s);
  world_->run_for(5s);
  EXPECT_EQ(running_hosts(), 3U) << "two hosts are free, and the gang of five takes neither";
  EXPECT_TRUE(drains(60s));
}

TEST_F(ClusterTest, AGangMovesOnWhenAHostIsLost) {
  boot_and_settle();
  submit(0, 16, 20s);
  ASSERT_TRUE(world_->run_until_true([&] { return running_hosts() == 2; }, 10s));
  std::uint32_t member = 0;
  while (member == leader() || world_->farm(member).is_idle()) {
    ++member;
  }
  world_->power_off(member);
  ASSERT_TRUE(drains(120s));
  EXPECT_EQ(job(1)->life.state, JobState::kCompleted);
  EXPECT_EQ(job(1)->life.attempts, 2U);
  world_->power_on(member);
  EXPECT_TRUE(world_->run_until_true([&] { return is_settled(); }, 30s));
}

TEST_F(ClusterTest, AllAgentsKilledAtOnceLoseNothing) {
  boot_and_settle();
  submit(0, 16, 30s);
  ASSERT_TRUE(world_->run_until_true([&] { return running_hosts() == 2; }, 10s));
  for (std::uint32_t host = 0; host < world_->size(); ++host) {
    world_->kill_agent(host);
  }
  world_->run_for(3s);
  for (std::uint32_t host = 0; host < world_->size(); ++host) {
    world_->start_agent(host);
  }
  ASSERT_TRUE(drains(120s));
  EXPECT_EQ(job(1)->life.state, JobState::kCompleted);
  EXPECT_EQ(job(1)->life.attempts, 1U);
}

TEST_F(ClusterTest, AllHostsOffAtOnceKeepWhatWasAcknowledged) {
  boot_and_settle();
  submit(0, 8, 2s);
  ASSERT_TRUE(world_->run_until_true([&] { return submits_->acknowledged() == 1; }, 10s));
  for (std::uint32_t host = 0; host < world_->size(); ++host) {
    world_->power_off(host);
  }
  world_->run_for(3s);
  for (std::uint32_t host = 0; host < world_->size(); ++host) {
    world_->power_on(host);
  }
  EXPECT_TRUE(drains(180s));
  EXPECT_TRUE(world_->run_until_true([&] { return is_settled(); }, 60s));
}

/// One swarm run, with the line that replays it when something broke.
void expect_good_swarm(const SwarmOptions& options) {
  const SwarmResult result = run_swarm(options);
  EXPECT_GT(result.jobs, 0U);
  for (const Violation& violation : result.violations) {
    ADD_FAILURE() << violation.checker << ": " << violation.text
                  << "\nreplay: muster_sim swarm --hosts " << options.hosts << " --seconds "
                  << options.length / 1s << " --seed " << options.seed << " --once --trace";
  }
}

SwarmOptions small_swarm(std::uint64_t seed) {
  SwarmOptions options;
  options.hosts = 5;
  options.seed = seed;
  options.length = 240s;
  options.quiet = options.length * 2 / 5;
  return options;
}

constexpr std::uint64_t kFixedSeeds = 4;
constexpr std::uint64_t kSeedsOfTheCommit = 4;

/// The commit at hand: MUSTER_COMMIT, else what was checked out when the build was configured.
std::uint64_t first_seed_of_the_commit() {
  const char* commit = std::getenv("MUSTER_COMMIT");
  const std::string text = commit != nullptr ? commit : MUSTER_CONFIGURED_COMMIT;
  return 1'000 + std::strtoull(text.substr(0, 8).c_str(), nullptr, 16);
}

std::size_t count_named(const std::vector<agent::EventInfo>& events, const std::string& name) {
  return static_cast<std::size_t>(std::count_if(
      events.begin(), events.end(), [&](const auto& event) { return event.name == name; }));
}

TEST_F(ClusterTest, EventsOfAHostAreToldByAnyAndSurviveItsAgent) {
  boot_and_settle();
  submit(0, 2, 1s);
  ASSERT_TRUE(drains(30s));
  const std::vector<agent::EventInfo> before = events_of(4, 0);
  ASSERT_FALSE(before.empty());
  EXPECT_EQ(count_named(before, "agent_started"), 1U);
  EXPECT_EQ(count_named(before, "job_ended"), 1U);
  EXPECT_TRUE(std::any_of(before.begin(), before.end(), [](const auto& event) {
    return event.text.starts_with("member_joined host=h1 ");
  }));

  world_->run_for(6s);  // Here a process also loses the writes that are not synced by then.
  world_->kill_agent(0);
  world_->start_agent(0);
  world_->run_for(10s);
  const std::vector<agent::EventInfo> after = events_of(4, 0);
  ASSERT_FALSE(after.empty());
  EXPECT_EQ(count_named(after, "agent_started"), 2U);
  EXPECT_EQ(count_named(after, "job_ended"), 1U) << "what its log did is told twice";
  EXPECT_EQ(after.front().unix_ms, before.front().unix_ms);
}

TEST_F(ClusterTest, ClocksOnTheWallDecideNothing) {
  const auto play = [this](bool jumps) {
    WorldOptions options;
    options.seed = 7;
    boot(options);
    Rng clocks(11);
    for (int i = 0; i < 30; ++i) {
      world_->run_for(1s);
      if (jumps) {
        const Duration by = std::chrono::hours(clocks.below(2000)) - std::chrono::hours(1000);
        world_->jump_wall_clock(static_cast<std::uint32_t>(clocks.below(5)), by);
      }
      if (i % 5 == 4) {
        submit(static_cast<std::uint32_t>(i) % 5, 2, 2s);
      }
      if (i == 17) {
        world_->kill_agent(leader());
      }
    }
    const std::uint64_t hash = world_->hash();
    return std::pair(hash, events_of(3, 3).back().unix_ms);
  };
  const auto [steady_hash, steady_clock] = play(false);
  const auto [hash, clock] = play(true);
  EXPECT_EQ(hash, steady_hash);
  EXPECT_NE(clock, steady_clock);
}

TEST(Herd, HostsJoinAClusterWhoseKeysWereChangedTwice) {
  HerdOptions options;
  options.newcomers = 3;
  options.key_rounds = 2;
  const HerdResult result = run_herd(options);
  EXPECT_TRUE(result.is_whole);
  for (const Violation& violation : result.violations) {
    ADD_FAILURE() << violation.checker << ": " << violation.text;
  }
}

TEST(Swarm, FixedSeedsBreakNothing) {
  for (std::uint64_t seed = 1; seed <= kFixedSeeds; ++seed) {
    expect_good_swarm(small_swarm(seed));
  }
}

TEST(Swarm, SeedsOfThisCommitBreakNothing) {
  const std::uint64_t first = first_seed_of_the_commit();
  RecordProperty("first_seed", std::to_string(first));
  for (std::uint64_t seed = first; seed < first + kSeedsOfTheCommit; ++seed) {
    expect_good_swarm(small_swarm(seed));
  }
}

TEST(Swarm, TheSameSeedGivesTheSameRun) {
  const SwarmResult one = run_swarm(small_swarm(7));
  const SwarmResult two = run_swarm(small_swarm(7));
  EXPECT_EQ(one.hash, two.hash);
  EXPECT_EQ(one.steps, two.steps);
  EXPECT_EQ(one.network.bytes, two.network.bytes);
  EXPECT_NE(one.hash, run_swarm(small_swarm(8)).hash);
}

TEST(Swarm, AHundredHostsBreakNothing) {
  SwarmOptions options;
  options.hosts = 100;
  options.seed = 1;
  options.length = 100s;
  options.quiet = options.length * 2 / 5;
  options.invariant_stride = 64;
  expect_good_swarm(options);
}

}  // namespace
}  // namespace muster::sim
