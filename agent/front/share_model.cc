#include "agent/front/share_model.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "agent/front/fleet_pools.h"
#include "agent/front/queue_load.h"
#include "agent/front/queue_model.h"

namespace muster::agent {
namespace {

using scheduler::kRootQueue;
using scheduler::QueueNumber;
using scheduler::QueueRecord;
using scheduler::Share;
using scheduler::State;

constexpr std::uint64_t kThousandths = 1000;

/// A pool, and the parts of it that belong to the queues by their weights.
struct PoolShares {
  std::string pool;
  std::string name;
  std::uint64_t size = 0;
  Share total;
  std::vector<std::uint64_t> parts;  ///< By number, in thousandths.
  /// By number: the weights of a queue and of its siblings that hold something or wait.
  std::vector<std::uint64_t> weights;
  std::set<QueueNumber> next;  ///< The queues of the job that is tried next.
  std::string next_user;
};

/// One user of a leaf.
struct UserShare {
  Share share;
  WaitingJobs waiting;
  bool is_active() const { return share.held != 0 || waiting.count != 0; }
};

/// Its approximate size in a message.
std::size_t share_bytes(const ShareInfo& row) {
  return 100 + row.path.size() + row.user.size() + row.pool.size() + row.pool_name.size() +
         row.at_max.size();
}

class ShareRows {
 public:
  ShareRows(const State& state, const FirstIn& first_in, const JobSight& sight)
      : state_(state), sight_(sight), fleet_(fleet_pools(state)), load_(queue_load(state, fleet_)) {
    for (const std::string& pool : pools_in_use(state, load_)) {
      pools_.push_back(shares_of(pool));
      find_next(first_in(pool), pools_.back());
    }
    add_guaranteed();
  }

  void add(QueueNumber queue) {
    for (const PoolShares& pool : pools_) {
      const Share share = state_.shares().share(queue, pool.pool);
      const WaitingJobs waiting = load_.waiting(queue, pool.pool);
      if (share.held == 0 && share.mean == 0 && waiting.count == 0) {
        continue;
      }
      rows_.push_back(row_of(pool, queue, share, waiting));
      ShareInfo& row = rows_.back();
      row.part = pool.parts[index_of(queue)];
      row.weight = record(queue).node.weight;
      row.weights = pool.weights[index_of(queue)];
      row.is_owed = is_owed_there(state_, load_, queue, pool.pool);
      row.is_next = pool.next.contains(queue);
      row.borrowed = share.held - std::min(share.held, guaranteed(queue, pool.pool));
      if (record(queue).is_leaf() && !record(queue).node.is_fifo) {
        add_users(pool, queue);
      }
    }
  }

  std::size_t bytes_of_queues() const {
    std::size_t size = 0;
    for (const ShareInfo& row : rows_) {
      size += share_bytes(row);
    }
    return size;
  }

  /// The rows of queues, each with those of its users behind it.
  std::vector<ShareInfo> take() {
    keep_largest_users();
    std::vector<ShareInfo> all;
    auto user = users_.begin();
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      all.push_back(std::move(rows_[i]));
      for (; user != users_.end() && user->first == i; ++user) {
        all.push_back(std::move(user->second));
      }
    }
    return all;
  }

 private:
  /// Adds up what attempts hold where they are guaranteed.
  void add_guaranteed() {
    for (const auto& [token, claim] : state_.guarantees().claims()) {
      if (state_.attempt(token) == nullptr) {
        continue;  // A job claims it for which others give way: it does not hold it yet.
      }
      std::vector<QueueNumber> path;
      for (QueueNumber at = claim.queue; at != kRootQueue; at = record(at).parent) {
        path.push_back(at);
      }
      for (std::size_t depth = 0; depth < path.size(); ++depth) {
        if (claim.cover.is_at(depth)) {
          guaranteed_[{path[path.size() - 1 - depth], claim.pool}] += claim.charge;
        }
      }
    }
  }

  std::uint64_t guaranteed(QueueNumber queue, const std::string& pool) const {
    const auto found = guaranteed_.find({queue, pool});
    return found == guaranteed_.end() ? 0 : found->second;
  }

  const QueueRecord& record(QueueNumber queue) const { return state_.queues().at(queue); }

  bool is_active(QueueNumber queue, const std::string& pool) const {
    return state_.shares().share(queue, pool).held != 0 || load_.waiting(queue, pool).count != 0;
  }

  PoolShares shares_of(const std::string& pool) const {
    const auto& all = state_.queues().all();
    PoolShares shares;
    shares.pool = pool;
    shares.name = name_of_pool(fleet_, pool);
    shares.size = size_of_pool(fleet_, state_, pool);
    shares.total = state_.shares().share(kRootQueue, pool);
    std::vector<std::uint64_t> active(all.size());  // Weights of the children that count.
    for (std::uint32_t i = 1; i < all.size(); ++i) {
      active[index_of(all[i].parent)] += is_active(QueueNumber{i}, pool) ? all[i].node.weight : 0;
    }
    shares.parts.assign(all.size(), shares.size * kThousandths);
    shares.weights.assign(all.size(), 1);
    for (std::uint32_t i = 1; i < all.size(); ++i) {  // Parents have lower numbers.
      const std::uint64_t weight = all[i].node.weight;
      const std::uint32_t parent = index_of(all[i].parent);
      shares.weights[i] = active[parent] + (is_active(QueueNumber{i}, pool) ? 0 : weight);
      shares.parts[i] = shares.parts[parent] * weight / shares.weights[i];
    }
    return shares;
  }

  void find_next(std::optional<JobId> job, PoolShares& pool) const {
    const scheduler::Job* next = job.has_value() ? state_.job(*job) : nullptr;
    if (next == nullptr) {
      return;
    }
    QueueNumber queue = state_.queues().number_of(next->spec.queue);
    pool.next_user =
        state_.shares()
            .settled(state_.queues(), {record(queue).node.path, next->spec.user, pool.pool})
            .user;
    for (; queue != kRootQueue; queue = record(queue).parent) {
      pool.next.insert(queue);
    }
  }

  /// A row as far as rows of queues and users are alike.
  ShareInfo row_of(const PoolShares& pool, QueueNumber queue, const Share& share,
                   const WaitingJobs& waiting) const {
    ShareInfo row;
    row.path = record(queue).node.path;
    row.pool = pool.pool;
    row.pool_name = pool.name;
    row.held = share.held;
    row.pool_held = pool.total.held;
    row.pool_size = pool.size;
    row.mean_permille = pool.total.mean == 0 ? 0 : share.mean * kThousandths / pool.total.mean;
    row.credit_permille = share.credit * kThousandths / scheduler::kCreditOne;
    row.pending = waiting.count;
    QueueNumber full = kRootQueue;
    if (waiting.count != 0 &&
        state_.shares().room(state_.queues(), queue, pool.pool, &full) < waiting.least_charge) {
      row.at_max = record(full).node.path;
    }
    return row;
  }

  std::map<std::string, UserShare> users_of(const PoolShares& pool, QueueNumber queue) const {
    std::map<std::string, UserShare> users;
    const auto first = std::pair(queue, std::string());
    const auto shares = state_.shares().pools().find(pool.pool);
    if (shares != state_.shares().pools().end()) {
      const auto& all = shares->second.users;
      for (auto at = all.lower_bound(first); at != all.end() && at->first.first == queue; ++at) {
        users[at->first.second].share = at->second;
      }
    }
    if (const auto waiting = load_.pools.find(pool.pool); waiting != load_.pools.end()) {
      const auto& all = waiting->second.users;
      for (auto at = all.lower_bound(first); at != all.end() && at->first.first == queue; ++at) {
        users[at->first.second].waiting = at->second;
      }
    }
    return users;
  }

  /// Behind the row of their queue, which is the last one.
  void add_users(const PoolShares& pool, QueueNumber queue) {
    const std::map<std::string, UserShare> users = users_of(pool, queue);
    const auto active = static_cast<std::uint64_t>(std::count_if(
        users.begin(), users.end(), [](const auto& each) { return each.second.is_active(); }));
    for (const auto& [user, found] : users) {
      if (!sight_.sees_user(user)) {
        continue;
      }
      ShareInfo row = row_of(pool, queue, found.share, found.waiting);
      row.user = user;
      row.weights = active + (found.is_active() ? 0 : 1);
      row.part = pool.parts[index_of(queue)] / row.weights;
      row.is_next = pool.next.contains(queue) && pool.next_user == user;
      users_.emplace_back(rows_.size() - 1, std::move(row));
    }
  }

  /// Leaves the users in the order of the rows of their queues, most held first.
  void keep_largest_users() {
    std::stable_sort(users_.begin(), users_.end(),
                     [](const auto& a, const auto& b) { return a.second.held > b.second.held; });
    std::size_t size = bytes_of_queues();
    std::size_t kept = 0;
    while (kept < users_.size() && kept < kUserSharesListedMax) {
      size += share_bytes(users_[kept].second);
      if (size > kSharesBytes) {
        break;
      }
      ++kept;
    }
    users_.resize(kept);
    std::stable_sort(users_.begin(), users_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
  }

  const State& state_;
  const JobSight& sight_;
  const FleetPools fleet_;
  const QueueLoad load_;
  std::vector<PoolShares> pools_;
  std::map<std::pair<QueueNumber, std::string>, std::uint64_t> guaranteed_;  ///< Thousandths.
  std::vector<ShareInfo> rows_;                                              ///< Of queues.
  std::vector<std::pair<std::size_t, ShareInfo>> users_;  ///< With the index in `rows_`.
};

}  // namespace

Result<ShareList> share_list(const State& state, const FirstIn& first_in, const std::string& path,
                             const JobSight& sight) {
  const scheduler::QueueBook& queues = state.queues();
  if (!path.empty() && !queues.find(path).has_value()) {
    return Error{ErrorCode::kNotFound,
                 "there is no queue '" + path + "'; `muster queue` lists them"};
  }
  ShareRows rows(state, first_in, sight);
  const std::string below = path + "/";
  for (std::uint32_t i = 1; i < queues.all().size(); ++i) {
    const std::string& each = queues.all()[i].node.path;
    if (path.empty() || each == path || each.starts_with(below)) {
      rows.add(QueueNumber{i});
    }
  }
  if (rows.bytes_of_queues() > kSharesBytes) {
    return Error{ErrorCode::kInvalid,
                 "one answer does not hold the shares of so many queues; name one of them"};
  }
  ShareList list;
  list.half_life_ms = static_cast<std::uint64_t>(to_ms(queues.half_life()));
  list.shares = rows.take();
  return list;
}

}  // namespace muster::agent
