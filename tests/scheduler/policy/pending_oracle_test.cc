// The index of waiting jobs, through a drawn history of jobs, shares and trees, against an order
// that walks over the whole state for each question.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gossip/base/rng.h"
#include "scheduler/placement/capacity.h"
#include "scheduler/policy/pending_index.h"
#include "scheduler/state/charge.h"
#include "tests/scheduler/policy/queued_log.h"

namespace muster::scheduler {
namespace {

using namespace testing;  // NOLINT: the domain's verbs

__extension__ using WideProduct = unsigned __int128;

struct Asked {
  std::string pool;
  std::uint64_t charge = 0;
};

/// The acts of a leader, as far as the order depends on it.
struct LeaderActs {
  std::map<JobId, Asked> hidden;
  std::set<std::pair<JobId, std::string>> aside;  ///< Job and pool.
  std::set<std::pair<JobId, std::string>> blocked;
  std::set<std::pair<JobId, std::string>> kept_out;  ///< Of `blocked`.
  std::map<std::string, JobId> planned;              ///< By pool that passes.
};

/// A leaf or queue with its next job.
struct Contender {
  bool is_owed = false;
  std::uint64_t held = 0;
  std::uint64_t divisor = 1;
  std::pair<std::uint32_t, std::string> name;
  const Job* job = nullptr;
};

/// Picks the next job of one pool from the state alone.
class WalkedOrder {
 public:
  WalkedOrder(const State& state, const LeaderActs& acts, std::string pool)
      : state_(state), acts_(acts), pool_(std::move(pool)) {}

  std::optional<JobId> first() const {
    const Job* job = next_below(kRootQueue);
    return job == nullptr ? std::nullopt : std::optional(job->id);
  }
  /// The job for which the pool passes, if it may be tried.
  std::optional<JobId> planned() const {
    const auto planned = acts_.planned.find(pool_);
    return planned != acts_.planned.end() && may_be_tried(*state_.job(planned->second)) &&
                   !is_blocked(planned->second)
               ? std::optional(planned->second)
               : std::nullopt;
  }
  /// The job that a leader tries here otherwise.
  std::optional<JobId> to_try() {
    passes_blocked_ = acts_.planned.contains(pool_);
    const std::optional<JobId> next = first();
    passes_blocked_ = false;
    return next.has_value() && is_blocked(*next) ? std::nullopt : next;
  }

 private:
  bool is_blocked(JobId job) const { return acts_.blocked.contains({job, pool_}); }
  static std::uint64_t charge(const Job& job) { return job.spec.request.gpus * 1000ULL; }
  bool is_below(QueueNumber low, QueueNumber high) const {
    for (; low != high; low = state_.queues().at(low).parent) {
      if (low == kRootQueue) {
        return false;
      }
    }
    return true;
  }
  /// Asked for below the queue; of that user if he is named, of that pool unless it is "".
  std::uint64_t asked(QueueNumber queue, const std::string& pool, const std::string* user) const {
    std::uint64_t sum = 0;
    const auto add = [&](JobId id, const std::string& its_pool, std::uint64_t charge) {
      const Leaf leaf = leaf_of(state_.queues(), state_.job(id)->spec);
      sum += is_below(leaf.queue, queue) && (pool.empty() || its_pool == pool) &&
                     (user == nullptr || leaf.user == *user)
                 ? charge
                 : 0;
    };
    for (const auto& [id, ask] : acts_.hidden) {
      add(id, ask.pool, ask.charge);
    }
    for (const auto& [its_pool, id] : acts_.planned) {
      if (passes_blocked_) {
        add(id, its_pool, charge(*state_.job(id)));
      }
    }
    return sum;
  }
  std::uint64_t held(QueueNumber queue, const std::string& key) const {
    return key == kAllGpus ? state_.shares().held_gpus(queue) + asked(queue, "", nullptr)
                           : state_.shares().share(queue, key).held + asked(queue, key, nullptr);
  }
  bool may_ever(const Job& job) const {
    QueueNumber queue = state_.queues().number_of(job.spec.queue);
    for (; queue != kRootQueue; queue = state_.queues().at(queue).parent) {
      for (const auto& [key, amount] : state_.queues().at(queue).node.max) {
        if ((key == pool_ || key == kAllGpus) && charge(job) > amount * 1000) {
          return false;
        }
      }
    }
    return true;
  }
  bool may_be_tried(const Job& job) const {
    const std::vector<std::string>& types = job.spec.request.gpu_types;
    return job.is_pending() && !acts_.hidden.contains(job.id) &&
           !acts_.aside.contains({job.id, pool_}) && may_ever(job) &&
           !(passes_blocked_ && is_blocked(job.id)) &&
           (types.empty() || std::find(types.begin(), types.end(), pool_) != types.end());
  }
  static Tier tier_of_job(const Job& job) {
    return job.spec.tier == Tier::kNone ? Tier::kStandard : job.spec.tier;
  }
  static bool goes_before(const Job& one, const Job& other) {
    return std::tuple(tier_of_job(other), other.orders.priority, one.id) <
           std::tuple(tier_of_job(one), one.orders.priority, other.id);
  }
  static bool goes_before(const Contender& one, const Contender& other) {
    if (one.is_owed != other.is_owed) {
      return one.is_owed;
    }
    if (tier_of_job(*one.job) != tier_of_job(*other.job)) {
      return tier_of_job(*one.job) > tier_of_job(*other.job);
    }
    const WideProduct mine = WideProduct{one.held} * other.divisor;
    const WideProduct its = WideProduct{other.held} * one.divisor;
    return mine != its ? mine < its : one.name < other.name;
  }
  Contender queue_with(QueueNumber queue, const Job& job) const {
    const QueueRecord& record = state_.queues().at(queue);
    Contender contender;
    for (const auto& [key, amount] : record.guaranteed) {
      contender.is_owed = contender.is_owed || ((key == pool_ || key == kAllGpus) &&
                                                held(queue, key) + charge(job) <= amount * 1000);
    }
    contender.held = held(queue, pool_);
    contender.divisor =
        std::uint64_t{record.node.weight} * state_.shares().share(queue, pool_).credit;
    contender.name = {index_of(queue), ""};
    contender.job = &job;
    return contender;
  }
  Contender user_with(QueueNumber queue, const std::string& user, const Job& job) const {
    const Share share = state_.shares().share(queue, user, pool_);
    Contender contender;
    contender.held = share.held + asked(queue, pool_, &user);
    contender.divisor = share.mean == 0 && state_.shares().share(queue, pool_).mean != 0
                            ? kCreditMax
                            : share.credit;
    contender.name = {0, user};
    contender.job = &job;
    return contender;
  }
  std::vector<Contender> contenders(QueueNumber queue) const {
    std::vector<Contender> all;
    for (const QueueNumber child : state_.queues().at(queue).children) {
      if (const Job* job = next_below(child); job != nullptr) {
        all.push_back(queue_with(child, *job));
      }
    }
    std::map<std::string, const Job*> by_user;
    for (const auto& [id, job] : state_.jobs()) {
      const Leaf leaf = leaf_of(state_.queues(), job.spec);
      if (leaf.queue == queue && may_be_tried(job)) {
        const auto [place, is_new] = by_user.try_emplace(leaf.user, &job);
        if (!is_new && goes_before(job, *place->second)) {
          place->second = &job;
        }
      }
    }
    for (const auto& [user, job] : by_user) {
      all.push_back(user_with(queue, user, *job));
    }
    return all;
  }
  /// Null if the queue is empty or its next job does not fit below its own max.
  const Job* next_below(QueueNumber queue) const {
    std::optional<Contender> best;
    for (const Contender& each : contenders(queue)) {
      best = !best.has_value() || goes_before(each, *best) ? each : *best;
    }
    if (!best.has_value()) {
      return nullptr;
    }
    for (const auto& [key, amount] : state_.queues().at(queue).node.max) {
      if ((key == pool_ || key == kAllGpus) &&
          held(queue, key) + charge(*best->job) > amount * 1000) {
        return nullptr;
      }
    }
    return best->job;
  }

  const State& state_;
  const LeaderActs& acts_;
  const std::string pool_;
  bool passes_blocked_ = false;
};

constexpr std::uint64_t kHosts = 4;
const std::vector<std::string> kTypes = {"a100", "h100"};

class DrawnQueues : public QueuedLog {
 public:
  explicit DrawnQueues(std::uint64_t seed) : rng_(seed) {
    for (std::uint64_t host = 1; host <= kHosts; ++host) {
      apply(registration(host, 8, 1, host % 2 == 0 ? "A100" : "H100"));
    }
  }

  void change() {
    const std::uint64_t what = rng_.below(23);
    if (what < 7 || log.state.pending() < 3) {
      submit_any();
    } else if (what < 10) {
      start(any_job());
    } else if (what < 12 && !log.state.live().empty()) {
      apply(entry::Abort{*log.state.live().begin(), Cause::kCancelled, HostId()});
    } else if (what == 12) {
      apply(entry::Tick{std::chrono::minutes(1 + rng_.below(90))});
    } else if (what == 13 && rng_.below(2) == 0) {
      set_any_queues();
    } else if (what == 14) {
      const JobId job = any_job();
      acts.hidden.erase(job);
      apply(entry::Cancel{job, "alice"});
    } else if (what == 15) {
      apply(entry::Edit{any_job(), static_cast<std::int32_t>(rng_.below(3)), "alice"});
    } else if (what == 16) {
      hide(any_job());
    } else if (what == 17 && !acts.hidden.empty()) {
      pending.show(acts.hidden.begin()->first);
      acts.hidden.erase(acts.hidden.begin());
    } else if (what == 18) {
      set_aside(any_job());
    } else if (what == 19) {
      pass_anywhere();
    } else if (what == 20 && rng_.below(2) == 0) {
      unblock_kept_out();
    } else if (what > 19) {
      block(any_job());
    } else if (rng_.below(3) == 0) {
      pending.reopen();
      acts.aside.clear();
      acts.blocked.clear();
      acts.kept_out.clear();
    }
    // A ring keeps what was found out while it has jobs; so do those that come to it later.
    std::erase_if(acts.aside, [&](const auto& each) { return !waits(each.first); });
    std::erase_if(acts.planned, [&](const auto& each) { return !waits(each.second); });
    std::erase_if(acts.blocked, [&](const auto& each) { return !waits(each.first); });
    std::erase_if(acts.kept_out, [&](const auto& each) { return !waits(each.first); });
  }
  void expect_agreement() {
    ASSERT_TRUE(pending.is_right(log.state));
    std::map<JobId, std::set<std::string>> firsts;
    std::set<std::pair<JobId, std::string>> planned;
    for (const std::string& type : kTypes) {
      WalkedOrder order(log.state, acts, type);
      ASSERT_EQ(pending.first_in(type), order.first()) << type;
      if (const std::optional<JobId> next = order.to_try()) {
        firsts[*next].insert(type);
      }
      if (const std::optional<JobId> job = order.planned()) {
        planned.insert({*job, type});
      }
    }
    const std::optional<Next> next = pending.next();
    ASSERT_EQ(next.has_value(), !firsts.empty() || !planned.empty());
    if (!planned.empty()) {
      ASSERT_EQ(next->types.size(), 1U);
      EXPECT_TRUE(planned.contains({next->job, next->types.front()}));
    } else if (next.has_value()) {
      EXPECT_EQ(std::set<std::string>(next->types.begin(), next->types.end()), firsts[next->job]);
    }
  }

  LeaderActs acts;

 private:
  bool waits(JobId job) const {
    return log.state.job(job) != nullptr && log.state.job(job)->is_pending();
  }
  JobId any_job() {
    std::vector<JobId> waiting;
    for (const auto& [id, job] : log.state.jobs()) {
      if (job.is_pending()) {
        waiting.push_back(id);
      }
    }
    return waiting[rng_.below(waiting.size())];
  }
  void submit_any() {
    static const std::vector<std::string> queues = {"", "a", "a/x", "a/y", "b"};
    JobSpec spec = spec_of(static_cast<std::uint32_t>(1 + rng_.below(5)));
    spec.queue = queues[rng_.below(queues.size())];
    spec.user = rng_.below(2) == 0 ? "ann" : "bob";
    spec.tier = static_cast<Tier>(rng_.below(4));
    spec.priority = static_cast<std::int32_t>(rng_.below(3));
    spec.limits.time_limit = std::chrono::minutes(rng_.below(2) * 50);
    const std::uint64_t types = rng_.below(4);
    if (types < 2) {
      spec.request.gpu_types = {kTypes[types]};
    } else if (types == 2) {
      spec.request.gpu_types = kTypes;
    }
    const JobId job = submit(spec);
    if (job == JobId()) {
      return;  // There is no such queue now, or it is no leaf, or too small.
    }
    for (const std::string& pool : kTypes) {
      for (auto* found : {&acts.aside, &acts.blocked, &acts.kept_out}) {
        if (std::any_of(found->begin(), found->end(), [&](const auto& each) {
              return each.second == pool && are_alike(each.first, job);
            })) {
          found->insert({job, pool});
        }
      }
    }
  }
  bool are_alike(JobId one, JobId other) const {
    const Job& a = *log.state.job(one);
    const Job& b = *log.state.job(other);
    return a.spec.request == b.spec.request && a.spec.queue == b.spec.queue &&
           a.spec.tier == b.spec.tier && a.spec.limits.time_limit == b.spec.limits.time_limit &&
           leaf_of(log.state.queues(), a.spec) == leaf_of(log.state.queues(), b.spec);
  }
  void start(JobId id) {
    Capacity capacity(log.state);
    const auto placement = capacity.place(log.state, *log.state.job(id));
    if (placement.has_value() && decide(id, placement->members).rejected.empty()) {
      acts.hidden.erase(id);
    }
  }
  void hide(JobId id) {
    if (acts.hidden.contains(id)) {
      return;
    }
    const JobSpec& spec = log.state.job(id)->spec;
    const Asked ask{spec.request.gpu_types.empty() ? kTypes[0] : spec.request.gpu_types[0],
                    least_charge_of(spec) + rng_.below(2) * 500};
    acts.hidden[id] = ask;
    pending.hide(id, ask.pool, ask.charge);
  }
  void set_aside(JobId id) {
    const std::string& pool = kTypes[rng_.below(2)];
    pending.set_aside(id, std::vector<std::string>{pool});
    note(id, pool, acts.aside);
  }
  void block(JobId id) {
    const std::string& pool = kTypes[rng_.below(2)];
    const bool is_kept_out = rng_.below(3) == 0;
    pending.block(id, std::vector<std::string>{pool}, is_kept_out);
    note(id, pool, acts.blocked);
    if (is_kept_out) {
      note(id, pool, acts.kept_out);
    }
  }
  void unblock_kept_out() {
    pending.unblock_kept_out();
    for (const auto& each : acts.kept_out) {
      acts.blocked.erase(each);
    }
    acts.kept_out.clear();
  }
  void pass_anywhere() {
    const std::string& pool = kTypes[rng_.below(2)];
    if (acts.planned.erase(pool) != 0) {
      pending.be_strict(pool);
      return;
    }
    const JobId job = any_job();
    const std::vector<std::string>& types = log.state.job(job)->spec.request.gpu_types;
    if (types.empty() || std::find(types.begin(), types.end(), pool) != types.end()) {
      acts.planned[pool] = job;
      pending.pass(pool, job, least_charge_of(log.state.job(job)->spec));
    }
  }
  /// Found out about the job and those of its ring.
  void note(JobId id, const std::string& pool, std::set<std::pair<JobId, std::string>>& found) {
    const Request& request = log.state.job(id)->spec.request;
    if (!request.gpu_types.empty() && std::find(request.gpu_types.begin(), request.gpu_types.end(),
                                                pool) == request.gpu_types.end()) {
      return;
    }
    for (const auto& [other, job] : log.state.jobs()) {
      if (job.is_pending() && are_alike(id, other)) {
        found.insert({other, pool});
      }
    }
  }
  QueueNode any_node(const std::string& path) {
    QueueNode node = queue_node(path, static_cast<std::uint32_t>(1 + rng_.below(3)));
    node.is_fifo = rng_.below(4) == 0;
    if (rng_.below(3) == 0) {
      node.max[rng_.below(2) == 0 ? "gpus" : "h100"] = 3 + rng_.below(10);
    }
    if (rng_.below(3) == 0) {
      node.guaranteed[rng_.below(2) == 0 ? "gpus" : "a100"] = rng_.below(7);
    }
    return node;
  }
  /// Many of the drawn trees are refused.
  void set_any_queues() {
    std::vector<QueueNode> nodes;
    for (const char* path : {"a", "a/x", "a/y", "b"}) {
      nodes.push_back(any_node(path));
    }
    if (set_queues(nodes).rejected.empty()) {
      acts.aside.clear();
      acts.blocked.clear();
      acts.kept_out.clear();
      acts.planned.clear();
    }
  }

  Rng rng_;
};

TEST(PendingOracle, TheIndexAgreesWithAWalkOverTheState) {
  int with_queues = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    DrawnQueues queues(seed);
    for (int step = 0; step < 250; ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      queues.change();
      queues.expect_agreement();
      if (::testing::Test::HasFailure()) {
        return;
      }
    }
    with_queues += queues.log.state.queues().version() > 1 ? 1 : 0;
  }
  EXPECT_GT(with_queues, 3) << "the trees say too little";
}

}  // namespace
}  // namespace muster::scheduler
