#include "scheduler/state/preemption_rules.h"

#include <algorithm>

namespace muster::scheduler {
namespace {

/// Each doubling of kProtectedFor beyond is above kProtectedMax.
constexpr std::uint32_t kDoublingsMax = 8;

/// The queue and all above it, the one at the top first.
std::vector<QueueNumber> path_of(const QueueBook& queues, QueueNumber queue) {
  std::vector<QueueNumber> path;
  for (; queue != kRootQueue; queue = queues.at(queue).parent) {
    path.push_back(queue);
  }
  std::reverse(path.begin(), path.end());
  return path;
}

/// Precondition: different leaves.
bool may_reclaim(const QueueBook& queues, const GuaranteeBook& guarantees, const Taker& taker,
                 const GuaranteeBook::Claim& claim) {
  const std::vector<QueueNumber> own = path_of(queues, taker.queue);
  const std::vector<QueueNumber> other = path_of(queues, claim.queue);
  std::size_t depth = 0;
  while (own.at(depth) == other.at(depth)) {
    ++depth;
  }
  return guarantees.is_owed(own[depth], taker.pool, taker.charge) && !claim.cover.is_at(depth);
}

/// Whether the one is covered by each account that covers the other. They are in one queue.
bool is_covered_like(Cover one, Cover other, bool is_same_pool) {
  return (other.by_all_gpus & ~one.by_all_gpus) == 0 &&
         (is_same_pool ? (other.by_pool & ~one.by_pool) == 0 : other.by_pool == 0);
}

/// `instead`: where the taker will be covered.
TakenBy rule_of(const QueueBook& queues, const GuaranteeBook& guarantees, const Taker& taker,
                Cover instead, const Taken& victim) {
  const auto found = guarantees.claims().find(victim.token);
  if (found == guarantees.claims().end() || victim.tier == Tier::kInference) {
    return TakenBy::kNone;
  }
  const GuaranteeBook::Claim& claim = found->second;
  const bool is_same_queue = claim.queue == taker.queue;
  if (!is_same_queue && may_reclaim(queues, guarantees, taker, claim)) {
    return TakenBy::kReclaim;
  }
  const bool may_by_tier =
      taker.tier > victim.tier &&
      (claim.cover.is_none() ||
       (is_same_queue && is_covered_like(instead, claim.cover, claim.pool == taker.pool)));
  return may_by_tier ? TakenBy::kTier : TakenBy::kNone;
}

}  // namespace

Duration protection_after(std::uint32_t evictions) {
  return std::min(kProtectedFor * (std::int64_t{1} << std::min(evictions, kDoublingsMax)),
                  kProtectedMax);
}

std::string_view text_of(TakenBy rule) {
  switch (rule) {
    case TakenBy::kReclaim:
      return "reclaim";
    case TakenBy::kTier:
      return "tier";
    case TakenBy::kNone:
      return "";
  }
  return "";
}

TakenBy taken_by(const QueueBook& queues, const GuaranteeBook& guarantees, const Taker& taker,
                 const Taken& victim) {
  const Cover instead =
      guarantees.cover_instead(taker.queue, taker.pool, taker.charge, {&victim.token, 1});
  return rule_of(queues, guarantees, taker, instead, victim);
}

const Taken* first_refused(const QueueBook& queues, const GuaranteeBook& guarantees,
                           const Taker& taker, std::span<const Taken> victims) {
  std::vector<Token> gone;
  for (const Taken& victim : victims) {
    gone.push_back(victim.token);
  }
  const Cover instead = guarantees.cover_instead(taker.queue, taker.pool, taker.charge, gone);
  const auto refused = std::find_if(victims.begin(), victims.end(), [&](const Taken& victim) {
    return rule_of(queues, guarantees, taker, instead, victim) == TakenBy::kNone;
  });
  return refused == victims.end() ? nullptr : &*refused;
}

}  // namespace muster::scheduler
