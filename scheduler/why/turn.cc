#include "scheduler/why/turn.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "scheduler/state/charge.h"

namespace muster::scheduler {
namespace {

__extension__ using WideTurn = unsigned __int128;

/// Thousandths of a GPU or CPU in an amount.
constexpr std::uint64_t kTurnUnit = 1000;

/// The next job of a leaf or queue.
struct Candidate {
  QueueKey key;
  std::uint64_t charge = 0;
};

/// A child of a queue, with its next job.
struct Contender {
  Candidate next;
  bool is_owed = false;
  std::uint64_t held = 0;
  std::uint32_t weight = 1;
  std::uint32_t credit = kCreditOne;
  QueueNumber queue = kRootQueue;
  const Leaf* leaf = nullptr;  ///< Null: it is the queue.

  std::string_view user() const { return leaf == nullptr ? std::string_view() : leaf->user; }
};

/// The first rule by which they differ.
TurnRule rule_between(const Contender& one, const Contender& other) {
  const auto part = [](const Contender& held, const Contender& divided) {
    return WideTurn{held.held} * divided.weight * divided.credit;
  };
  return one.is_owed != other.is_owed               ? TurnRule::kGuarantee
         : one.next.key.tier != other.next.key.tier ? TurnRule::kTier
         : part(one, other) != part(other, one)     ? TurnRule::kShare
                                                    : TurnRule::kPath;
}

bool goes_first(const Contender& one, const Contender& other) {
  const TurnRule rule = rule_between(one, other);
  if (rule == TurnRule::kGuarantee) {
    return one.is_owed;
  }
  if (rule == TurnRule::kTier) {
    return one.next.key.tier > other.next.key.tier;
  }
  if (rule == TurnRule::kShare) {
    return WideTurn{one.held} * other.weight * other.credit <
           WideTurn{other.held} * one.weight * one.credit;
  }
  return std::tuple(one.leaf != nullptr, one.user(), one.queue) <
         std::tuple(other.leaf != nullptr, other.user(), other.queue);
}

/// The order of one pool, by the next job of each leaf.
class PoolOrder {
 public:
  PoolOrder(const State& state, std::string pool)
      : state_(state), queues_(state.queues()), pool_(std::move(pool)) {}

  void set_next(const Leaf& leaf, const Candidate& next) { heads_[leaf] = next; }
  /// Null if the leaf has no job in this pool.
  const Candidate* next_in(const Leaf& leaf) const {
    const auto head = heads_.find(leaf);
    return head == heads_.end() ? nullptr : &head->second;
  }
  /// Takes what these jobs hold from their queues and users.
  void end(const std::vector<JobId>& jobs);

  bool could_ever(QueueNumber queue, std::uint64_t charge) const;
  /// The next job of the queue; nullopt: no job, or it has no room for it.
  std::optional<Candidate> next_of(QueueNumber queue) const;
  bool is_first(JobId job) const {
    const auto first = next_of(kRootQueue);
    return first.has_value() && first->key.job == job;
  }
  /// Says what puts the first job before `job`, the next one of the leaf or behind that.
  void tell(const Leaf& leaf, JobId job, Turn& turn) const;

 private:
  /// Amounts that ended attempts held.
  struct Freed {
    std::uint64_t of_pool = 0;
    std::uint64_t of_gpus = 0;
  };

  bool is_of_gpus() const { return pool_ != kCpuPool; }
  std::string_view key() const { return is_of_gpus() ? std::string_view(pool_) : kCpus; }
  std::uint64_t held(QueueNumber queue) const;
  std::uint64_t held_gpus(QueueNumber queue) const;
  template <class Visit>
  void on_amounts(const QueueAmounts& amounts, QueueNumber queue, Visit visit) const;
  std::uint64_t room(QueueNumber queue) const;
  Contender contender(QueueNumber queue, const Candidate& next) const;
  Contender contender(const Leaf& leaf, const Candidate& next) const;
  std::optional<Contender> best_below(QueueNumber queue) const;
  TurnSide side(const Contender& contender) const;
  std::vector<QueueNumber> path_of(QueueNumber queue) const;
  void tell_full(QueueNumber from, Turn& turn) const;

  const State& state_;
  const QueueBook& queues_;
  std::string pool_;
  std::map<Leaf, Candidate> heads_;
  std::map<QueueNumber, Freed> freed_;
  std::map<Leaf, std::uint64_t> freed_users_;  ///< Of the pool.
};

void PoolOrder::end(const std::vector<JobId>& jobs) {
  for (const Token& token : state_.live()) {
    const Attempt& attempt = *state_.attempt(token);
    if (std::find(jobs.begin(), jobs.end(), attempt.job) == jobs.end()) {
      continue;
    }
    std::uint64_t charge = 0;
    for (const MemberRecord& record : attempt.members) {
      charge += record.end == MemberEnd::kNone ? record.charge : 0;
    }
    const QueueNumber leaf = queues_.number_of(attempt.share.queue);
    const std::uint64_t of_pool = attempt.share.pool == pool_ ? charge : 0;
    for (const QueueNumber queue : path_of(leaf)) {
      freed_[queue].of_pool += of_pool;
      freed_[queue].of_gpus += attempt.share.pool == kCpuPool ? 0 : charge;
    }
    freed_users_[{leaf, attempt.share.user}] += of_pool;
  }
}

std::uint64_t PoolOrder::held(QueueNumber queue) const {
  const auto freed = freed_.find(queue);
  return state_.shares().share(queue, pool_).held -
         (freed == freed_.end() ? 0 : freed->second.of_pool);
}

std::uint64_t PoolOrder::held_gpus(QueueNumber queue) const {
  const auto freed = freed_.find(queue);
  return state_.shares().held_gpus(queue) - (freed == freed_.end() ? 0 : freed->second.of_gpus);
}

/// Visits those that count in this pool: thousandths named, and thousandths held.
template <class Visit>
void PoolOrder::on_amounts(const QueueAmounts& amounts, QueueNumber queue, Visit visit) const {
  if (const auto own = amounts.find(key()); own != amounts.end()) {
    visit(own->second * kTurnUnit, held(queue));
  }
  if (const auto all = amounts.find(kAllGpus); is_of_gpus() && all != amounts.end()) {
    visit(all->second * kTurnUnit, held_gpus(queue));
  }
}

std::uint64_t PoolOrder::room(QueueNumber queue) const {
  std::uint64_t least = UINT64_MAX;
  on_amounts(queues_.at(queue).node.max, queue, [&](std::uint64_t max, std::uint64_t held) {
    least = std::min(least, max - std::min(max, held));
  });
  return least;
}

/// From the root to the queue.
std::vector<QueueNumber> PoolOrder::path_of(QueueNumber queue) const {
  std::vector<QueueNumber> path{queue};
  for (; queue != kRootQueue; path.push_back(queue)) {
    queue = queues_.at(queue).parent;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

bool PoolOrder::could_ever(QueueNumber queue, std::uint64_t charge) const {
  bool could = true;
  for (const QueueNumber each : path_of(queue)) {
    on_amounts(queues_.at(each).node.max, each,
               [&](std::uint64_t max, std::uint64_t) { could = could && charge <= max; });
  }
  return could;
}

Contender PoolOrder::contender(QueueNumber queue, const Candidate& next) const {
  Contender made;
  made.next = next;
  made.held = held(queue);
  made.weight = queues_.at(queue).node.weight;
  made.credit = state_.shares().share(queue, pool_).credit;
  made.queue = queue;
  on_amounts(queues_.at(queue).guaranteed, queue, [&](std::uint64_t amount, std::uint64_t held) {
    made.is_owed = made.is_owed || held + next.charge <= amount;
  });
  return made;
}

/// A user without a record has used nothing lately, or shares the record of kOtherUsers.
Contender PoolOrder::contender(const Leaf& leaf, const Candidate& next) const {
  const ShareBook& shares = state_.shares();
  Share share = shares.share(leaf.queue, leaf.user, pool_);
  const bool is_of_others = share == Share();
  if (is_of_others) {
    share = shares.share(leaf.queue, std::string(kOtherUsers), pool_);
  }
  const auto freed =
      freed_users_.find(is_of_others ? Leaf{leaf.queue, std::string(kOtherUsers)} : leaf);
  const bool is_new = share.mean == 0 && shares.share(leaf.queue, pool_).mean != 0;
  Contender made;
  made.next = next;
  made.held = share.held - (freed == freed_users_.end() ? 0 : freed->second);
  made.credit = is_new ? kCreditMax : share.credit;
  made.queue = leaf.queue;
  made.leaf = &leaf;
  return made;
}

/// The child of the queue that goes first, whether or not the queue has room for its job.
std::optional<Contender> PoolOrder::best_below(QueueNumber queue) const {
  std::optional<Contender> best;
  const auto offer = [&best](const Contender& each) {
    best = !best.has_value() || goes_first(each, *best) ? each : *best;
  };
  for (const QueueNumber child : queues_.at(queue).children) {
    if (const auto next = next_of(child); next.has_value()) {
      offer(contender(child, *next));
    }
  }
  for (auto head = heads_.lower_bound({queue, ""});
       head != heads_.end() && head->first.queue == queue; ++head) {
    offer(contender(head->first, head->second));
  }
  return best;
}

std::optional<Candidate> PoolOrder::next_of(QueueNumber queue) const {
  const std::optional<Contender> best = best_below(queue);
  return best.has_value() && best->next.charge <= room(queue) ? std::optional(best->next)
                                                              : std::nullopt;
}

TurnSide PoolOrder::side(const Contender& contender) const {
  return {queues_.at(contender.queue).node.path,
          std::string(contender.user()),
          contender.next.key.job,
          contender.next.key.tier,
          contender.held,
          contender.weight,
          contender.credit};
}

/// Tells the first queue, from that one up, that has no room for its next job.
void PoolOrder::tell_full(QueueNumber from, Turn& turn) const {
  const std::vector<QueueNumber> path = path_of(from);
  turn.rule = TurnRule::kFull;
  for (auto queue = path.rbegin(); queue != path.rend(); ++queue) {
    const std::optional<Contender> best = best_below(*queue);
    if (best.has_value() && best->next.charge > room(*queue)) {
      turn.own = side(contender(*queue, best->next));
      return;
    }
  }
}

void PoolOrder::tell(const Leaf& leaf, JobId job, Turn& turn) const {
  const std::optional<Candidate> first = next_of(kRootQueue);
  if (!first.has_value()) {
    tell_full(leaf.queue, turn);
    return;
  }
  turn.first = first->key.job;
  if (turn.first == job) {
    turn.rule = TurnRule::kNext;
    return;
  }
  const std::vector<QueueNumber> path = path_of(leaf.queue);
  for (std::size_t depth = 0; depth < path.size(); ++depth) {
    const std::optional<Contender> best = best_below(path[depth]);
    const bool is_last = depth + 1 == path.size();
    if (is_last && best->leaf != nullptr && *best->leaf == leaf) {
      turn.rule = TurnRule::kLeaf;
      return;
    }
    if (!is_last && best->leaf == nullptr && best->queue == path[depth + 1]) {
      continue;
    }
    turn.other = side(*best);
    const auto own = is_last ? std::optional(heads_.at(leaf)) : next_of(path[depth + 1]);
    if (!own.has_value()) {
      tell_full(leaf.queue, turn);
      return;
    }
    const Contender mine =
        is_last ? contender(heads_.find(leaf)->first, *own) : contender(path[depth + 1], *own);
    turn.own = side(mine);
    turn.rule = rule_between(*best, mine);
    return;
  }
}

/// The jobs that count in one pool.
class PoolJobs {
 public:
  PoolJobs(Capacity& capacity, const PoolOrder& order, const QueueBook& queues,
           const std::string& pool)
      : capacity_(capacity), order_(order), queues_(queues), pool_(pool) {}

  bool takes(const Job& job) {
    const Request& request = job.spec.request;
    const bool is_of_gpus = pool_ != kCpuPool;
    const auto is_type = [&](const std::string& type) { return folded(type) == pool_; };
    if ((request.gpus != 0) != is_of_gpus ||
        (is_of_gpus && !request.gpu_types.empty() &&
         std::none_of(request.gpu_types.begin(), request.gpu_types.end(), is_type))) {
      return false;
    }
    return order_.could_ever(queues_.number_of(job.spec.queue), least_charge_of(job.spec)) &&
           could_hold(job);
  }

 private:
  bool could_hold(const Job& job) {
    const std::span<const std::string> types =
        pool_ == kCpuPool ? std::span<const std::string>() : std::span(&pool_, 1);
    if (!job.life.left_out.empty()) {
      return capacity_.could_hold(job, types);
    }
    const auto [known, is_new] = held_.try_emplace(shape_of(job));
    if (is_new) {
      known->second = capacity_.could_hold(job, types);
    }
    return known->second;
  }

  Capacity& capacity_;
  const PoolOrder& order_;
  const QueueBook& queues_;
  const std::string& pool_;
  std::map<Shape, bool> held_;  ///< Jobs of one shape have one answer.
};

Candidate candidate_of(const Job& job) {
  return {queue_key_of(job), least_charge_of(job.spec)};
}

/// Whether the log would take that tier for the job.
bool may_be_of_tier(const State& state, const Job& job, bool is_submitted, Tier tier) {
  JobSpec placed;  // Without the command, which may be long.
  placed.user = job.spec.user;
  placed.request = job.spec.request;
  placed.queue = job.spec.queue;
  placed.tier = tier;
  placed.limits.time_limit = job.spec.limits.time_limit;
  if (is_submitted && placed.limits.time_limit == Duration::zero()) {
    placed.limits.time_limit = kNoTimeLimit;
  }
  return state.settle(placed).has_value();
}

/// Sets the next job of each leaf; that of the leaf of `job` as if `job` waited.
void set_heads(const State& state, const LeafQueues& queue, const Job& job, PoolJobs& jobs,
               PoolOrder& order) {
  for (const auto& [leaf, waiting] : queue) {
    for (const QueueKey& key : waiting) {
      const Job& each = *state.job(key.job);
      if (jobs.takes(each)) {
        order.set_next(leaf, candidate_of(each));
        break;
      }
    }
  }
  const Leaf own = leaf_of(state.queues(), job.spec);
  const Candidate* const head = order.next_in(own);
  if (head == nullptr || queue_key_of(job) < head->key) {
    order.set_next(own, candidate_of(job));
  }
}

bool may_have_priority(const State& state, const Job& job, std::int32_t priority) {
  const Directory& directory = state.directory();
  return !directory.is_founded() || priority <= directory.team(job.spec.team).priority_max;
}

/// The smallest change with which the job is the first one: its priority, or else its tier.
std::string change_to_next(const State& state, const Job& job, PoolOrder order) {
  const Leaf own = leaf_of(state.queues(), job.spec);
  const Candidate head = *order.next_in(own);
  Candidate changed = candidate_of(job);
  const auto is_next_with = [&] {
    order.set_next(own, changed.key < head.key ? changed : head);
    return order.is_first(job.id);
  };
  if (head.key.tier == changed.key.tier && head.key.priority < INT32_MAX) {
    changed.key.priority = std::max(head.key.priority, changed.key.priority);
    // Behind it by number alone, unless its priority is lower.
    changed.key.priority += changed.key < head.key ? 0 : 1;
    if (head.key.job != job.id && may_have_priority(state, job, changed.key.priority) &&
        is_next_with()) {
      return "priority " + std::to_string(changed.key.priority);
    }
  }
  changed = candidate_of(job);
  const bool is_submitted = state.job(job.id) != nullptr;
  for (auto number = static_cast<std::uint8_t>(changed.key.tier);
       number < static_cast<std::uint8_t>(kTierLast);) {
    changed.key.tier = static_cast<Tier>(++number);
    if (is_next_with() && may_be_of_tier(state, job, is_submitted, changed.key.tier)) {
      return "tier " + std::string(text_of(changed.key.tier));
    }
  }
  return "";
}

/// The pool as people call it.
std::string name_of_pool(const State& state, const std::string& pool) {
  if (pool == kCpuPool) {
    return "CPUs";
  }
  for (const auto& [id, host] : state.hosts()) {
    if (folded(host.gpu_type) == pool) {
      return host.gpu_type;
    }
  }
  return pool;
}

/// "12", "0.5"
std::string text_of_amount(std::uint64_t thousandths) {
  std::string text = std::to_string(thousandths / kTurnUnit);
  if (thousandths % kTurnUnit != 0) {
    text += "." + std::to_string(kTurnUnit + thousandths % kTurnUnit).substr(1);
    text.erase(text.find_last_not_of('0') + 1);
  }
  return text;
}

/// "12 for weight 1", or "12 for weight 1 and credit 0.75"
std::string text_of_part(const TurnSide& side, bool with_credit) {
  const std::uint64_t credit = std::uint64_t{side.credit} * kTurnUnit / kCreditOne;
  return text_of_amount(side.held) + " for weight " + std::to_string(side.weight) +
         (with_credit ? " and credit " + text_of_amount(credit) : "");
}

}  // namespace

std::string_view text_of(TurnRule rule) {
  switch (rule) {
    case TurnRule::kNone:
      break;
    case TurnRule::kNext:
      return "next";
    case TurnRule::kLeaf:
      return "leaf";
    case TurnRule::kGuarantee:
      return "guarantee";
    case TurnRule::kTier:
      return "tier";
    case TurnRule::kShare:
      return "share";
    case TurnRule::kPath:
      return "path";
    case TurnRule::kFull:
      return "max";
  }
  return "none";
}

std::string Turn::text() const {
  const bool are_users = !other.user.empty();
  const std::string its = are_users ? "another user of " + other.queue : other.queue;
  const std::string mine = are_users ? "the user of this job" : own.queue;
  const std::string next = its + " is next in " + pool_name + ": ";
  const bool with_credit = own.credit != kCreditOne || other.credit != kCreditOne;
  switch (rule) {
    case TurnRule::kNone:
    case TurnRule::kLeaf:
      break;
    case TurnRule::kNext:
      return "it is next in " + pool_name;
    case TurnRule::kGuarantee:
      return next + "its guarantee covers its next job; it holds " + text_of_amount(other.held) +
             ", " + mine + " " + text_of_amount(own.held);
    case TurnRule::kTier:
      return next + "its next job is of tier " + std::string(scheduler::text_of(other.tier)) +
             ", that of " + mine + " of tier " + std::string(scheduler::text_of(own.tier));
    case TurnRule::kShare:
      return next + "it holds " + text_of_part(other, with_credit) + ", " + mine + " " +
             text_of_part(own, with_credit);
    case TurnRule::kPath:
      return next + "it and " + mine + " hold the same part, and its name is the first";
    case TurnRule::kFull:
      return "queue " + own.queue + " has no room below its max in " + pool_name +
             " for its next job" + (other.queue.empty() ? "" : "; " + its + " is next there");
  }
  return "";
}

Turn turn_of(const State& state, Capacity& capacity, const LeafQueues& queue, const Job& job,
             const TurnAsked& asked) {
  Turn told;
  const Leaf own = leaf_of(state.queues(), job.spec);
  const auto fits_in = [&](const std::string& pool) {
    return capacity.free_for(job, pool, asked.without) >= job.spec.request.units();
  };
  for (const std::string& pool : asked.pools) {
    PoolOrder order(state, pool);
    PoolJobs jobs(capacity, order, state.queues(), pool);
    if (!jobs.takes(job)) {
      continue;
    }
    set_heads(state, queue, job, jobs, order);
    const bool is_next = order.is_first(job.id);
    if (told.rule != TurnRule::kNone && !(is_next && fits_in(pool))) {
      continue;
    }
    told = Turn();
    told.pool = pool;
    told.pool_name = name_of_pool(state, pool);
    order.tell(own, job.id, told);
    if (is_next && fits_in(pool)) {
      break;
    }
    told.next_with = is_next ? "" : change_to_next(state, job, order);
    order.end(asked.ended);
    told.is_next_then = order.is_first(job.id);
  }
  return told;
}

}  // namespace muster::scheduler
