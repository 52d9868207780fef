// Goal: a voter whose state is not what most voters hold is noticed, serves nothing from then on,
// and comes back as another voter by itself, while jobs go on. Method: clusters of five, three of
// them voters; on one voter's disk a byte of an entry is changed between two lives of its agent, as
// a fault of its memory or its program would have changed what it applied.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "tests/sim/checkers.h"
#include "tests/sim/wrong_entry.h"

namespace muster::sim {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.

/// Counts each event of each host.
class Ear : public Checker {
 public:
  std::string name() const override { return "ear"; }
  void on_event(World&, std::uint32_t host, const Event& event) override {
    ++heard_[{host, std::string(event.name)}];
    if (event.name == "state_diverged") {
      role_ = event.field("role");
    }
  }
  int count(std::uint32_t host, const std::string& word) { return heard_[{host, word}]; }
  const std::string& role_of_diverged() const { return role_; }

 private:
  std::map<std::pair<std::uint32_t, std::string>, int> heard_;
  std::string role_;
};

class Divergence : public testing::TestWithParam<std::uint64_t> {
 protected:
  Divergence() {
    WorldOptions options;
    options.seed = GetParam();
    options.trace = std::getenv("MUSTER_TRACE") != nullptr;
    world_ = std::make_unique<World>(options);
    auto ear = std::make_unique<Ear>();
    auto submits = std::make_unique<SubmitsKept>();
    ear_ = ear.get();
    submits_ = submits.get();
    world_->add_checker(std::move(ear));
    world_->add_checker(std::move(submits));
    world_->add_checker(std::make_unique<OneLeaderATerm>());
    world_->add_checker(std::make_unique<CommitOnDurableMajority>());
    world_->add_checker(std::make_unique<NoGpuInTwoAttempts>());
    world_->add_checker(std::make_unique<TokenMonotonic>());
    world_->add_checker(std::make_unique<CompletesOnce>());
  }
  ~Divergence() override {
    world_->finish();
    for (const Violation& violation : world_->violations()) {
      ADD_FAILURE() << violation.checker << ": " << violation.text;
    }
  }

  const scheduler::QuorumSeat& seat(std::uint32_t host) const { return world_->node(host).seat(); }
  std::uint32_t leader() const { return world_->leader(); }
  bool until(const std::function<bool()>& condition) {
    return world_->run_until_true(condition, 90s);
  }
  /// All hosts are registered, and enough entries applied that a point has passed.
  void settle() {
    ASSERT_TRUE(until([&] {
      return leader() < world_->size() && seat(leader()).state().hosts().size() == world_->size();
    }));
    submit(4);
    ASSERT_TRUE(until([&] { return submits_->drained(*world_); }));
  }
  void submit(std::uint32_t gpus) {
    scheduler::JobSpec spec;
    spec.request.gpus = gpus;
    spec.command.argv = {"sim", "run_ms=2000"};
    spec.limits.hold = 30s;
    spec.limits.grace = 2s;
    submits_->submit(*world_, leader(), spec);
  }
  /// A voter that does not lead, counted from 0.
  std::uint32_t follower(std::uint32_t number) const {
    std::uint32_t host = 0;
    while (host == leader() || number-- > 0) {
      ++host;
    }
    return host;
  }
  /// It knows the last job by another command.
  void plant(std::uint32_t host) {
    const auto records = with_wrong_entry(world_->disk(host), "run_ms");
    ASSERT_TRUE(records.has_value());
    world_->lose_raft(host, *records);
  }
  bool knows_state(std::uint32_t host) const {
    return world_->is_running(host) && seat(host).knows_state();
  }
  /// Three vote, the host not from the seat that it had, and all hold one state.
  bool is_mended(std::uint32_t host) const {
    const std::uint32_t first = leader();
    if (first == world_->size() || seat(first).raft()->configuration().voters.size() != 3) {
      return false;
    }
    const auto holds_the_same = [&](const scheduler::Seat& voter) {
      const std::uint32_t other = world_->find(voter.host).value();
      return knows_state(other) && seat(other).state().digest() == seat(first).state().digest();
    };
    const scheduler::Configuration& now = seat(first).raft()->configuration();
    return !now.has_voter({world_->id(host), SeatId()}) &&
           std::all_of(now.voters.begin(), now.voters.end(), holds_the_same);
  }

  std::unique_ptr<World> world_;
  Ear* ear_ = nullptr;
  SubmitsKept* submits_ = nullptr;
};

TEST_P(Divergence, OfAFollowerIsNoticedAndMended) {
  settle();
  const std::uint32_t wrong = follower(0);
  plant(wrong);
  world_->start_agent(wrong);
  ASSERT_TRUE(until([&] { return ear_->count(wrong, "state_diverged") > 0; }));
  EXPECT_FALSE(knows_state(wrong));
  submit(8);
  EXPECT_TRUE(until([&] { return is_mended(wrong); }));
  EXPECT_TRUE(until([&] { return submits_->drained(*world_); }));
  EXPECT_EQ(ear_->count(wrong, "state_diverged"), 1);
  for (std::uint32_t host = 0; host < world_->size(); ++host) {
    EXPECT_EQ(ear_->count(host, "state_diverged"), host == wrong ? 1 : 0);
  }
}

/// With one voter off the other two cannot do without each other. Then the one that is right ends:
/// the wrong one alone has the whole log, and leads. Both are back: it is against a majority.
TEST_P(Divergence, OfALeaderEndsItsLeadership) {
  settle();
  const std::uint32_t right = leader();
  const std::uint32_t wrong = follower(0);
  const std::uint32_t away = follower(1);
  world_->kill_agent(away);
  plant(wrong);
  world_->start_agent(wrong);
  submit(4);
  ASSERT_TRUE(until([&] { return submits_->drained(*world_); }));
  EXPECT_EQ(leader(), right) << "it goes on while the other compares its disk";
  EXPECT_GT(ear_->count(right, "member_differs"), 0);
  EXPECT_EQ(ear_->count(wrong, "state_diverged"), 0) << "it is needed for a majority";
  world_->kill_agent(right);
  world_->start_agent(away);
  ASSERT_TRUE(until([&] { return leader() == wrong; }));
  world_->run_for(5s);
  ASSERT_EQ(leader(), wrong);
  world_->start_agent(right);
  ASSERT_TRUE(until([&] { return ear_->count(wrong, "state_diverged") > 0; }));
  EXPECT_EQ(ear_->role_of_diverged(), "leader");
  ASSERT_TRUE(
      world_->run_until_true([&] { return leader() < world_->size() && leader() != wrong; }, 3s));
  submit(8);
  EXPECT_TRUE(until([&] { return is_mended(wrong); }));
  EXPECT_TRUE(until([&] { return submits_->drained(*world_); }));
  EXPECT_EQ(ear_->count(away, "state_diverged") + ear_->count(right, "state_diverged"), 0);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Divergence, testing::Range(std::uint64_t{1}, std::uint64_t{6}));

}  // namespace
}  // namespace muster::sim
