// Entries in any order, with attempts that give way to jobs among them: no rule is broken, nobody
// gets the place that is kept for another one, and a snapshot has all of it.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gossip/base/rng.h"
#include "tests/scheduler/state/cluster.h"
#include "tests/scheduler/state/guaranteed_queues.h"

namespace muster::scheduler {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using namespace testing;               // NOLINT: the fixture's verbs

/// Entries in any order, among them preemptions of attempts that were drawn at random.
class PreemptionStory {
 public:
  explicit PreemptionStory(std::uint64_t seed) : rng_(seed) {
    for (std::uint64_t host = 1; host <= kHosts; ++host) {
      log.apply(registration(host, kGpus));
    }
    another_tree();
  }

  void step() {
    switch (rng_.below(12)) {
      case 0:
      case 1:
      case 2:
        submit();
        break;
      case 3:
      case 4:
        decide();
        break;
      case 5:
        log.apply(entry::Tick{rng_.below(2) == 0 ? 20min : 5s});
        break;
      case 6:
        act_on_attempt();
        break;
      case 7:
        act_on_job();
        break;
      case 8:
        log.observe(1 + rng_.below(kHosts),
                    rng_.below(8) == 0 ? Verdict::kSilent : Verdict::kAlive);
        break;
      case 9:
        make_way();
        break;
      default:
        preempt();
        break;
    }
    if (rng_.below(60) == 0) {
      another_tree();
    }
  }

  Log log;
  std::uint64_t preemptions = 0;
  std::uint64_t started = 0;  ///< Jobs for which others gave way.
  std::uint64_t not_risen = 0;
  std::uint64_t illegal = 0;
  std::uint64_t stolen = 0;

 private:
  static constexpr std::uint64_t kHosts = 3;
  static constexpr std::uint32_t kGpus = 4;
  using Potential = std::vector<std::uint64_t>;

  void another_tree() {
    entry::SetQueues fact;
    fact.expected = log.state.queues().version();
    fact.tree.nodes = {queue_of("a"), queue_of("a/b", {{"h100", rng_.below(5)}}),
                       queue_of("a/c", {{"h100", rng_.below(4)}}),
                       queue_of("d", {{rng_.below(3) == 0 ? "gpus" : "h100", rng_.below(6)}})};
    log.apply(fact);
  }
  void submit() {
    entry::Submit fact = submission("key" + std::to_string(log.index().value()),
                                    static_cast<std::uint32_t>(1 + rng_.below(6)));
    fact.spec.queue = std::vector<std::string>{"a/b", "a/c", "d"}[rng_.below(3)];
    fact.spec.tier = static_cast<Tier>(1 + rng_.below(5));
    log.apply(fact);
  }
  std::vector<JobId> jobs(JobState state) const {
    std::vector<JobId> some;
    for (const auto& [id, job] : log.state.jobs()) {
      if (job.life.state == state) {
        some.push_back(id);
      }
    }
    return some;
  }
  template <class Value>
  std::optional<Value> one_of(const std::vector<Value>& values) {
    return values.empty() ? std::nullopt : std::optional(values[rng_.below(values.size())]);
  }

  /// GPUs from any hosts that are free, or held by `leaving`; fewer than wanted if there are not
  /// so many.
  std::vector<Member> gang(const Job& job, const std::vector<Token>& leaving) {
    std::vector<Member> members;
    std::uint32_t wanted = job.spec.request.gpus;
    std::uint32_t rank = 0;
    const std::uint64_t first = rng_.below(kHosts);
    for (std::uint64_t i = 0; i < kHosts && wanted != 0; ++i) {
      const std::uint64_t host = 1 + (first + i) % kHosts;
      Member member = member_of(host, 0, 0, rank);
      for (std::uint32_t gpu = 0; gpu < kGpus && wanted != 0; ++gpu) {
        const SlotHolders holders = log.state.gpus().holders_of(uuid_of(host, gpu));
        const bool is_free = std::all_of(holders.begin(), holders.end(), [&](const auto& slot) {
          return std::find(leaving.begin(), leaving.end(), slot.second.token) != leaving.end();
        });
        if (is_free) {
          member.gpus.push_back(GpuSlot{uuid_of(host, gpu), 0});
          --wanted;
        }
      }
      rank += static_cast<std::uint32_t>(member.gpus.size());
      if (!member.gpus.empty()) {
        members.push_back(std::move(member));
      }
    }
    return members;
  }
  void decide() {
    const std::optional<JobId> id = one_of(jobs(JobState::kQueued));
    if (!id.has_value()) {
      return;
    }
    const bool was_made_way = log.state.preemptions().find(*id) != nullptr;
    const std::vector<Member> members = gang(*log.state.job(*id), {});
    const PreemptionBook kept = log.state.preemptions();
    const Token token = log.decide(*id, members);
    if (token.is_none()) {
      return;
    }
    started += was_made_way ? 1 : 0;
    for (const auto& [other, preemption] : kept.all()) {
      stolen += other != *id && do_overlap(preemption.members, members) ? 1 : 0;
    }
    if (rng_.below(3) != 0) {
      log.ready(token);
      log.apply(entry::Start{token});
    }
  }
  static bool do_overlap(const std::vector<Member>& one, const std::vector<Member>& other) {
    std::set<GpuSlot> gpus;
    for (const Member& member : one) {
      gpus.insert(member.gpus.begin(), member.gpus.end());
    }
    return std::any_of(other.begin(), other.end(), [&](const Member& member) {
      return std::any_of(member.gpus.begin(), member.gpus.end(),
                         [&](const GpuSlot& gpu) { return gpus.contains(gpu); });
    });
  }
  void act_on_attempt() {
    const std::optional<Token> token =
        one_of(std::vector<Token>(log.state.live().begin(), log.state.live().end()));
    if (!token.has_value()) {
      return;
    }
    if (rng_.below(2) == 0) {
      log.apply(entry::Stop{*token, rng_.below(2) == 0 ? Cause::kPreempted : Cause::kCancelled});
      return;
    }
    const std::vector<MemberRecord> members = log.state.attempt(*token)->members;
    for (const MemberRecord& record : members) {
      if (rng_.below(4) != 0) {
        log.finish(*token, record.member, static_cast<std::int32_t>(rng_.below(2)),
                   rng_.below(3) == 0);
      }
    }
  }
  void act_on_job() {
    const std::optional<JobId> id = one_of(jobs(static_cast<JobState>(rng_.below(5))));
    if (!id.has_value()) {
      return;
    }
    switch (rng_.below(4)) {
      case 0:
        log.apply(entry::Cancel{*id, "ann"});
        break;
      case 1:
        log.apply(entry::Suspend{*id, "ann"});
        break;
      case 2:
        log.apply(entry::Resume{*id, "ann"});
        break;
      default: {
        entry::Edit edit;
        edit.job = *id;
        edit.by = {"ann"};
        edit.keeps_priority = true;
        edit.tier = static_cast<Tier>(1 + rng_.below(5));
        log.apply(edit);
      }
    }
  }
  /// The victims of one job are stopped and end, all or some of them, and it is decided.
  void make_way() {
    std::vector<JobId> all;
    for (const auto& [job, preemption] : log.state.preemptions().all()) {
      all.push_back(job);
    }
    const std::optional<JobId> id = one_of(all);
    if (!id.has_value()) {
      return;
    }
    const Preemption preemption = *log.state.preemptions().find(*id);
    for (const Token& token : preemption.victims) {
      log.apply(entry::Stop{token, Cause::kPreempted});
      const std::vector<MemberRecord> members = log.state.attempt(token)->members;
      for (const MemberRecord& record : members) {
        if (rng_.below(8) != 0) {
          log.finish(token, record.member, 143, true);
        }
      }
    }
    if (log.state.preemptions().find(*id) != nullptr) {
      started += log.decide(*id, preemption.members).is_none() ? 0 : 1;
    }
  }
  void preempt() {
    const std::optional<JobId> id = one_of(jobs(JobState::kQueued));
    if (!id.has_value()) {
      return;
    }
    entry::Preempt fact;
    fact.job = *id;
    fact.attempt = log.state.job(*id)->life.attempts + 1;
    const std::uint64_t odds = 1 + rng_.below(3);
    for (const Token& token : log.state.live()) {
      const Attempt& attempt = *log.state.attempt(token);
      const bool goes_on = attempt.state <= AttemptState::kStarted &&
                           log.state.job(attempt.job)->order_in_force() == JobOrder::kNone;
      if (rng_.below(odds) == 0 && (goes_on || rng_.below(8) == 0)) {
        fact.victims.push_back(token);
      }
    }
    fact.members = gang(*log.state.job(*id), fact.victims);
    // An attempt that leaves nothing there is not taken.
    std::erase_if(fact.victims, [&](const Token& token) {
      const Attempt& attempt = *log.state.attempt(token);
      return std::none_of(fact.members.begin(), fact.members.end(), [&](const Member& member) {
        return attempt.find(member.host) != nullptr;
      });
    });
    const Potential before = potential();
    const Duration now = log.state.cluster_time();
    const std::map<Token, Attempt> attempts = log.state.attempts();
    if (!log.apply(fact).rejected.empty()) {
      return;
    }
    ++preemptions;
    not_risen += potential() > before ? 0 : 1;
    for (const Token& token : fact.victims) {
      illegal += is_fair_game(attempts.at(token), now) ? 0 : 1;
    }
  }
  bool is_fair_game(const Attempt& attempt, Duration now) const {
    const Job& job = *log.state.job(attempt.job);
    const std::uint32_t aborted = log.state.attempt(attempt.token)->was_aborted() ? 1 : 0;
    const bool is_protected =
        attempt.state == AttemptState::kStarted &&
        now - attempt.started_at < 10min * (1 << (job.life.evictions - aborted));
    return job.spec.tier != Tier::kInference && !is_protected &&
           attempt.state <= AttemptState::kStarted;
  }

  /// Sums of guarantees by depth from the deepest, and by tier from the highest; then what claims.
  Potential potential() const {
    constexpr std::size_t kTiers = static_cast<std::size_t>(kTierLast) + 1;
    Potential sums((kQueueDepthMax + 1) * kTiers);
    const State& state = log.state;
    std::map<Token, Tier> tiers;
    for (const auto& [id, preemption] : state.preemptions().all()) {
      tiers[preemption.token] = preemption.tier;
    }
    for (const auto& [token, claim] : state.guarantees().claims()) {
      const Attempt* const attempt = state.attempt(token);
      const Tier own = attempt == nullptr ? tiers.at(token) : state.job(attempt->job)->spec.tier;
      const std::size_t tier = kTiers - 1 - static_cast<std::size_t>(own);
      for (std::size_t depth = 0; depth < kQueueDepthMax; ++depth) {
        const std::uint64_t times =
            (claim.cover.by_pool >> depth & 1U) + (claim.cover.by_all_gpus >> depth & 1U);
        sums[(kQueueDepthMax - 1 - depth) * kTiers + tier] += times * claim.charge;
      }
      sums[kQueueDepthMax * kTiers + tier] += claim.charge;
    }
    return sums;
  }

  Rng rng_;
};

TEST(PreemptionStory, AnyOrderOfEntriesKeepsTheRules) {
  constexpr int kSteps = 150;
  std::uint64_t preemptions = 0;
  std::uint64_t started = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    PreemptionStory story(seed);
    for (int i = 0; i < kSteps && !::testing::Test::HasFatalFailure(); ++i) {
      story.step();
      if (i % 10 == 0) {
        const Result<State> read = State::decode(story.log.state.encode());
        ASSERT_TRUE(read.has_value()) << read.error().text;
        ASSERT_EQ(read->encode(), story.log.state.encode());
      }
    }
    EXPECT_EQ(story.not_risen, 0U);
    EXPECT_EQ(story.illegal, 0U);
    EXPECT_EQ(story.stolen, 0U);
    preemptions += story.preemptions;
    started += story.started;
  }
  EXPECT_GT(preemptions, 100U) << "the stories are not hollow";
  EXPECT_GT(started, 20U);
}

}  // namespace
}  // namespace muster::scheduler
