#include "agent/front/queue_load.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "agent/front/wait_model.h"
#include "scheduler/policy/owed_waits.h"
#include "scheduler/protocol/request.h"
#include "scheduler/state/charge.h"

namespace muster::agent {
namespace {

using scheduler::AttemptShare;
using scheduler::JobState;
using scheduler::QueueNumber;
using scheduler::State;
using scheduler::Tier;

constexpr std::uint64_t kTenMinutesMs = 10 * 60'000;
constexpr std::uint64_t kThirtyMinutesMs = 30 * 60'000;

/// Jobs of one user in one queue that accept the same GPU types: there are far fewer such groups
/// than jobs.
struct WaitingGroup {
  QueueNumber queue{};
  std::string user;
  bool has_gpus = true;
  std::vector<std::string> types;

  bool operator<(const WaitingGroup& other) const {
    return std::tie(queue, user, has_gpus, types) <
           std::tie(other.queue, other.user, other.has_gpus, other.types);
  }
};

class LoadCounter {
 public:
  LoadCounter(const State& state, const FleetPools& fleet, std::int64_t now_unix_ms)
      : state_(state), fleet_(fleet), now_unix_ms_(now_unix_ms) {
    load_.counts.resize(state.queues().all().size());
  }

  QueueLoad count() {
    for (const auto& [id, job] : state_.jobs()) {
      add(job);
    }
    for (const auto& [id, array] : state_.arrays()) {
      const std::uint64_t waiting = array.has_ended() ? 0 : array.folded() - array.skipped_count();
      if (is_waiting(array)) {
        add_pending(array.spec, waiting);
      } else {
        add_waiting(array.spec, id, waiting,
                    wait_ms(array.wait, array.submitted_at, array.submitted_unix_ms));
      }
    }
    for (const auto& [group, jobs] : groups_) {
      spread(group, jobs);
    }
    add_to_parents();
    return std::move(load_);
  }

 private:
  void add(const scheduler::Job& job) {
    switch (job.life.state) {
      case JobState::kQueued:
        if (job.is_waiting()) {
          add_pending(job.spec, 1);
        } else {
          add_waiting(
              job.spec, job.id, 1,
              wait_ms(job.life.wait, job.history.submitted_at, job.history.submitted_unix_ms));
        }
        break;
      case JobState::kScheduled:
      case JobState::kRunning:
      case JobState::kStopping:
        ++counts_of(state_.queues().number_of(job.spec.queue)).running;
        break;
      case JobState::kSuspended:
      case JobState::kCompleted:
      case JobState::kFailed:
      case JobState::kCancelled:
        break;
    }
  }

  /// As OwedWait::waited_ms: the time before its conditions were met does not count.
  std::uint64_t wait_ms(const scheduler::JobWait& wait, Duration since,
                        std::int64_t since_unix_ms) const {
    return wait.over_at > since ? scheduler::waited_ms(state_, wait.over_at, 0, now_unix_ms_)
                                : scheduler::waited_ms(state_, since, since_unix_ms, now_unix_ms_);
  }

  /// Jobs that wait for others, or for their begin, ask for nothing yet.
  void add_pending(const scheduler::JobSpec& spec, std::uint64_t count) {
    counts_of(state_.queues().number_of(spec.queue)).pending += count;
  }

  void add_waiting(const scheduler::JobSpec& spec, JobId job, std::uint64_t count,
                   std::uint64_t waited_ms) {
    if (count == 0) {
      return;
    }
    const QueueNumber queue = state_.queues().number_of(spec.queue);
    QueueCounts& counts = counts_of(queue);
    counts.pending += count;
    const Tier tier = spec.tier == Tier::kNone ? Tier::kStandard : spec.tier;
    counts.waits[tier].add({"", count, waited_ms > kTenMinutesMs ? count : 0,
                            waited_ms > kThirtyMinutesMs ? count : 0, waited_ms, job});
    const bool has_gpus = spec.request.gpus != 0;
    const bool is_fifo = state_.queues().at(queue).node.is_fifo;
    groups_[{queue, is_fifo ? "" : spec.user, has_gpus,
             has_gpus ? spec.request.gpu_types : std::vector<std::string>()}]
        .add({count, scheduler::least_charge_of(spec)});
  }

  /// Types that no host has are left out, unless the jobs accept no others.
  std::vector<std::string> pools_of(const WaitingGroup& group) const {
    if (!group.has_gpus) {
      return {std::string(scheduler::kCpuPool)};
    }
    std::vector<std::string> pools;
    for (const std::string& type : group.types) {
      std::string pool = scheduler::folded(type);
      if (fleet_.gpus.contains(pool)) {
        pools.push_back(std::move(pool));
      }
    }
    if (pools.empty() && !group.types.empty()) {
      pools.push_back(scheduler::folded(group.types.front()));
    }
    if (group.types.empty()) {
      for (const auto& [pool, gpus] : fleet_.gpus) {
        pools.push_back(pool);
      }
    }
    return pools;
  }

  /// Adds the group to the pools and users to which its jobs would be charged, once to each.
  void spread(const WaitingGroup& group, const WaitingJobs& jobs) {
    const scheduler::QueueBook& queues = state_.queues();
    std::set<std::pair<std::string, std::string>> told;
    for (std::string& pool : pools_of(group)) {
      AttemptShare share = state_.shares().settled(
          queues, AttemptShare{queues.at(group.queue).node.path, group.user, std::move(pool)});
      if (!told.emplace(share.pool, share.user).second) {
        continue;
      }
      WaitingInPool& in_pool = load_.pools[share.pool];
      in_pool.queues.resize(queues.all().size());
      in_pool.queues[index_of(group.queue)].add(jobs);
      if (!share.user.empty()) {
        in_pool.users[{group.queue, std::move(share.user)}].add(jobs);
      }
    }
  }

  /// A parent has a lower number than its children.
  void add_to_parents() {
    const auto& all = state_.queues().all();
    for (std::size_t number = all.size() - 1; number > 0; --number) {
      const std::size_t parent = index_of(all[number].parent);
      const QueueCounts& below = load_.counts[number];
      QueueCounts& counts = load_.counts[parent];
      counts.pending += below.pending;
      counts.running += below.running;
      for (const auto& [tier, waits] : below.waits) {
        counts.waits[tier].add(waits);
      }
      for (auto& [pool, waiting] : load_.pools) {
        waiting.queues[parent].add(waiting.queues[number]);
      }
    }
  }

  QueueCounts& counts_of(QueueNumber queue) { return load_.counts[index_of(queue)]; }

  const State& state_;
  const FleetPools& fleet_;
  const std::int64_t now_unix_ms_;
  QueueLoad load_;
  std::map<WaitingGroup, WaitingJobs> groups_;
};

}  // namespace

void WaitingJobs::add(const WaitingJobs& more) {
  count += more.count;
  least_charge = std::min(least_charge, more.least_charge);
}

WaitingJobs QueueLoad::waiting(QueueNumber queue, std::string_view pool) const {
  const auto found = pools.find(pool);
  return found == pools.end() ? WaitingJobs() : found->second.queues.at(index_of(queue));
}

QueueLoad queue_load(const State& state, const FleetPools& fleet, std::int64_t now_unix_ms) {
  return LoadCounter(state, fleet, now_unix_ms).count();
}

}  // namespace muster::agent
