#pragma once
// The turn of a waiting job: which job its pool starts next, and what decided between their queues.
// It walks over the state alone, so that it says the same on every voter; the leader's findings and
// asks are not in it. scheduler/policy decides; `bench order` holds both against each other.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/placement/capacity.h"
#include "scheduler/policy/queue_key.h"
#include "scheduler/policy/start_plan.h"
#include "scheduler/state/state.h"

namespace muster::scheduler {

/// The rule that puts the first job of the pool before this one.
enum class TurnRule : std::uint8_t {
  kNone,       ///< No pool could hold this job, or its queues could never let it start.
  kNext,       ///< This job is the first one.
  kLeaf,       ///< It stands before this one in the same leaf.
  kGuarantee,  ///< The guarantee of its queue covers it; this side has no such job.
  kTier,       ///< The next job of its queue is of a higher tier.
  kShare,      ///< Its queue holds less for weight times credit.
  kPath,       ///< All of that is equal: its queue, or its user, has the first name.
  kFull,       ///< A queue on this side has no room below its max for its next job.
};
/// "none", "next", "leaf", "guarantee", "tier", "share", "path", "max".
std::string_view text_of(TurnRule rule);

/// A queue, or a user of a queue, where the ways to two jobs part.
struct TurnSide {
  std::string queue;  ///< Its path; "" = no such side.
  std::string user;   ///< "" = the queue itself.
  JobId next;         ///< Its next job in the pool.
  Tier tier = Tier::kNone;
  std::uint64_t held = 0;  ///< In the pool: thousandths of a GPU, or of a CPU in kCpuPool.
  std::uint32_t weight = 1;
  std::uint32_t credit = kCreditOne;
  bool operator==(const TurnSide&) const = default;
};

struct Turn {
  TurnRule rule = TurnRule::kNone;
  std::string pool;       ///< Folded GPU type or kCpuPool; "" with kNone.
  std::string pool_name;  ///< As hosts call it: "H100", "CPUs".
  JobId first;            ///< The first job there; 0 = all queues are empty or at a max.
  /// Where the ways to this job and to the first one part; of kFull `own` is the queue without
  /// room. Empty with kNone, kNext and kLeaf.
  TurnSide own;
  TurnSide other;
  /// The smallest change of this job that makes it the first one: "priority 4", "tier premium"; ""
  /// if it is the first one, or if no such change does.
  std::string next_with;
  /// This job is the first one after the end of TurnAsked::ended.
  bool is_next_then = false;
  /// With kNext, of a job that does not fit: its start at the latest. nullopt: no start is sure.
  /// The leader keeps hosts for the job once its pool waited for a while.
  std::optional<StartPlan> plan{};

  /// "research/vision is next in H100: it holds 12 for weight 1, research/nlp 40 for weight 2"; ""
  /// with kNone and kLeaf. It names no user.
  std::string text() const;
};

struct TurnAsked {
  /// Pools that could hold the job. The answer is about the first one, or about another one where
  /// the job is first and fits now.
  std::vector<std::string> pools;
  std::vector<JobId> ended;     ///< For Turn::is_next_then.
  std::vector<HostId> without;  ///< Hosts that take no work, beside those of the log.
};
/// O(jobs that wait and queues) for each pool. Precondition: `capacity` and `queue` are of that
/// state; the job is one of its, or has the number kDryRun (explain.h).
Turn turn_of(const State& state, Capacity& capacity, const LeafQueues& queue, const Job& job,
             const TurnAsked& asked);

}  // namespace muster::scheduler
