#include "bench/order_oracle.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace muster::bench {

using namespace scheduler;  // NOLINT

namespace {

__extension__ using WideOracle = unsigned __int128;

constexpr std::uint64_t kThousand = 1000;
constexpr const char* kPoolOfCpus = "no gpu";

std::uint64_t charge_asked(const Job& job) {
  return kThousand * (job.spec.request.gpus != 0 ? job.spec.request.gpus : job.spec.request.ranks);
}

Tier tier_asked(const Job& job) {
  return job.spec.tier == Tier::kNone ? Tier::kStandard : job.spec.tier;
}

/// Whether the first is tried before the second in one leaf.
bool stands_before(const Job& one, const Job& other) {
  if (tier_asked(one) != tier_asked(other)) {
    return tier_asked(one) > tier_asked(other);
  }
  return one.orders.priority != other.orders.priority ? one.orders.priority > other.orders.priority
                                                      : one.id < other.id;
}

bool accepts(const Job& job, const std::string& pool) {
  const Request& request = job.spec.request;
  if (pool == kPoolOfCpus || request.gpus == 0) {
    return pool == kPoolOfCpus && request.gpus == 0;
  }
  bool is_named = request.gpu_types.empty();
  for (const std::string& type : request.gpu_types) {
    is_named = is_named || folded(type) == pool;
  }
  return is_named;
}

}  // namespace

OrderOracle::OrderOracle(const State& state, std::string pool)
    : state_(state), pool_(std::move(pool)) {}

bool OrderOracle::is_below(QueueNumber low, QueueNumber high) const {
  while (low != high && low != kRootQueue) {
    low = state_.queues().at(low).parent;
  }
  return low == high;
}

/// Whether an amount of that key bounds this pool.
bool OrderOracle::counts(const std::string& key) const {
  return pool_ == kPoolOfCpus ? key == "cpus" : key == pool_ || key == "gpus";
}

/// The charges of all members below the queue that are not over.
std::uint64_t OrderOracle::held_below(QueueNumber queue, const std::string& key) const {
  std::uint64_t sum = 0;
  for (const auto& [token, attempt] : state_.attempts()) {
    const bool is_of_key =
        key == "gpus" ? attempt.share.pool != kPoolOfCpus : attempt.share.pool == pool_;
    const QueueNumber leaf = state_.queues().number_of(attempt.share.queue);
    for (const MemberRecord& record : attempt.members) {
      sum +=
          is_of_key && record.end == MemberEnd::kNone && is_below(leaf, queue) ? record.charge : 0;
    }
  }
  return sum;
}

std::uint64_t OrderOracle::held_by(QueueNumber queue, const std::string& user) const {
  std::uint64_t sum = 0;
  for (const auto& [token, attempt] : state_.attempts()) {
    for (const MemberRecord& record : attempt.members) {
      sum += attempt.share.pool == pool_ && attempt.share.user == user &&
                     state_.queues().number_of(attempt.share.queue) == queue &&
                     record.end == MemberEnd::kNone
                 ? record.charge
                 : 0;
    }
  }
  return sum;
}

bool OrderOracle::has_room(QueueNumber queue, const Job& job) const {
  for (const auto& [key, max] : state_.queues().at(queue).node.max) {
    if (counts(key) && held_below(queue, key) + charge_asked(job) > max * kThousand) {
      return false;
    }
  }
  return true;
}

std::set<std::pair<std::string, std::string>> OrderOracle::full(const Job& job) const {
  std::set<std::pair<std::string, std::string>> full;
  for (const QueueRecord& queue : state_.queues().all()) {
    const auto number =
        static_cast<QueueNumber>(static_cast<std::uint32_t>(&queue - state_.queues().all().data()));
    if (!is_below(state_.queues().number_of(job.spec.queue), number)) {
      continue;
    }
    for (const auto& [key, max] : queue.node.max) {
      if (counts(key) && held_below(number, key) + charge_asked(job) > max * kThousand) {
        full.emplace(queue.node.path, key);
      }
    }
  }
  return full;
}

/// How many units the hosts of the pool hold: now, or if nothing ran.
std::uint32_t OrderOracle::units(const Job& job, bool are_free,
                                 const std::set<JobId>& ended) const {
  const Request& request = job.spec.request;
  const std::uint32_t each = request.gpus != 0 ? request.gpus_per_host : request.ranks_per_host;
  std::uint32_t sum = 0;
  for (const auto& [id, host] : state_.hosts()) {
    if (host.drain.has_value() || host.verdict != Verdict::kAlive ||
        host.health != Health::kHealthy || (request.gpus != 0 && folded(host.gpu_type) != pool_)) {
      continue;
    }
    std::uint64_t gpus = host.gpus.size();
    std::uint64_t cpus = host.cpus * kThousand;
    for (const auto& [token, attempt] : state_.attempts()) {
      for (const MemberRecord& record : attempt.members) {
        if (are_free && record.member.host == id && record.end == MemberEnd::kNone &&
            !ended.contains(attempt.job)) {
          gpus -= record.member.gpus.size();
          cpus -= record.member.cpus;
        }
      }
    }
    const std::uint64_t whole = host.gpus.size();
    const std::uint64_t of_unit = request.gpus != 0 ? host.cpus * kThousand / whole : kThousand;
    std::uint64_t here = request.gpus != 0 ? gpus : UINT32_MAX;
    here = of_unit == 0 ? here : std::min(here, cpus / of_unit);
    here = std::min<std::uint64_t>(here, request.gpus != 0 ? request.gpus : request.ranks);
    sum += static_cast<std::uint32_t>(each == 0 ? here : here >= each ? each : 0);
  }
  return sum;
}

bool OrderOracle::fits(const Job& job, const std::set<JobId>& ended) const {
  return accepts(job, pool_) &&
         units(job, true, ended) >= std::max(job.spec.request.gpus, job.spec.request.ranks);
}

bool OrderOracle::could_hold(const Job& job) const {
  return accepts(job, pool_) &&
         units(job, false, {}) >= std::max(job.spec.request.gpus, job.spec.request.ranks);
}

bool OrderOracle::takes(const Job& job, bool passes_large) const {
  if (!accepts(job, pool_) || (passes_large && !could_hold(job))) {
    return false;
  }
  QueueNumber queue = state_.queues().number_of(job.spec.queue);
  for (;; queue = state_.queues().at(queue).parent) {
    for (const auto& [key, max] : state_.queues().at(queue).node.max) {
      if (counts(key) && charge_asked(job) > max * kThousand) {
        return false;
      }
    }
    if (queue == kRootQueue) {
      return true;
    }
  }
}

std::string OrderOracle::user_of(const Job& job) const {
  const QueueNumber queue = state_.queues().number_of(job.spec.queue);
  return state_.queues().at(queue).node.is_fifo ? "" : job.spec.user;
}

std::vector<OrderOracle::Side> OrderOracle::sides(QueueNumber queue, bool passes_large) const {
  std::vector<Side> all;
  for (const QueueNumber child : state_.queues().at(queue).children) {
    const Job* job = next(child, passes_large);
    if (job == nullptr) {
      continue;
    }
    const QueueRecord& record = state_.queues().at(child);
    Side side;
    side.next = job;
    for (const auto& [key, amount] : record.guaranteed) {
      side.is_owed = side.is_owed || (counts(key) && held_below(child, key) + charge_asked(*job) <=
                                                         amount * kThousand);
    }
    side.held = held_below(child, pool_);
    side.divisor = std::uint64_t{record.node.weight} * state_.shares().share(child, pool_).credit;
    side.queue = child;
    all.push_back(side);
  }
  std::map<std::string, const Job*> by_user;
  for (const auto& [id, job] : state_.jobs()) {
    if (job.is_pending() && state_.queues().number_of(job.spec.queue) == queue &&
        takes(job, passes_large)) {
      const Job*& known = by_user[user_of(job)];
      known = known == nullptr || stands_before(job, *known) ? &job : known;
    }
  }
  for (const auto& [user, job] : by_user) {
    const Share share = state_.shares().share(queue, user, pool_);
    const bool is_new = share.mean == 0 && state_.shares().share(queue, pool_).mean != 0;
    Side side;
    side.next = job;
    side.held = user.empty() ? 0 : held_by(queue, user);
    side.divisor = is_new ? 2048 : share.credit;
    side.queue = queue;
    side.user = user;
    all.push_back(side);
  }
  return all;
}

std::optional<OrderOracle::Side> OrderOracle::best(QueueNumber queue, bool passes_large) const {
  std::optional<Side> best;
  for (const Side& each : sides(queue, passes_large)) {
    if (!best.has_value()) {
      best = each;
      continue;
    }
    const WideOracle mine = WideOracle{each.held} * best->divisor;
    const WideOracle its = WideOracle{best->held} * each.divisor;
    bool is_better = false;
    if (each.is_owed != best->is_owed) {
      is_better = each.is_owed;
    } else if (tier_asked(*each.next) != tier_asked(*best->next)) {
      is_better = tier_asked(*each.next) > tier_asked(*best->next);
    } else {
      // Of equals the earlier one stays: queues and users come in their order.
      is_better = mine < its;
    }
    best = is_better ? each : best;
  }
  return best;
}

const Job* OrderOracle::next(QueueNumber queue, bool passes_large) const {
  const std::optional<Side> first = best(queue, passes_large);
  return first.has_value() && has_room(queue, *first->next) ? first->next : nullptr;
}

std::optional<JobId> OrderOracle::first(bool passes_large) const {
  const Job* job = next(kRootQueue, passes_large);
  return job == nullptr ? std::nullopt : std::optional(job->id);
}

/// The lowest queue above the leaf, or the leaf, that has no room for its next job.
void OrderOracle::find_full(QueueNumber leaf, OraclePlace& place) const {
  place.rule = "max";
  for (QueueNumber queue = leaf;; queue = state_.queues().at(queue).parent) {
    const std::optional<Side> first = best(queue, true);
    if (first.has_value() && !has_room(queue, *first->next)) {
      place.own = queue;
      place.own_held = held_below(queue, pool_);
      return;
    }
    if (queue == kRootQueue) {
      return;
    }
  }
}

OraclePlace OrderOracle::place(JobId id) const {
  const Job& job = *state_.job(id);
  const QueueNumber leaf = state_.queues().number_of(job.spec.queue);
  OraclePlace place;
  if (!takes(job, true)) {
    place.rule = "none";
    return place;
  }
  const Job* const first = next(kRootQueue, true);
  if (first == nullptr) {
    find_full(leaf, place);
    return place;
  }
  if (first->id == id) {
    place.rule = "next";
    return place;
  }
  QueueNumber common = leaf;  // The lowest queue above both.
  const QueueNumber its_leaf = state_.queues().number_of(first->spec.queue);
  while (!is_below(its_leaf, common)) {
    common = state_.queues().at(common).parent;
  }
  if (common == leaf && user_of(*first) == user_of(job)) {
    place.rule = "leaf";
    return place;
  }
  const Side* mine = nullptr;
  const Side* its = nullptr;
  const std::vector<Side> all = sides(common, true);
  for (const Side& each : all) {
    const bool is_own = each.user.has_value() ? *each.user == user_of(job) && common == leaf
                                              : is_below(leaf, each.queue);
    mine = is_own ? &each : mine;
    its = each.next->id == first->id ? &each : its;
  }
  place.other = its->queue;
  place.other_user = its->user.value_or("");
  place.other_held = its->held;
  if (mine == nullptr) {
    find_full(leaf, place);
    return place;
  }
  place.own = mine->queue;
  place.own_user = mine->user.value_or("");
  place.own_held = mine->held;
  const bool is_equal_part =
      WideOracle{mine->held} * its->divisor == WideOracle{its->held} * mine->divisor;
  place.rule = mine->is_owed != its->is_owed                       ? "guarantee"
               : tier_asked(*mine->next) != tier_asked(*its->next) ? "tier"
               : is_equal_part                                     ? "path"
                                                                   : "share";
  return place;
}

std::size_t oracle_ahead(const State& state, const std::vector<std::string>& pools, JobId id) {
  const Job& job = *state.job(id);
  const QueueNode& node = state.queues().at(state.queues().number_of(job.spec.queue)).node;
  std::size_t count = 0;
  for (const auto& [other_id, other] : state.jobs()) {
    if (!other.is_pending() || other_id == id ||
        state.queues().number_of(other.spec.queue) != state.queues().number_of(job.spec.queue) ||
        (!node.is_fifo && other.spec.user != job.spec.user) || !stands_before(other, job)) {
      continue;
    }
    bool shares_pool = false;
    bool could_be_held = false;
    for (const std::string& pool : pools) {
      shares_pool = shares_pool || (accepts(job, pool) && accepts(other, pool));
      could_be_held = could_be_held || OrderOracle(state, pool).could_hold(other);
    }
    count += shares_pool && could_be_held ? 1 : 0;
  }
  return count;
}

}  // namespace muster::bench
