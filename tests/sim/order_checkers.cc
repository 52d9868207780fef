#include "tests/sim/order_checkers.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

namespace muster::sim {
namespace {

using scheduler::Job;
using scheduler::State;

/// A leader plans for a pool that is stuck for 10 s; cluster time goes by seconds.
constexpr Duration kNoPlanWithin = std::chrono::seconds(8);
constexpr Duration kPlanSlack = std::chrono::seconds(1);
/// Beside the run time of an attempt: to launch it, to end it, and the pause before the next one.
constexpr Duration kAroundARun = std::chrono::seconds(30);
constexpr std::string_view kRunWord = "run_ms=";

std::string job_text(const State& state, const Job& job) {
  return "job " + text_of(job.id) + " (" + job.spec.queue + ", " +
         std::string(scheduler::text_of(job.spec.tier)) + ", priority " +
         std::to_string(job.orders.priority) + ", " + std::to_string(job.spec.request.gpus) +
         " gpus, limit " + std::to_string(to_ms(job.spec.limits.time_limit)) + " ms, waits since " +
         std::to_string(to_ms(job.history.submitted_at)) + " of " +
         std::to_string(to_ms(state.cluster_time())) + ")";
}

/// The limit of one is not above that of the other; 0 is above all.
bool is_no_longer(const Job& one, const Job& other) {
  const Duration its = one.spec.limits.time_limit;
  const Duration others = other.spec.limits.time_limit;
  return others == Duration::zero() || (its != Duration::zero() && its <= others);
}

/// Waiting jobs of one leaf, of which the first has been before the other ever since both waited.
bool was_always_before(const Job& first, const Job& other) {
  const auto is_as_submitted = [](const Job& job) {
    return job.life.attempts == 0 && job.life.failures.count == 0 &&
           job.orders.priority == job.spec.priority && job.history.transitions.size() == 1;
  };
  return first.spec.queue == other.spec.queue && first.id < other.id && is_as_submitted(first) &&
         is_as_submitted(other) && is_plain(other.spec.request);
}

/// nullopt: it has no limit.
std::optional<Duration> end_of(const State& state, const scheduler::Attempt& attempt) {
  if (attempt.state == scheduler::AttemptState::kStopping) {
    return state.cluster_time() + attempt.grace;
  }
  const Job* job = state.job(attempt.job);
  if (job == nullptr || job->spec.limits.time_limit == Duration::zero()) {
    return std::nullopt;
  }
  const Duration begins = attempt.state == scheduler::AttemptState::kStarted
                              ? attempt.started_at
                              : attempt.reserved_at + attempt.deadline;
  return std::max(state.cluster_time(), begins + job->spec.limits.time_limit) + attempt.grace;
}

std::optional<Duration> end_of(const State& state, const scheduler::entry::Decide& decide) {
  const Job* job = state.job(decide.job);
  if (job == nullptr || job->spec.limits.time_limit == Duration::zero()) {
    return std::nullopt;
  }
  return state.cluster_time() + decide.deadline + job->spec.limits.time_limit + decide.grace;
}

std::uint64_t gpus_of(const scheduler::entry::Decide& decide) {
  std::uint64_t gpus = 0;
  for (const scheduler::Member& member : decide.members) {
    gpus += member.gpus.size();
  }
  return gpus;
}

/// GPUs that are held longer than until `end`.
std::uint64_t held_beyond(const State& state, const std::vector<scheduler::entry::Decide>& asked,
                          Duration end) {
  std::uint64_t gpus = 0;
  for (const Token& token : state.live()) {
    const scheduler::Attempt& attempt = *state.attempt(token);
    const std::optional<Duration> its = end_of(state, attempt);
    for (const scheduler::MemberRecord& record : attempt.members) {
      const bool is_beyond = !its.has_value() || *its > end;
      gpus +=
          is_beyond && record.end == scheduler::MemberEnd::kNone ? record.member.gpus.size() : 0;
    }
  }
  for (const scheduler::entry::Decide& decide : asked) {
    const std::optional<Duration> its = end_of(state, decide);
    gpus += !its.has_value() || *its > end ? gpus_of(decide) : 0;
  }
  return gpus;
}

/// Of all attempts that it may still make.
Duration most_time_of(const scheduler::JobSpec& spec) {
  Duration run{0};
  for (const std::string& word : spec.command.argv) {
    if (word.starts_with(kRunWord)) {
      run = std::chrono::milliseconds(number(std::string_view(word).substr(kRunWord.size())));
    }
  }
  return (run + spec.limits.grace + kAroundARun) * (1 + spec.retry.retries);
}

/// Of a host that leads, else of any that has a seat; null if no host has one.
const State* best_state(const World& world) {
  const State* best = nullptr;
  for (std::uint32_t host = 0; host < world.size(); ++host) {
    if (world.is_running(host) && world.node(host).seat().has_seat()) {
      const State& state = world.node(host).seat().state();
      if (best == nullptr || world.node(host).seat().leads()) {
        best = &state;
      }
    }
  }
  return best;
}

}  // namespace

void OrderObeyed::on_decide(World& world, std::uint32_t host, const State& state,
                            const Decides& before, const scheduler::entry::Decide& decide) {
  const std::string pool = gpu_pool_of(state, decide);
  const Job* decided = state.job(decide.job);
  if (pool.empty() || decided == nullptr || !decided->is_pending()) {
    return;
  }
  const OrderOracle oracle(state, pool, before);
  const Job* first = oracle.next();
  if (!oracle.is_sure() || first == nullptr || first == decided) {
    return;
  }
  const bool fits = first->spec.request.gpus <= oracle.fits_surely();
  const bool is_too_large = first->spec.request.gpus > oracle.free_at_most();
  if (!fits && !is_too_large) {
    return;
  }
  if (backlog(state) >= kNoPlanWithin) {
    const bool is_free_to_go = fits && was_always_before(*first, *decided) &&
                               first->spec.request.gpus <= decided->spec.request.gpus &&
                               is_no_longer(*first, *decided);
    if (!is_free_to_go) {
      return;
    }
  }
  world.violation(name(), where(host) + " decides " + job_text(state, *decided) + " before " +
                              job_text(state, *first) + ", which is next and " +
                              (fits ? "fits" : "waits for GPUs"));
}

Duration PlanKept::latest_end(const Job& job) const {
  Duration latest{0};
  for (const auto& [token, span] : spans_) {
    latest = span.seen >= job.history.submitted_at ? std::max(latest, span.end) : latest;
  }
  return latest;
}

void PlanKept::on_state(const State& state, const Decides& asked) {
  for (const Token& token : state.live()) {
    if (const std::optional<Duration> end = end_of(state, *state.attempt(token))) {
      Span& span = spans_[token];
      span = {state.cluster_time(), std::max(span.end, *end)};
    }
  }
  const bool is_young = backlog(state) < kNoPlanWithin;
  if (state.pending() == 0 || (!is_young && !stuck_.has_value())) {
    stuck_.reset();
    return;
  }
  const auto host = std::find_if(state.hosts().begin(), state.hosts().end(),
                                 [](const auto& each) { return !each.second.gpus.empty(); });
  if (host == state.hosts().end()) {
    return;
  }
  const OrderOracle oracle(state, scheduler::folded(host->second.gpu_type), asked);
  const Job* first = oracle.next();
  const bool is_stuck =
      oracle.is_sure() && first != nullptr && first->spec.request.gpus > oracle.free_at_most();
  if (!is_stuck || (!is_young && first->id != *stuck_)) {
    stuck_.reset();
  } else {
    stuck_ = first->id;
  }
}

void PlanKept::on_decide(World& world, std::uint32_t host, const State& state,
                         const Decides& before, const scheduler::entry::Decide& decide) {
  const std::string pool = gpu_pool_of(state, decide);
  if (pool.empty() || !stuck_.has_value() || *stuck_ == decide.job) {
    return;
  }
  const OrderOracle oracle(state, pool, before);
  const Job* first = oracle.next();
  if (!oracle.is_sure() || first == nullptr || first->id != *stuck_ ||
      first->spec.request.gpus <= oracle.free_at_most()) {
    return;
  }
  const Duration latest = latest_end(*first) + kPlanSlack;
  const std::optional<Duration> end = end_of(state, decide);
  const std::uint64_t held = held_beyond(state, before, latest);
  const std::uint64_t left = oracle.usable() - std::min(oracle.usable(), held);
  const bool is_beyond = !end.has_value() || *end > latest;
  if (is_beyond && left >= first->spec.request.gpus &&
      left < first->spec.request.gpus + gpus_of(decide)) {
    world.violation(name(), where(host) + " lets job " + text_of(decide.job) + " pass until " +
                                (end.has_value() ? std::to_string(to_ms(*end)) : "ever") +
                                ", though " + job_text(state, *first) + " was to start at " +
                                std::to_string(to_ms(latest)) + " at the latest");
  }
}

void MeansFollow::on_event(World& world, std::uint32_t host, const Event& event) {
  if (event.name != "applied" || !world.is_running(host)) {
    return;
  }
  Voter& voter = voters_[host];
  if (voter.step == world.steps()) {
    return;
  }
  const State& state = world.node(host).seat().state();
  const bool is_next = voter.applied + 1 == state.applied().value() &&
                       voter.version == state.queues().version() && voter.epoch == state.epoch();
  if (is_next && state.queues().is_set() &&
      state.shares().sampled_at() == voter.sampled_at + scheduler::kSampleEvery) {
    judge(world, host, state, voter);
  }
  voter = {world.steps(), state.applied().value(),     state.queues().version(),
           state.epoch(), state.shares().sampled_at(), state.shares().pools()};
}

void MeansFollow::judge(World& world, std::uint32_t host, const State& state, const Voter& before) {
  const double half_lives = std::chrono::duration<double>(scheduler::kSampleEvery).count() /
                            std::chrono::duration<double>(state.queues().half_life()).count();
  const double part = 1 - std::exp2(-half_lives);
  for (const auto& [name_of_pool, pool] : state.shares().pools()) {
    const auto known = before.pools.find(name_of_pool);
    if (known == before.pools.end() || known->second.queues.size() != pool.queues.size()) {
      continue;
    }
    for (std::size_t i = 0; i < pool.queues.size(); ++i) {
      const auto was = static_cast<double>(known->second.queues[i].mean);
      const auto is = static_cast<double>(pool.queues[i].mean);
      const double way = std::ldexp(static_cast<double>(pool.queues[i].held),
                                    static_cast<int>(scheduler::kMeanBits)) -
                         was;
      if (pool.queues[i].held == known->second.queues[i].held &&
          std::abs(was + way * part - is) > 2 + std::abs(way) * 1e-6) {
        world.violation(name(),
                        where(host) + "'s mean of queue \"" + state.queues().all()[i].node.path +
                            "\" in " + name_of_pool + " goes from " + std::to_string(was) + " to " +
                            std::to_string(is) + ", not to " + std::to_string(was + way * part));
      }
    }
    judge_credits(world, host, state, pool);
  }
}

void MeansFollow::judge_credits(World& world, std::uint32_t host, const State& state,
                                const scheduler::ShareBook::Pool& pool) {
  const std::vector<scheduler::QueueRecord>& queues = state.queues().all();
  for (const scheduler::QueueRecord& parent : queues) {
    double means = 0;
    double weights = 0;
    for (const scheduler::QueueNumber child : parent.children) {
      means += static_cast<double>(pool.queues.at(index_of(child)).mean);
      weights += queues[index_of(child)].node.weight;
    }
    for (const scheduler::QueueNumber child : parent.children) {
      const scheduler::Share& share = pool.queues.at(index_of(child));
      const double due = means * queues[index_of(child)].node.weight / weights;
      const bool has_bounds =
          share.credit >= scheduler::kCreditMin && share.credit <= scheduler::kCreditMax;
      const auto mean = static_cast<double>(share.mean);
      const bool is_wrong_way = (mean > due + 1 && share.credit > scheduler::kCreditOne + 1) ||
                                (mean + 1 < due && share.credit + 1 < scheduler::kCreditOne);
      if (!has_bounds || is_wrong_way) {
        world.violation(name(),
                        where(host) + "'s credit of queue " + queues[index_of(child)].node.path +
                            " is " + std::to_string(share.credit) + "/1024 at a mean of " +
                            std::to_string(mean) + " where " + std::to_string(due) + " is due");
      }
    }
  }
}

Duration StartsInTime::bound(const World& world) {
  Duration bound{0};
  const State* state = best_state(world);
  if (state == nullptr) {
    return bound;
  }
  for (const auto& [id, job] : state->jobs()) {
    bound += job.has_ended() ? Duration(0) : most_time_of(job.spec);
  }
  for (const auto& [id, array] : state->arrays()) {
    bound += array.has_ended() ? Duration(0) : most_time_of(array.spec) * array.folded();
  }
  return bound;
}

void StartsInTime::at_end(World& world) {
  const State* state = best_state(world);
  if (state == nullptr) {
    return;
  }
  for (const auto& [id, job] : state->jobs()) {
    if (job.life.state == scheduler::JobState::kQueued) {
      world.violation(name(), job_text(*state, job) + " did not start");
    }
  }
  for (const auto& [id, array] : state->arrays()) {
    if (!array.has_ended() && array.folded() != 0) {
      world.violation(name(), "tasks of array " + text_of(id) + " did not start");
    }
  }
}

void add_order_checkers(World& world) {
  world.add_checker(std::make_unique<OrderObeyed>());
  world.add_checker(std::make_unique<PlanKept>());
  world.add_checker(std::make_unique<MeansFollow>());
  world.add_checker(std::make_unique<StartsInTime>());
}

}  // namespace muster::sim
