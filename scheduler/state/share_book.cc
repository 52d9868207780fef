#include "scheduler/state/share_book.h"

#include <algorithm>

#include "gossip/base/check.h"
#include "scheduler/protocol/mutants.h"

namespace muster::scheduler {
namespace {

__extension__ using WideShare = unsigned __int128;

/// Thousandths of one GPU or CPU.
constexpr std::uint64_t kThousandths = 1000;
constexpr unsigned kStepBits = 32;
/// ln 2, with kStepBits fractional bits.
constexpr std::uint64_t kLn2 = 2'977'044'472;

/// The part of the way to what is held that a mean goes in a minute: 1 - 2^(-1 min / half-life),
/// with kStepBits fractional bits. The terms left out are below a ten-millionth of it for
/// half-lives from kHalfLifeMin on.
std::uint64_t step_of(Duration half_life) {
  const auto minute = static_cast<std::uint64_t>(kSampleEvery.count());
  const auto whole = static_cast<std::uint64_t>(std::max(half_life, kHalfLifeMin).count());
  const auto x = static_cast<std::uint64_t>(WideShare{kLn2} * minute / whole);
  const std::uint64_t square = x * x >> kStepBits;
  return x - square / 2 + (square * x >> kStepBits) / 6;
}

/// Rounds the step up, so that a mean reaches what is held, and so that of nothing held 0.
std::uint64_t mean_after(std::uint64_t mean, std::uint64_t target, std::uint64_t step) {
  const std::uint64_t way = mean < target ? target - mean : mean - target;
  const WideShare exact = WideShare{way} * step;
  const auto gone =
      static_cast<std::uint64_t>((exact + (WideShare{1} << kStepBits) - 1) >> kStepBits);
  return mean < target ? mean + gone : mean - gone;
}

void pass_minutes(Share& share, std::int64_t minutes, std::uint64_t step) {
  const std::uint64_t target = share.held << kMeanBits;
  for (std::int64_t i = 0; i < minutes && share.mean != target; ++i) {
    share.mean = mean_after(share.mean, target, step);
  }
}

bool is_empty_share(const Share& share) {
  return share.held == 0 && share.mean == 0;
}

bool is_empty_pool(const ShareBook::Pool& pool) {
  return pool.users.empty() && std::all_of(pool.queues.begin(), pool.queues.end(), is_empty_share);
}

/// The users of one leaf are siblings of equal weight.
void credit_users(ShareBook::Pool& pool, std::uint64_t total) {
  for (auto first = pool.users.begin(); first != pool.users.end();) {
    std::uint64_t means = 0;
    std::uint64_t count = 0;
    auto last = first;
    for (; last != pool.users.end() && last->first.first == first->first.first; ++last) {
      means += last->second.mean;
      ++count;
    }
    for (; first != last; ++first) {
      first->second.credit = credit_of(first->second.mean, 1, means, count, total);
    }
  }
}

void credit_all(ShareBook::Pool& pool, const QueueBook& queues) {
  const std::uint64_t total = pool.queues.at(index_of(kRootQueue)).mean;
  for (const QueueRecord& parent : queues.all()) {
    std::uint64_t means = 0;
    std::uint64_t weights = 0;
    for (const QueueNumber child : parent.children) {
      means += pool.queues.at(index_of(child)).mean;
      weights += queues.at(child).node.weight;
    }
    for (const QueueNumber child : parent.children) {
      Share& share = pool.queues.at(index_of(child));
      share.credit = credit_of(share.mean, queues.at(child).node.weight, means, weights, total);
    }
  }
  credit_users(pool, total);
}

/// Calls `visit` with the queue and all above it, the root last.
template <class Visit>
void on_path(const QueueBook& queues, QueueNumber queue, Visit visit) {
  visit(queue);
  while (queue != kRootQueue) {
    queue = queues.at(queue).parent;
    visit(queue);
  }
}

/// Where the mean of a leaf goes that was called `path`: to that queue, or the nearest above it
/// that the tree still has; nullopt if it has none of them.
std::optional<QueueNumber> heir_of(const QueueBook& queues, std::string_view path) {
  for (; !path.empty(); path = parent_path(path)) {
    if (const auto found = queues.find(path); found.has_value()) {
      return found;
    }
  }
  return std::nullopt;
}

/// nullopt: the amounts do not name it.
std::optional<std::uint64_t> amount_of(const QueueAmounts& amounts, std::string_view key) {
  const auto found = amounts.find(key);
  return found == amounts.end() ? std::nullopt : std::optional(found->second * kThousandths);
}

std::string_view key_of_pool(std::string_view pool) {
  return pool == kCpuPool ? kCpus : pool;
}

}  // namespace

std::uint32_t credit_of(std::uint64_t mean, std::uint64_t weight, std::uint64_t means,
                        std::uint64_t weights, std::uint64_t total) {
  if (means == 0) {
    return kCreditOne;
  }
  constexpr std::uint64_t kPercents = 100;
  const WideShare due = WideShare{weight} * (WideShare{means} * kPercents + total);
  const WideShare had = WideShare{mean} * kPercents * weights + WideShare{total} * weight;
  if (had == 0) {
    return kCreditMax;
  }
  const std::uint32_t most =
      mutant(SchedulerMutant::kCreditUnbounded) ? kCreditMax * kCreditMax : kCreditMax;
  return static_cast<std::uint32_t>(
      std::clamp<WideShare>(due * kCreditOne / had, kCreditMin, most));
}

std::uint64_t mean_after_minute(std::uint64_t mean, std::uint64_t held, Duration half_life) {
  return mean_after(mean, held << kMeanBits, step_of(half_life));
}

ShareBook::ShareBook(Pools pools, Duration sampled_at)
    : pools_(std::move(pools)), sampled_at_(sampled_at) {
  for (auto& [name, pool] : pools_) {
    for (Share& share : pool.queues) {
      share.held = 0;
    }
    for (auto& [key, share] : pool.users) {
      share.held = 0;
    }
    std::erase_if(pool.users, [](const auto& user) { return is_empty_share(user.second); });
  }
  std::erase_if(pools_, [](const auto& pool) { return is_empty_pool(pool.second); });
  for (const auto& [name, pool] : pools_) {
    users_ += pool.users.size();
    held_gpus_.resize(pool.queues.size());
  }
}

AttemptShare ShareBook::settled(const QueueBook& queues, AttemptShare share) const {
  if (share.pool != kCpuPool && !pools_.contains(share.pool) && pools_.size() >= kPoolsMax) {
    share.pool = kOtherPool;
  }
  if (share.user.empty() || users_ < kUserSharesMax) {
    return share;
  }
  const auto pool = pools_.find(share.pool);
  if (pool == pools_.end() ||
      !pool->second.users.contains({queues.number_of(share.queue), share.user})) {
    share.user = kOtherUsers;
  }
  return share;
}

Share* ShareBook::user_share(Pool& pool, const QueueBook& queues, const AttemptShare& share) {
  if (share.user.empty()) {
    return nullptr;
  }
  const auto [row, is_new] = pool.users.try_emplace({queues.number_of(share.queue), share.user});
  users_ += is_new ? 1 : 0;
  return &row->second;
}

void ShareBook::add(const QueueBook& queues, const AttemptShare& share, std::uint64_t charge) {
  Pool& pool = pools_[share.pool];
  pool.queues.resize(queues.all().size());
  held_gpus_.resize(queues.all().size());
  on_path(queues, queues.number_of(share.queue), [&](QueueNumber queue) {
    pool.queues[index_of(queue)].held += charge;
    held_gpus_[index_of(queue)] += share.pool == kCpuPool ? 0 : charge;
  });
  if (Share* const user = user_share(pool, queues, share); user != nullptr) {
    user->held += charge;
  }
}

void ShareBook::remove(const QueueBook& queues, const AttemptShare& share, std::uint64_t charge) {
  const auto found = pools_.find(share.pool);
  CHECK(found != pools_.end());
  Pool& pool = found->second;
  on_path(queues, queues.number_of(share.queue), [&](QueueNumber queue) {
    CHECK(pool.queues.at(index_of(queue)).held >= charge);
    pool.queues[index_of(queue)].held -= charge;
    held_gpus_[index_of(queue)] -= share.pool == kCpuPool ? 0 : charge;
  });
  if (Share* const user = user_share(pool, queues, share); user != nullptr) {
    CHECK(user->held >= charge);
    user->held -= charge;
    if (is_empty_share(*user)) {
      pool.users.erase({queues.number_of(share.queue), share.user});
      --users_;
    }
  }
  // Rows that are not kept can be derived: a snapshot has no rows of shares held once.
  if (is_empty_share(pool.queues[index_of(kRootQueue)]) && is_empty_pool(pool)) {
    pools_.erase(found);
    held_gpus_.resize(pools_.empty() ? 0 : held_gpus_.size());
  }
}

bool ShareBook::sample(const QueueBook& queues, Duration cluster_time) {
  const std::int64_t minutes = (cluster_time - sampled_at_) / kSampleEvery;
  if (minutes <= 0) {
    return false;
  }
  sampled_at_ += minutes * kSampleEvery;
  // Before anybody sets queues there is one queue, which has all: its mean says nothing.
  if (!queues.is_set() || pools_.empty()) {
    return false;
  }
  const std::uint64_t step = step_of(queues.half_life());
  for (auto& [name, pool] : pools_) {
    for (Share& share : pool.queues) {
      pass_minutes(share, mutant(SchedulerMutant::kDecayTwice) ? 2 * minutes : minutes, step);
    }
    for (auto& [key, share] : pool.users) {
      pass_minutes(share, minutes, step);
    }
    users_ -=
        std::erase_if(pool.users, [](const auto& user) { return is_empty_share(user.second); });
    credit_all(pool, queues);
  }
  std::erase_if(pools_, [](const auto& pool) { return is_empty_pool(pool.second); });
  held_gpus_.resize(pools_.empty() ? 0 : held_gpus_.size());
  return true;
}

void ShareBook::retell(const QueueBook& before, const QueueBook& after,
                       const std::function<std::string(const std::string&)>& moved) {
  std::vector<std::optional<QueueNumber>> heirs;
  for (const QueueRecord& queue : before.all()) {
    heirs.push_back(queue.is_leaf() ? heir_of(after, moved(queue.node.path)) : std::nullopt);
  }
  Pools pools;
  for (const auto& [name, pool] : pools_) {
    Pool& told = pools[name];
    told.queues.resize(after.all().size());
    for (std::size_t i = 0; i < heirs.size(); ++i) {
      if (heirs[i].has_value()) {
        on_path(after, *heirs[i], [&](QueueNumber queue) {
          told.queues[index_of(queue)].mean += pool.queues.at(i).mean;
        });
      }
    }
    for (const auto& [key, share] : pool.users) {
      const std::optional<QueueNumber> heir = heirs.at(index_of(key.first));
      if (heir.has_value() && after.at(*heir).is_leaf() && !after.at(*heir).node.is_fifo) {
        told.users[{*heir, key.second}].mean += share.mean;
      }
    }
    credit_all(told, after);
  }
  *this = ShareBook(std::move(pools), sampled_at_);
}

Share ShareBook::share(QueueNumber queue, std::string_view pool) const {
  const auto found = pools_.find(pool);
  return found == pools_.end() ? Share() : found->second.queues.at(index_of(queue));
}

Share ShareBook::share(QueueNumber queue, const std::string& user, std::string_view pool) const {
  const auto found = pools_.find(pool);
  if (found == pools_.end()) {
    return {};
  }
  const auto row = found->second.users.find({queue, user});
  return row == found->second.users.end() ? Share() : row->second;
}

std::uint64_t ShareBook::held_gpus(QueueNumber queue) const {
  return held_gpus_.empty() ? 0 : held_gpus_.at(index_of(queue));
}

std::uint64_t ShareBook::room(const QueueBook& queues, QueueNumber queue, std::string_view pool,
                              QueueNumber* at) const {
  std::uint64_t least = UINT64_MAX;
  if (mutant(SchedulerMutant::kQueueMaxIgnored)) {
    return least;
  }
  on_path(queues, queue, [&](QueueNumber each) {
    if (mutant(SchedulerMutant::kMaxOfLeavesOnly) && !queues.at(each).is_leaf()) {
      return;
    }
    const QueueAmounts& max = queues.at(each).node.max;
    const auto narrow = [&](std::string_view key, std::uint64_t held) {
      const std::optional<std::uint64_t> limit = amount_of(max, key);
      const std::uint64_t left = limit.has_value() ? *limit - std::min(*limit, held) : UINT64_MAX;
      if (left < least) {
        least = left;
        if (at != nullptr) {
          *at = each;
        }
      }
    };
    if (!max.empty()) {
      narrow(key_of_pool(pool), share(each, pool).held);
    }
    if (!max.empty() && pool != kCpuPool) {
      narrow(kAllGpus, held_gpus(each));
    }
  });
  return least;
}

bool ShareBook::is_owed(const QueueBook& queues, QueueNumber queue, std::string_view pool,
                        std::uint64_t charge) const {
  const QueueAmounts& guaranteed = queues.at(queue).guaranteed;
  const auto fits = [&](std::string_view key, std::uint64_t held) {
    const std::optional<std::uint64_t> amount = amount_of(guaranteed, key);
    return amount.has_value() && charge <= *amount - std::min(*amount, held);
  };
  return !guaranteed.empty() && (fits(key_of_pool(pool), share(queue, pool).held) ||
                                 (pool != kCpuPool && fits(kAllGpus, held_gpus(queue))));
}

}  // namespace muster::scheduler
