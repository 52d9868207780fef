// The order of queues, and what `why` says about it, on random small states, against an oracle that
// walks over the state alone (order_oracle.h): the first job of each pool, the gates and the place
// of each waiting job, and the changes that `why` names, made by entries on a copy of the state.

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bench/order_oracle.h"
#include "gossip/base/rng.h"
#include "scheduler/placement/capacity.h"
#include "scheduler/policy/pending_index.h"
#include "scheduler/why/explain.h"

namespace muster::bench {
namespace {

using namespace scheduler;  // NOLINT

/// Of these sets all are tried for the fewest jobs to end; `why` is exact for as many.
constexpr std::size_t kRunningMax = 8;
constexpr std::uint64_t kJobsMax = 30;

void apply_to(State& state, const Entry& entry, ApplyResult* told = nullptr) {
  ApplyResult result = state.apply(state.applied().next(), entry);
  if (told != nullptr) {
    *told = std::move(result);
  }
}

/// Each rank of the job's live attempts exits with 0.
void end_job(State& state, JobId job) {
  for (const Token& token : std::set<Token>(state.live())) {
    if (state.attempt(token)->job != job) {
      continue;
    }
    for (const MemberRecord& record : std::vector(state.attempt(token)->members)) {
      entry::Finish fact{token, record.member.host, record.member.start, {}, true};
      for (std::uint32_t i = 0; i < record.member.rank_count(); ++i) {
        RankResult result;
        result.rank = record.member.first_rank + i;
        fact.results.push_back(result);
      }
      apply_to(state, fact);
    }
  }
}

/// A state after a drawn history of hosts, queues, jobs and minutes.
class DrawnState {
 public:
  explicit DrawnState(std::uint64_t seed) : rng_(seed) {
    static const std::vector<std::string> kTypes = {"H100", "A100", "L40"};
    types_.assign(kTypes.begin(), kTypes.begin() + 1 + draw(3));
    const std::uint64_t hosts = 2 + rng_.below(5);
    for (std::uint64_t host = 1; host <= hosts; ++host) {
      register_host(host);
    }
    std::set<std::string> used;  // Types that a host has.
    for (const auto& [id, host] : state.hosts()) {
      used.insert(host.gpu_type);
    }
    types_.assign(used.begin(), used.end());
    if (rng_.below(6) != 0) {
      set_queues();
    }
    const std::uint64_t steps = 20 + rng_.below(60);
    for (std::uint64_t step = 0; step < steps; ++step) {
      change();
    }
  }

  State state;

 private:
  std::ptrdiff_t draw(std::uint64_t bound) {
    return static_cast<std::ptrdiff_t>(rng_.below(bound));
  }
  std::uint32_t number(std::uint64_t bound) {
    return static_cast<std::uint32_t>(rng_.below(bound));
  }

  void register_host(std::uint64_t number_of_host) {
    std::array<std::uint8_t, HostId::kSizeBytes> bytes{};
    bytes[0] = static_cast<std::uint8_t>(number_of_host);
    bytes[15] = 1;
    entry::Register fact;
    fact.host = HostId(bytes);
    fact.start = AgentStart{Generation(1), StartId(7000 + number_of_host)};
    fact.boot_id = "boot";
    fact.name = "host" + std::to_string(number_of_host);
    fact.gpu_type = types_[rng_.below(types_.size())];
    const std::uint32_t gpus = 1 + number(8);
    for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) {
      fact.gpus.push_back("GPU-" + std::to_string(number_of_host) + "-" + std::to_string(gpu));
    }
    fact.cpus = gpus * (1 + number(4));
    hosts_.push_back(fact.host);
    apply_to(state, fact);
  }
  QueueNode drawn_node(const std::string& path) {
    QueueNode node;
    node.path = path;
    node.weight = 1 + number(5);
    node.is_fifo = rng_.below(3) == 0;
    const std::vector<std::string> keys = {"gpus", "cpus", folded(types_[0]),
                                           folded(types_.back())};
    if (rng_.below(3) == 0) {
      node.max[keys[rng_.below(4)]] = 1 + rng_.below(12);
    }
    if (rng_.below(3) == 0) {
      node.guaranteed[keys[rng_.below(4)]] = rng_.below(5);
    }
    if (rng_.below(6) == 0) {
      node.tiers = {Tier::kStandard, Tier::kPremium};
    }
    return node;
  }
  /// Trees that the log refuses are drawn again, a few times.
  void set_queues() {
    for (int tried = 0; tried < 8; ++tried) {
      entry::SetQueues fact;
      fact.expected = state.queues().version();
      const std::uint64_t queues = 1 + rng_.below(12);
      std::vector<std::string> paths;
      for (std::uint64_t i = 0; i < queues; ++i) {
        const std::string own = "q" + std::to_string(i);
        const bool is_top = paths.empty() || rng_.below(3) == 0;
        paths.push_back(is_top ? own : paths[rng_.below(paths.size())] + "/" + own);
      }
      std::erase_if(paths, [](const std::string& path) {
        return std::count(path.begin(), path.end(), '/') >= 4;
      });
      std::sort(paths.begin(), paths.end(), path_less);
      for (const std::string& path : paths) {
        fact.tree.nodes.push_back(drawn_node(path));
      }
      fact.tree.half_life = std::chrono::hours(1 + rng_.below(24));
      ApplyResult result;
      apply_to(state, fact, &result);
      if (result.rejected.empty()) {
        return;
      }
    }
  }
  void change() {
    const std::uint64_t what = rng_.below(20);
    if (what < 10) {
      submit();
    } else if (what < 14) {
      start(any_waiting());
    } else if (what == 14 && !state.live().empty()) {
      end_job(state, state.attempt(*state.live().begin())->job);
    } else if (what < 17) {
      apply_to(state, entry::Tick{std::chrono::minutes(1 + rng_.below(59))});
    } else if (what == 17) {
      apply_to(state, entry::Edit{any_waiting(), static_cast<std::int32_t>(number(3)), "alice"});
    } else if (what == 18 && rng_.below(4) == 0) {
      entry::Drain fact;
      fact.host = hosts_[rng_.below(hosts_.size())];
      fact.why = "repair";
      apply_to(state, fact);
    } else if (what == 19 && rng_.below(8) == 0) {
      set_queues();
    }
  }
  /// JobId() if no job waits.
  JobId any_waiting() {
    std::vector<JobId> waiting;
    for (const auto& [id, job] : state.jobs()) {
      if (job.is_pending()) {
        waiting.push_back(id);
      }
    }
    return waiting.empty() ? JobId() : waiting[rng_.below(waiting.size())];
  }
  void submit() {
    if (state.pending() >= kJobsMax) {
      return;
    }
    JobSpec spec;
    spec.name = "job";
    spec.command.argv = {"train"};
    spec.user = std::vector<std::string>{"ann", "bob", "cyd"}[rng_.below(3)];
    spec.tier = static_cast<Tier>(rng_.below(6));
    spec.priority = static_cast<std::int32_t>(number(3));
    std::vector<std::string> leaves;
    for (const QueueRecord& queue : state.queues().all()) {
      if (queue.is_leaf() && !queue.node.path.empty()) {
        leaves.push_back(queue.node.path);
      }
    }
    spec.queue = leaves.empty() ? "" : leaves[rng_.below(leaves.size())];
    Request& request = spec.request;
    if (rng_.below(6) == 0) {
      request.gpus = 0;
      request.ranks = 1 + number(6);
    } else {
      request.gpus = 1 + number(rng_.below(4) == 0 ? 12 : 4);
      request.gpus_per_host = request.gpus % 2 == 0 && rng_.below(4) == 0 ? request.gpus / 2 : 0;
      for (const std::string& type : types_) {
        if (rng_.below(3) == 0) {
          request.gpu_types.push_back(type);
        }
      }
    }
    apply_to(state, entry::Submit{"key" + std::to_string(++keys_), std::move(spec), "alice"});
  }
  /// Refused by the log if a queue is at its max.
  void start(JobId job) {
    if (job == JobId() || state.live().size() >= kRunningMax) {
      return;
    }
    Capacity capacity(state);
    auto placement = capacity.place(state, *state.job(job));
    if (!placement.has_value()) {
      return;
    }
    entry::Decide fact;
    fact.job = job;
    fact.attempt = state.job(job)->life.attempts + 1;
    fact.members = std::move(placement->members);
    fact.hold = std::chrono::minutes(2);
    fact.grace = std::chrono::seconds(10);
    fact.deadline = std::chrono::hours(100);
    ApplyResult result;
    apply_to(state, fact, &result);
    if (!result.rejected.empty()) {
      return;
    }
    const Token token{state.epoch(), state.applied().value()};
    for (const MemberRecord& record : std::vector(state.attempt(token)->members)) {
      apply_to(state, entry::Ready{token, record.member.host, record.member.start, {}});
    }
    apply_to(state, entry::Start{token});
  }

  Rng rng_;
  std::vector<std::string> types_;
  std::vector<HostId> hosts_;
  std::uint64_t keys_ = 0;
};

std::vector<std::string> pools_of(const State& state) {
  std::set<std::string> pools{std::string(kCpuPool)};
  for (const auto& [id, host] : state.hosts()) {
    pools.insert(folded(host.gpu_type));
  }
  return {pools.begin(), pools.end()};
}

State copy_of(const State& state) {
  return State::decode(state.encode()).value();
}

/// The index as a leader has it once it has tried what is too large for the hosts that are up.
PendingIndex index_of_leader(const State& state) {
  PendingIndex index(state);
  Capacity capacity(state);
  for (const auto& [id, job] : state.jobs()) {
    for (const std::string& pool : pools_of(state)) {
      std::vector<std::string> types;
      if (pool != kCpuPool) {
        types.push_back(pool);
      }
      const bool is_of_pool = (job.spec.request.gpus == 0) == types.empty();
      if (job.is_pending() && is_of_pool && !capacity.could_hold(job, types)) {
        index.set_aside(id, types);
      }
    }
  }
  return index;
}

std::string text_of_first(const std::optional<JobId>& job) {
  return job.has_value() ? "job " + muster::text_of(*job) : "no job";
}

/// The first fault of the order of the state; "" = it has no fault.
std::string order_fault(const State& state) {
  const PendingIndex index(state);
  const PendingIndex leader = index_of_leader(state);
  for (const std::string& pool : pools_of(state)) {
    const OrderOracle oracle(state, pool);
    for (const bool passes : {false, true}) {
      const std::optional<JobId> first = (passes ? leader : index).first_in(pool);
      const std::optional<JobId> wanted = oracle.first(passes);
      if (first != wanted) {
        return pool + (passes ? " of a leader" : "") + ": " + text_of_first(first) +
               " is first, should be " + text_of_first(wanted);
      }
    }
  }
  return "";
}

/// An answer of `why` about one waiting job, against the oracle.
class WhyCheck {
 public:
  WhyCheck(const State& state, Capacity& capacity, const LeafQueues& queue, JobId job)
      : state_(state),
        job_(*state.job(job)),
        why_(why_queued(state, capacity, queue, job_)),
        pools_(pools_of(state)) {
    for (const std::string& pool : pools_) {
      const OrderOracle oracle(state, pool);
      holding_.insert(holding_.end(), oracle.could_hold(job_) ? 1 : 0, pool);
      allowed_.insert(allowed_.end(), oracle.takes(job_, false) ? 1 : 0, pool);
    }
    allowed_ = allowed_.empty() ? pools_ : allowed_;
    fits_ = fits_after({});
  }

  /// "" = all of it is right.
  std::string fault(bool with_changes) const {
    std::string fault = gates_fault();
    fault = fault.empty() ? place_fault() : fault;
    fault = fault.empty() ? ends_fault() : fault;
    fault = fault.empty() && with_changes ? change_fault() : fault;
    return fault.empty() ? "" : "job " + muster::text_of(job_.id) + ": " + fault;
  }

 private:
  std::string gates_fault() const {
    if (why_.fits_now != fits_) {
      return why_.fits_now ? "fits, and should not" : "does not fit, and should";
    }
    if ((why_.is_aside || why_.is_impossible) != holding_.empty()) {
      return "is passed by others, or not, wrongly";
    }
    if (const std::size_t ahead = oracle_ahead(state_, pools_, job_.id);
        why_.ahead_count != ahead) {
      return std::to_string(why_.ahead_count) + " ahead, should be " + std::to_string(ahead);
    }
    std::set<std::pair<std::string, std::string>> full;
    bool is_full = !holding_.empty();
    for (const std::string& pool : holding_) {
      const auto in_the_way = OrderOracle(state_, pool).full(job_);
      is_full = is_full && !in_the_way.empty();
      full.insert(in_the_way.begin(), in_the_way.end());
    }
    if (is_full == why_.full_queue.empty()) {
      return is_full ? "a max is not told" : "queue " + why_.full_queue + " is not at its max";
    }
    const std::string key = folded(why_.full_pool);
    if (is_full &&
        (!full.contains({why_.full_queue, key}) ||
         state_.queues().at(state_.queues().number_of(why_.full_queue)).node.max.at(key) !=
             why_.full_max)) {
      return "queue " + why_.full_queue + " has another max of " + why_.full_pool;
    }
    return "";
  }

  std::string path_of(QueueNumber queue) const { return state_.queues().at(queue).node.path; }

  std::string place_fault() const {
    const Turn& turn = why_.turn;
    const bool has_pool = std::any_of(pools_.begin(), pools_.end(), [&](const std::string& pool) {
      return OrderOracle(state_, pool).takes(job_, true);
    });
    if (has_pool == turn.pool.empty()) {
      return has_pool ? "its turn is not told" : "a turn is told in " + turn.pool;
    }
    if (!has_pool) {
      return turn.rule == TurnRule::kNone ? "" : "a rule without a pool";
    }
    const OrderOracle oracle(state_, turn.pool);
    const OraclePlace place = oracle.place(job_.id);
    const std::string told(scheduler::text_of(turn.rule));
    if (told != place.rule || turn.first != oracle.first(true).value_or(JobId())) {
      return "in " + turn.pool + " " + told + " (" + turn.text() + "), should be " + place.rule;
    }
    const bool is_as_told =
        turn.own.queue == path_of(place.own) && turn.own.user == place.own_user &&
        turn.own.held == place.own_held && turn.other.queue == path_of(place.other) &&
        turn.other.user == place.other_user && turn.other.held == place.other_held;
    if (!is_as_told) {
      return "in " + turn.pool + " by " + told + ": " + turn.text() + "; should be " +
             path_of(place.other) + " " + place.other_user + " with " +
             std::to_string(place.other_held) + " before " + path_of(place.own) + " " +
             place.own_user + " with " + std::to_string(place.own_held);
    }
    for (const std::string& pool : pools_) {
      const OrderOracle other(state_, pool);
      if (turn.rule != TurnRule::kNext && other.fits(job_) && other.first(true) == job_.id) {
        return "is first in " + pool + ", and " + turn.pool + " is told";
      }
    }
    return "";
  }

  bool fits_after(const std::set<JobId>& ended) const {
    return std::any_of(allowed_.begin(), allowed_.end(), [&](const std::string& pool) {
      return OrderOracle(state_, pool).fits(job_, ended);
    });
  }

  /// The fewest jobs whose end makes it fit; 0: it fits, or no end is enough.
  std::size_t fewest_ends(const std::vector<JobId>& running) const {
    std::size_t fewest = 0;
    for (std::uint32_t set = 1; !fits_ && set < std::uint32_t{1} << running.size(); ++set) {
      const auto size = static_cast<std::size_t>(std::popcount(set));
      if (fewest != 0 && size >= fewest) {
        continue;
      }
      std::set<JobId> ended;
      for (std::size_t i = 0; i < running.size(); ++i) {
        if ((set >> i & 1) != 0) {
          ended.insert(running[i]);
        }
      }
      fewest = fits_after(ended) ? size : fewest;
    }
    return fewest;
  }

  std::string ends_fault() const {
    std::set<JobId> running;
    for (const Token& token : state_.live()) {
      running.insert(state_.attempt(token)->job);
    }
    const std::size_t fewest = fewest_ends({running.begin(), running.end()});
    if (why_.smallest_end.size() != fewest) {
      return std::to_string(why_.smallest_end.size()) + " jobs to end, should be " +
             std::to_string(fewest);
    }
    if (fewest == 0) {
      return "";
    }
    State after = copy_of(state_);
    for (const JobId job : why_.smallest_end) {
      end_job(after, job);
    }
    Capacity capacity(after);
    if (!capacity.place(after, *after.job(job_.id)).has_value()) {
      return "does not fit after the end of what should be enough";
    }
    if (why_.turn.pool.empty()) {
      return "";
    }
    const OrderOracle oracle(after, why_.turn.pool);
    const bool is_next = oracle.first(true) == job_.id;
    if (why_.turn.is_next_then != is_next) {
      return is_next ? "would be first after these ends" : "would not be first after these ends";
    }
    return is_next && !oracle.fits(*after.job(job_.id)) ? "is first and does not start" : "";
  }

  /// Whether it is first in the pool of its turn after that edit; false if the log refuses it.
  bool is_first_with(const entry::Edit& edit) const {
    State after = copy_of(state_);
    ApplyResult result;
    apply_to(after, edit, &result);
    return result.rejected.empty() && OrderOracle(after, why_.turn.pool).first(true) == job_.id &&
           index_of_leader(after).first_in(why_.turn.pool) == job_.id;
  }
  bool is_first_with(std::int32_t priority) const {
    return is_first_with(entry::Edit{job_.id, priority, "alice"});
  }
  bool is_first_with(Tier tier) const {
    entry::Edit edit{job_.id, job_.orders.priority, "alice"};
    edit.tier = tier;
    return is_first_with(edit);
  }
  /// As `why` should say it: priorities first, then tiers, from the smallest change on.
  std::string smallest_change() const {
    std::int32_t highest = 0;
    for (const auto& [id, job] : state_.jobs()) {
      highest = std::max(highest, job.orders.priority);
    }
    for (std::int32_t priority = job_.orders.priority + 1; priority <= highest + 1; ++priority) {
      if (is_first_with(priority)) {
        return "priority " + std::to_string(priority);
      }
    }
    const Tier own = job_.spec.tier == Tier::kNone ? Tier::kStandard : job_.spec.tier;
    for (auto tier = static_cast<std::uint8_t>(own); tier < static_cast<std::uint8_t>(kTierLast);) {
      if (is_first_with(static_cast<Tier>(++tier))) {
        return "tier " + std::string(scheduler::text_of(static_cast<Tier>(tier)));
      }
    }
    return "";
  }
  std::string change_fault() const {
    const Turn& turn = why_.turn;
    if (turn.pool.empty() || turn.rule == TurnRule::kNext) {
      return turn.next_with.empty() ? "" : "names a change without need";
    }
    const std::string wanted = smallest_change();
    return turn.next_with == wanted
               ? ""
               : "would be next with '" + turn.next_with + "', should be '" + wanted + "'";
  }

  const State& state_;
  const Job& job_;
  const Why why_;
  const std::vector<std::string> pools_;
  std::vector<std::string> holding_;  ///< That could hold it.
  std::vector<std::string> allowed_;  ///< Pools that its queues let it have; else all.
  bool fits_ = false;
};

/// The first fault of the answers of `why`; "" = they have no fault. The changes of one job are
/// made.
std::string why_fault(const State& state, std::uint64_t seed) {
  const PendingIndex index(state);
  Capacity capacity(state);
  std::vector<JobId> waiting;
  for (const auto& [id, job] : state.jobs()) {
    if (job.is_pending()) {
      waiting.push_back(id);
    }
  }
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    const WhyCheck check(state, capacity, index.queue(), waiting[i]);
    if (std::string fault = check.fault(i == seed % waiting.size()); !fault.empty()) {
      return fault;
    }
  }
  return "";
}

/// A line about each queue and each waiting job of a small state.
void print_state(const State& state) {
  for (const QueueRecord& queue : state.queues().all()) {
    std::printf("#   queue '%s' weight %u%s", queue.node.path.c_str(), queue.node.weight,
                queue.node.is_fifo ? " fifo" : "");
    for (const auto& [key, max] : queue.node.max) {
      std::printf(" max %s %llu", key.c_str(), static_cast<unsigned long long>(max));
    }
    for (const auto& [key, amount] : queue.guaranteed) {
      std::printf(" guaranteed %s %llu", key.c_str(), static_cast<unsigned long long>(amount));
    }
    std::printf("\n");
  }
  for (const auto& [id, job] : state.jobs()) {
    if (!job.has_ended()) {
      const Request& request = job.spec.request;
      std::printf("#   job %s %s of %s in %s, tier %s, priority %d: %u GPUs, %u ranks, types",
                  muster::text_of(id).c_str(), job.is_pending() ? "waits" : "runs",
                  job.spec.user.c_str(), job.spec.queue.c_str(),
                  std::string(scheduler::text_of(job.spec.tier)).c_str(), job.orders.priority,
                  request.gpus, request.ranks);
      for (const std::string& type : request.gpu_types) {
        std::printf(" %s", type.c_str());
      }
      std::printf("\n");
    }
  }
}

int check_states(std::uint64_t states, std::uint64_t first_seed) {
  std::uint64_t order_wrong = 0;
  std::uint64_t why_wrong = 0;
  std::uint64_t waiting = 0;
  std::uint64_t with_queues = 0;
  for (std::uint64_t seed = first_seed; seed < first_seed + states; ++seed) {
    const DrawnState drawn(seed);
    const std::string in_order = order_fault(drawn.state);
    const std::string in_why = why_fault(drawn.state, seed);
    waiting += drawn.state.pending();
    with_queues += drawn.state.queues().is_set() ? 1 : 0;
    if (order_wrong + why_wrong == 0 && !(in_order + in_why).empty()) {
      std::printf("# seed %llu: order: %s; why: %s\n", static_cast<unsigned long long>(seed),
                  in_order.empty() ? "right" : in_order.c_str(),
                  in_why.empty() ? "right" : in_why.c_str());
      print_state(drawn.state);
    }
    order_wrong += in_order.empty() ? 0 : 1;
    why_wrong += in_why.empty() ? 0 : 1;
  }
  std::printf("# %llu states with queues, %llu waiting jobs\n",
              static_cast<unsigned long long>(with_queues),
              static_cast<unsigned long long>(waiting));
  std::printf("figure order_wrong %llu count\n", static_cast<unsigned long long>(order_wrong));
  std::printf("figure why_wrong %llu count\n", static_cast<unsigned long long>(why_wrong));
  std::printf("figure order_states %llu count\n", static_cast<unsigned long long>(states));
  return order_wrong + why_wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  const int states = argc > 1 ? std::atoi(argv[1]) : 10'000;
  const int seed = argc > 2 ? std::atoi(argv[2]) : 1;
  return muster::bench::check_states(static_cast<std::uint64_t>(states),
                                     static_cast<std::uint64_t>(seed));
}
