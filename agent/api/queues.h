#pragma once
// The tree of queues and their shares, as clients change it and as voters describe them.

#include <cstdint>
#include <string>
#include <vector>

#include "gossip/base/ids.h"
#include "scheduler/protocol/queues.h"

namespace muster::agent {

/// A pool of one queue. Amounts are thousandths of a GPU, or of a CPU in the pool of jobs without
/// GPUs.
struct PoolUse {
  std::string pool;  ///< A folded GPU type, kCpuPool or kOtherPool.
  std::uint64_t held = 0;
  bool is_owed = false;  ///< A job waits that fits into what is left of the guarantee.
  // Older nodes do not send the fields below.
  /// The wait of its next job there, if the guarantee covers that job and it has waited for
  /// scheduler::kOwedWaitTold; else 0.
  std::uint64_t owed_wait_ms = 0;
  JobId owed_job{};  ///< That job; 0 = no job, or this user may not see it.
  bool operator==(const PoolUse&) const = default;
};

/// The jobs of one tier that wait in a queue, and below it; tasks of arrays, too. They wait since
/// their submit.
struct TierWaits {
  std::string tier;  ///< scheduler::text_of(Tier); "" = all tiers.
  std::uint64_t count = 0;
  std::uint64_t over_10_min = 0;
  std::uint64_t over_30_min = 0;
  std::uint64_t longest_ms = 0;
  JobId longest{};  ///< The first job that waits so long; 0 = this user may not see it.
  bool operator==(const TierWaits&) const = default;

  void add(const TierWaits& more) {
    count += more.count;
    over_10_min += more.over_10_min;
    over_30_min += more.over_30_min;
    const bool is_first =
        longest_ms == more.longest_ms && array_of(more.longest) < array_of(longest);
    if (count == more.count || more.longest_ms > longest_ms || (more.count != 0 && is_first)) {
      longest_ms = more.longest_ms;
      longest = more.longest;
    }
  }
};

struct QueueUse {
  std::string path;
  bool is_leaf = false;
  std::vector<PoolUse> pools{};  ///< Pools of which it holds some, or in which jobs wait.
  std::uint64_t pending = 0;     ///< Jobs and tasks that wait in it, and below it, for a time too.
  std::uint64_t running = 0;     ///< Jobs with an attempt.
  std::uint64_t longest_wait_ms = 0;  ///< Of its jobs that wait, since they may start.
  /// Tiers of which jobs wait, the highest first. Older nodes do not send it.
  std::vector<TierWaits> waits{};
  bool operator==(const QueueUse&) const = default;

  TierWaits all_waits() const {
    TierWaits all;
    for (const TierWaits& each : waits) {
      all.add(each);
    }
    return all;
  }
};

struct QueueList {
  std::uint64_t version = 0;  ///< 0 = nobody has set queues.
  scheduler::QueueTree tree;  ///< As its owners wrote it.
  /// All queues in the order of the tree: those that it names, their parents, and the queue
  /// default.
  std::vector<QueueUse> uses;
  /// GPUs of the fleet by folded type, without hosts that have left.
  scheduler::QueueAmounts fleet{};
  bool operator==(const QueueList&) const = default;
};

struct SetQueuesArgs {
  std::uint64_t expected = 0;  ///< QueueList::version that the change was made from.
  scheduler::QueueTree tree;
  std::vector<scheduler::QueueMove> moves{};
  bool operator==(const SetQueuesArgs&) const = default;
};

struct SharesQuery {
  std::string path;  ///< This queue and those below it; "" = all.
  bool operator==(const SharesQuery&) const = default;
};

/// The share of one queue, or of one user of a leaf, in one pool.
struct ShareInfo {
  std::string path;
  std::string user{};           ///< "" = the queue itself.
  std::string pool;             ///< As PoolUse::pool.
  std::string pool_name;        ///< As hosts write the type: "H100"; "CPUs".
  std::uint64_t held = 0;       ///< Thousandths.
  std::uint64_t pool_held = 0;  ///< Thousandths that all queues hold of the pool.
  std::uint64_t pool_size = 0;  ///< GPUs or CPUs of hosts that have not left.
  /// Thousandths: its part of that by weights, among siblings that hold something or wait.
  std::uint64_t part = 0;
  std::uint64_t weight = 1;
  std::uint64_t weights = 1;        ///< Of it and those siblings.
  std::uint64_t mean_permille = 0;  ///< Of the decayed mean of the whole pool.
  std::uint64_t credit_permille = 1000;
  std::uint64_t pending = 0;
  bool is_owed = false;
  bool is_next = false;  ///< The next job of the pool that is tried is below it.
  std::string at_max{};  ///< The queue whose max keeps its next job out; "" = none does.
  /// Thousandths of `held` that the guarantee of the queue does not cover; not known of a user.
  std::uint64_t borrowed = 0;
  bool operator==(const ShareInfo&) const = default;
};

struct ShareList {
  std::uint64_t half_life_ms = 0;
  std::vector<ShareInfo> shares;
  bool operator==(const ShareList&) const = default;
};

/// The payload of the refusal of a request that came too early.
struct RetryAfter {
  std::uint64_t ms = 0;  ///< At least 1.
  bool operator==(const RetryAfter&) const = default;
};

}  // namespace muster::agent
