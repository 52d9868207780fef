#include "agent/front/queue_model.h"

#include <cstdint>
#include <utility>

#include "agent/front/fleet_pools.h"

namespace muster::agent {
namespace {

using scheduler::QueueNumber;
using scheduler::State;

/// 0 if the user may not see the job.
JobId named_job(const QueueViews& views, JobId job) {
  return views.sight == nullptr || views.sight->sees(job) ? job : JobId();
}

std::vector<TierWaits> waits_of(const QueueCounts& counts, const QueueViews& views) {
  std::vector<TierWaits> waits;
  for (const auto& [tier, counted] : counts.waits) {
    waits.push_back(counted);
    waits.back().tier = scheduler::text_of(tier);
    waits.back().longest = named_job(views, counted.longest);
  }
  return waits;
}

void mark_owed(const QueueViews& views, QueueNumber queue, PoolUse& use) {
  for (const scheduler::OwedWait& wait : views.owed) {
    if (wait.queue == queue && wait.pool == use.pool) {
      use.owed_wait_ms = wait.waited_ms;
      use.owed_job = named_job(views, wait.job);
    }
  }
}

}  // namespace

std::set<std::string> pools_in_use(const State& state, const QueueLoad& load) {
  std::set<std::string> pools;
  for (const auto& [pool, shares] : state.shares().pools()) {
    pools.insert(pool);
  }
  for (const auto& [pool, waiting] : load.pools) {
    pools.insert(pool);
  }
  return pools;
}

bool is_owed_there(const State& state, const QueueLoad& load, QueueNumber queue,
                   const std::string& pool) {
  const WaitingJobs waiting = load.waiting(queue, pool);
  return waiting.count != 0 &&
         state.shares().is_owed(state.queues(), queue, pool, waiting.least_charge);
}

QueueList queue_list(const State& state, const QueueViews& views) {
  const FleetPools fleet = fleet_pools(state);
  const QueueLoad load = queue_load(state, fleet, views.now_unix_ms);
  const std::set<std::string> pools = pools_in_use(state, load);
  QueueList list;
  list.version = state.queues().version();
  list.tree = state.queues().tree();
  list.fleet = fleet.gpus;
  std::size_t listed = 0;
  const auto& all = state.queues().all();
  for (std::uint32_t i = 1; i < all.size(); ++i) {
    const QueueNumber number{i};
    QueueUse use;
    use.path = all[i].node.path;
    use.is_leaf = all[i].is_leaf();
    use.pending = load.counts[i].pending;
    use.running = load.counts[i].running;
    use.waits = waits_of(load.counts[i], views);
    use.longest_wait_ms = use.all_waits().longest_ms;
    for (const std::string& pool : pools) {
      const std::uint64_t held = state.shares().share(number, pool).held;
      if (listed < kPoolUsesMax && (held != 0 || load.waiting(number, pool).count != 0)) {
        use.pools.push_back({pool, held, is_owed_there(state, load, number, pool)});
        mark_owed(views, number, use.pools.back());
        ++listed;
      }
    }
    list.uses.push_back(std::move(use));
  }
  return list;
}

}  // namespace muster::agent
