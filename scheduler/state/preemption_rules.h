#pragma once
// Whether a job may take GPUs from an attempt: one rule for the log, for the leader's search and
// for `why`. Pure functions over the tree of queues and what is guaranteed there.
//
// A job may take what an attempt holds
// - by reclaim: they are in different queues, a and b are the queues right below the lowest one
//   that both are in, on the side of the job and of the attempt; the job is owed at a, and the
//   attempt is not guaranteed at b. Thus lent GPUs come back;
// - by tier: the job was submitted with the higher tier, and the attempt is guaranteed nowhere, or
//   is in the queue of the job, which will be guaranteed wherever the attempt is.
// Attempts of the tier inference are never taken.
//
// There are no loops. Add up what is guaranteed at each depth, by tier, and what runs, by tier;
// compare these sums from the deepest queues to the top, at each depth from the highest tier, and
// at last what runs. Each preemption makes them greater, and they are bounded. A reclaim takes
// nothing that is guaranteed below the lowest common queue, and the job becomes guaranteed there.
// By tier nothing that is guaranteed falls, or it falls where the job is guaranteed instead, in a
// higher tier. The conditions are those of the whole set of victims: a set is checked again after
// victims were left out of it.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/protocol/queues.h"
#include "scheduler/state/guarantee_book.h"

namespace muster::scheduler {

/// After its start an attempt is not taken for this long, twice as long after each eviction of its
/// job.
inline constexpr Duration kProtectedFor = std::chrono::minutes(10);
inline constexpr Duration kProtectedMax = std::chrono::hours(24);
Duration protection_after(std::uint32_t evictions);

/// A job that may take, on hosts that were chosen for it.
struct Taker {
  QueueNumber queue{};  ///< Its leaf.
  std::string pool;     ///< The pool of these hosts.
  Tier tier = Tier::kNone;
  std::uint64_t charge = 0;
};

enum class TakenBy : std::uint8_t { kNone = 0, kReclaim = 1, kTier = 2 };
/// "", "reclaim", "tier".
std::string_view text_of(TakenBy rule);

/// An attempt that is to go.
struct Taken {
  Token token;
  Tier tier = Tier::kNone;  ///< Of its job, as submitted.
};
/// The rule by which the taker may take that attempt, if it takes no other. kNone also for an
/// attempt without a claim.
TakenBy taken_by(const QueueBook& queues, const GuaranteeBook& guarantees, const Taker& taker,
                 const Taken& victim);
/// The first attempt that the taker may not take, if it takes all of them at once; null if it may
/// take them all.
const Taken* first_refused(const QueueBook& queues, const GuaranteeBook& guarantees,
                           const Taker& taker, std::span<const Taken> victims);

}  // namespace muster::scheduler
