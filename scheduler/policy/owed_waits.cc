#include "scheduler/policy/owed_waits.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "scheduler/protocol/request.h"
#include "scheduler/state/charge.h"

namespace muster::scheduler {
namespace {

__extension__ using WideAmount = unsigned __int128;

constexpr std::uint64_t kThousand = 1000;
/// Jobs of one leaf that are looked at: the first of them that the pool is for counts.
constexpr std::size_t kJobsLookedAt = 64;

/// A job that a queue or user would start next, and its place among its siblings, as the tree of
/// shares has it (scheduler/policy/share_tree.h).
struct NextJob {
  const Job* job = nullptr;
  std::uint64_t charge = 0;
  bool is_owed = false;
  Tier tier = Tier::kNone;
  std::uint64_t held = 0;
  std::uint64_t divisor = 1;  ///< Weight times credit.
};

bool goes_before(const NextJob& one, const NextJob& other) {
  if (std::tie(one.is_owed, one.tier) != std::tie(other.is_owed, other.tier)) {
    return std::tie(one.is_owed, one.tier) > std::tie(other.is_owed, other.tier);
  }
  return static_cast<WideAmount>(one.held) * other.divisor <
         static_cast<WideAmount>(other.held) * one.divisor;
}

/// Siblings come in the order in which equal ones are tried.
void take_better(std::optional<NextJob>& best, const NextJob& next) {
  if (!best.has_value() || goes_before(next, *best)) {
    best = next;
  }
}

bool accepts_pool(const Request& request, std::string_view pool) {
  if (request.gpus == 0 || pool == kCpuPool) {
    return request.gpus == 0 && pool == kCpuPool;
  }
  return request.gpu_types.empty() ||
         std::any_of(request.gpu_types.begin(), request.gpu_types.end(),
                     [&](const std::string& type) { return folded(type) == pool; });
}

/// Sets the part of the guarantee that covers the charge, and what is left of it.
void tell_owed(const State& state, std::uint64_t charge, OwedWait& wait) {
  const QueueAmounts& guaranteed = state.queues().at(wait.queue).guaranteed;
  const auto covers = [&](std::string_view key, std::uint64_t held) {
    const auto found = guaranteed.find(key);
    const std::uint64_t amount = found == guaranteed.end() ? 0 : found->second * kThousand;
    if (amount < held + charge) {
      return false;
    }
    wait.key = std::string(key);
    wait.owed = amount - held;
    return true;
  };
  const bool is_of_cpus = wait.pool == kCpuPool;
  if (!covers(is_of_cpus ? kCpus : std::string_view(wait.pool),
              state.shares().share(wait.queue, wait.pool).held) &&
      !is_of_cpus) {
    covers(kAllGpus, state.shares().held_gpus(wait.queue));
  }
}

/// Since when it is queued, as OwedWait::waited_ms counts it.
std::uint64_t queued_for_ms(const State& state, const Job& job, std::int64_t now_unix_ms) {
  const JobHistory& history = job.history;
  if (history.started_unix_ms != 0 && !history.transitions.empty()) {
    const Transition& last = history.transitions.back();
    return waited_ms(state, last.at, last.unix_ms, now_unix_ms);
  }
  if (job.life.wait.over_at > history.submitted_at) {
    return waited_ms(state, job.life.wait.over_at, 0, now_unix_ms);
  }
  return waited_ms(state, history.submitted_at, history.submitted_unix_ms, now_unix_ms);
}

class OwedSearch {
 public:
  OwedSearch(const State& state, Capacity& capacity, const LeafQueues& queue,
             std::int64_t now_unix_ms, Duration least)
      : state_(state),
        capacity_(capacity),
        queue_(queue),
        now_unix_ms_(now_unix_ms),
        least_ms_(static_cast<std::uint64_t>(to_ms(least))) {
    const auto& all = state.queues().all();
    has_guarantee_.resize(all.size());
    for (std::size_t i = 1; i < all.size(); ++i) {  // Parents have lower numbers.
      has_guarantee_[i] = !all[i].guaranteed.empty() || has_guarantee_[index_of(all[i].parent)];
    }
  }

  std::vector<OwedWait> find() {
    if (std::find(has_guarantee_.begin(), has_guarantee_.end(), true) == has_guarantee_.end()) {
      return {};
    }
    find_in(std::string(kCpuPool));
    for (const std::string& type : capacity_.gpu_types()) {
      find_in(type);
    }
    std::sort(found_.begin(), found_.end(), [](const OwedWait& a, const OwedWait& b) {
      return std::tie(a.queue, a.pool) < std::tie(b.queue, b.pool);
    });
    return std::move(found_);
  }

 private:
  bool is_guaranteed(const std::string& pool) const {
    const auto& all = state_.queues().all();
    return std::any_of(all.begin(), all.end(), [&](const QueueRecord& each) {
      return pool == kCpuPool
                 ? each.guaranteed.contains(kCpus)
                 : each.guaranteed.contains(pool) || each.guaranteed.contains(kAllGpus);
    });
  }

  void find_in(const std::string& pool) {
    if (!is_guaranteed(pool)) {
      return;
    }
    const auto& all = state_.queues().all();
    std::vector<std::optional<NextJob>> next(all.size());  // By number.
    for (const auto& [leaf, waiting] : queue_) {
      if (has_guarantee_[index_of(leaf.queue)]) {
        add_leaf(pool, leaf, waiting, next[index_of(leaf.queue)]);
      }
    }
    // Children have higher numbers: of equal ones the lower is first, so it is offered last.
    for (std::size_t i = all.size() - 1; i > 0; --i) {
      if (next[i].has_value()) {
        offer(pool, QueueNumber{static_cast<std::uint32_t>(i)}, *next[i],
              next[index_of(all[i].parent)]);
      }
    }
  }

  void add_leaf(const std::string& pool, const Leaf& leaf, const Queue& waiting,
                std::optional<NextJob>& best) {
    const Share share = leaf.user.empty() ? state_.shares().share(leaf.queue, pool)
                                          : state_.shares().share(leaf.queue, leaf.user, pool);
    std::size_t looked_at = 0;
    for (const QueueKey& key : waiting) {
      if (++looked_at > kJobsLookedAt) {
        return;
      }
      const Job& job = *state_.job(key.job);
      const std::span<const std::string> types =
          pool == kCpuPool ? std::span<const std::string>() : std::span(&pool, 1);
      if (accepts_pool(job.spec.request, pool) && capacity_.could_hold(job, types)) {
        take_better(best,
                    {&job, least_charge_of(job.spec), false, key.tier, share.held, share.credit});
        return;
      }
    }
  }

  /// The job that the queue offers to its parent. A queue at its max makes no offer.
  void offer(const std::string& pool, QueueNumber queue, NextJob next,
             std::optional<NextJob>& to_parent) {
    const QueueBook& queues = state_.queues();
    const ShareBook& shares = state_.shares();
    if (shares.room(queues, queue, pool) < next.charge) {
      return;
    }
    next.is_owed = shares.is_owed(queues, queue, pool, next.charge);
    if (next.is_owed) {
      OwedWait wait{queue, pool, next.job->id,
                    "",    0,    queued_for_ms(state_, *next.job, now_unix_ms_)};
      if (wait.waited_ms >= least_ms_) {
        tell_owed(state_, next.charge, wait);
        found_.push_back(std::move(wait));
      }
    }
    const Share share = shares.share(queue, pool);
    next.held = share.held;
    next.divisor = std::uint64_t{queues.at(queue).node.weight} * share.credit;
    // A later offer is of a lower number: it is first among equal ones.
    if (!to_parent.has_value() || !goes_before(*to_parent, next)) {
      to_parent = next;
    }
  }

  const State& state_;
  Capacity& capacity_;
  const LeafQueues& queue_;
  const std::int64_t now_unix_ms_;
  const std::uint64_t least_ms_;
  std::vector<bool> has_guarantee_;  ///< By number: it or a queue above it.
  std::vector<OwedWait> found_;
};

/// As hosts write the type.
std::string written_type(const State& state, const std::string& pool) {
  for (const auto& [id, host] : state.hosts()) {
    if (!host.gpu_type.empty() && folded(host.gpu_type) == pool) {
      return host.gpu_type;
    }
  }
  return pool;
}

/// In whole GPUs or CPUs, rounded up.
std::string whole_text(std::uint64_t thousandths) {
  return std::to_string((thousandths + kThousand - 1) / kThousand);
}

std::string minutes_text(std::uint64_t ms) {
  constexpr std::uint64_t kMinuteMs = 60'000;
  constexpr std::uint64_t kHourMs = 60 * kMinuteMs;
  return ms < 2 * kHourMs ? std::to_string(ms / kMinuteMs) + " min"
                          : std::to_string(ms / kHourMs) + " h";
}

/// The reason that keeps the job from its start.
std::string in_the_way(const State& state, Capacity& capacity, const OwedWait& wait) {
  if (state.awaits_hosts()) {
    return "after a recovery the queues wait for hosts";
  }
  const Job& job = *state.job(wait.job);
  const Request& request = job.spec.request;
  const std::string type = request.gpus == 0 ? "" : written_type(state, wait.pool);
  const std::uint32_t free = capacity.free_for(job, type, {});
  if (free >= request.units()) {
    return "it fits now, and others go first";
  }
  const std::uint64_t all = state.shares().share(kRootQueue, wait.pool).held;
  const std::uint64_t own = state.shares().share(wait.queue, wait.pool).held;
  return std::to_string(free) + " of the " + std::to_string(request.units()) +
         (request.gpus == 0 ? " ranks" : " GPUs") + " of the job fit now" +
         (all > own ? ", other queues hold " + whole_text(all - own) : "");
}

}  // namespace

std::uint64_t waited_ms(const State& state, Duration since, std::int64_t since_unix_ms,
                        std::int64_t now_unix_ms) {
  const std::int64_t ms = since_unix_ms > 0 && now_unix_ms > 0
                              ? now_unix_ms - since_unix_ms
                              : to_ms(state.cluster_time() - since);
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, ms));
}

std::vector<OwedWait> owed_waits(const State& state, Capacity& capacity, const LeafQueues& queue,
                                 std::int64_t now_unix_ms, Duration least) {
  return OwedSearch(state, capacity, queue, now_unix_ms, least).find();
}

std::string owed_text(const State& state, Capacity& capacity, const OwedWait& wait) {
  const std::string_view words = pool_words(wait.key);
  return state.queues().at(wait.queue).node.path + " is owed " + whole_text(wait.owed) + " " +
         (words.empty() ? written_type(state, wait.key) : std::string(words)) + " and waits " +
         minutes_text(wait.waited_ms) + ": " + in_the_way(state, capacity, wait);
}

}  // namespace muster::scheduler
