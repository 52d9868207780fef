#pragma once
// Planted bugs of the scheduler and of the agents that obey it. Each leaves out one guard of
// PROTOCOL.md, and a checker of the simulator must find each. They exist only where MUSTER_MUTANTS
// is defined; elsewhere mutant() is a constant false and the wrong branch is not compiled.

#include <array>
#include <cstdint>
#include <string_view>

namespace muster::scheduler {

enum class SchedulerMutant : std::uint8_t {
  kNone,
  kAbortAfterStart,          ///< Abort is accepted from STARTED and frees the GPUs.
  kAckWithoutRound,          ///< A renewal is acknowledged without a majority round.
  kReuseBeforeExpire,        ///< Condemn frees the GPUs already.
  kDoubleRequeue,            ///< A replaced attempt queues its job again when it ends.
  kLostKeyAfterSnapshot,     ///< Client keys are missing in snapshots.
  kEqualToken,               ///< A retry's Decide gets the token of the attempt before.
  kExpireWithoutItsCondemn,  ///< A Condemn has no identity: its timer outlives the Pardon (rule 9).
  kRequeueOnSilence,         ///< A new attempt is queued without any failed result (rule 6).
  kKeepPairOnRegister,       ///< A hello of a new pair ends nothing that it does not list (rule 3).
  kOldGenerationRegistered,  ///< A start is registered under a generation that was used (rule 8).
  kKillFromStaleLeader,      ///< A leader, confirmed or not, ends grants unknown to its log.
  kReadFromFollower,         ///< Any replica answers a consistent read.
  kEvictInStorm,             ///< Silence ends gangs while a cut is suspected.
  kDiskNotCompared,          ///< A voter starts from its disk, even if others know it to be old.
  kDrainIgnored,             ///< New attempts are placed on hosts that are drained.
  kAmountsForgotten,         ///< CPUs and memory that attempts hold are not counted.
  kMaskIgnored,              ///< New attempts are placed on GPUs that are masked.
  kTaskUncounted,            ///< An array does not count a task that failed.
  kQueueMaxIgnored,          ///< The max of a queue keeps no job out.
  // Of queues and shares.
  kHeldAfterExpire,        ///< A queue goes on holding a member that expired.
  kAdoptedHeldTwice,       ///< An attempt that is adopted counts twice as held.
  kMaxOfLeavesOnly,        ///< The max of a queue with queues below it keeps no job out.
  kWeightIgnored,          ///< All weights count as 1 in the order.
  kCreditUnbounded,        ///< The credit of who used little has no upper bound.
  kDecayTwice,             ///< Means go two minutes' way each minute.
  kGuaranteeOfLeavesOnly,  ///< A queue with queues below it is owed nothing.
  kTierIgnored,            ///< Between queues the tier of their next jobs does not count.
  kMovedShareStays,        ///< GPUs of an attempt are not charged to the queue it moves to.
  kFailedDecideCharged,    ///< A Decide that the log refuses is charged all the same.
  kBlockedNeverWoken,      ///< A job that did not fit in a pool is not tried there again.
  kPlanIgnored,            ///< The hosts of a plan take others, whatever their time limit.
  kPlanBySubmit,           ///< Any job with a time limit may use them: its end is not compared.
  // Of jobs that wait.
  kFailedIsOk,         ///< A job that failed counts as one that succeeded.
  kBeginEarly,         ///< A job is tried up to 5 s before its begin.
  kBeginFromLastTick,  ///< A span until a begin counts from the last Tick, not from the Submit.
  // Of the agent.
  kGenerationReused,   ///< An agent starts again under the generation of its last start.
  kTokenNotPersisted,  ///< Ready does not wait for fence and grant to be durable.
  kHoldFromReceipt,    ///< A hold counts from the receipt of the renewal's acknowledgement.
  kLateStartObeyed,    ///< Start restarts the hold, and is obeyed after ABORTED, too.
  kDirtyOffered,       ///< A GPU is offered again without a look at it (rule 12).
  kFenceWithoutSlots,  ///< Only equal slots overlap: slot 0 is not the whole device (rule 7).
};

struct SchedulerMutantName {
  SchedulerMutant mutant;
  std::string_view name;
};

inline constexpr std::array<SchedulerMutantName, 41> kSchedulerMutants = {{
    {SchedulerMutant::kAbortAfterStart, "abort_after_start"},
    {SchedulerMutant::kAckWithoutRound, "ack_without_round"},
    {SchedulerMutant::kReuseBeforeExpire, "reuse_before_expire"},
    {SchedulerMutant::kDoubleRequeue, "double_requeue"},
    {SchedulerMutant::kLostKeyAfterSnapshot, "lost_key_after_snapshot"},
    {SchedulerMutant::kEqualToken, "equal_token"},
    {SchedulerMutant::kExpireWithoutItsCondemn, "expire_without_its_condemn"},
    {SchedulerMutant::kRequeueOnSilence, "requeue_on_silence"},
    {SchedulerMutant::kKeepPairOnRegister, "keep_pair_on_register"},
    {SchedulerMutant::kOldGenerationRegistered, "old_generation_registered"},
    {SchedulerMutant::kKillFromStaleLeader, "kill_from_stale_leader"},
    {SchedulerMutant::kReadFromFollower, "read_from_follower"},
    {SchedulerMutant::kEvictInStorm, "evict_in_storm"},
    {SchedulerMutant::kDiskNotCompared, "disk_not_compared"},
    {SchedulerMutant::kGenerationReused, "generation_reused"},
    {SchedulerMutant::kTokenNotPersisted, "token_not_persisted"},
    {SchedulerMutant::kHoldFromReceipt, "hold_from_receipt"},
    {SchedulerMutant::kLateStartObeyed, "late_start_obeyed"},
    {SchedulerMutant::kDirtyOffered, "dirty_offered"},
    {SchedulerMutant::kFenceWithoutSlots, "fence_without_slots"},
    {SchedulerMutant::kDrainIgnored, "drain_ignored"},
    {SchedulerMutant::kAmountsForgotten, "amounts_forgotten"},
    {SchedulerMutant::kTaskUncounted, "task_uncounted"},
    {SchedulerMutant::kMaskIgnored, "mask_ignored"},
    {SchedulerMutant::kQueueMaxIgnored, "queue_max_ignored"},
    {SchedulerMutant::kHeldAfterExpire, "held_after_expire"},
    {SchedulerMutant::kAdoptedHeldTwice, "adopted_held_twice"},
    {SchedulerMutant::kMaxOfLeavesOnly, "max_of_leaves_only"},
    {SchedulerMutant::kWeightIgnored, "weight_ignored"},
    {SchedulerMutant::kCreditUnbounded, "credit_unbounded"},
    {SchedulerMutant::kDecayTwice, "decay_twice"},
    {SchedulerMutant::kGuaranteeOfLeavesOnly, "guarantee_of_leaves_only"},
    {SchedulerMutant::kTierIgnored, "tier_ignored"},
    {SchedulerMutant::kMovedShareStays, "moved_share_stays"},
    {SchedulerMutant::kFailedDecideCharged, "failed_decide_charged"},
    {SchedulerMutant::kBlockedNeverWoken, "blocked_never_woken"},
    {SchedulerMutant::kPlanIgnored, "plan_ignored"},
    {SchedulerMutant::kPlanBySubmit, "plan_by_submit"},
    {SchedulerMutant::kFailedIsOk, "failed_is_ok"},
    {SchedulerMutant::kBeginEarly, "begin_early"},
    {SchedulerMutant::kBeginFromLastTick, "begin_from_last_tick"},
}};

#ifdef MUSTER_MUTANTS
/// The one planted bug of this process; set between runs only.
inline SchedulerMutant planted_scheduler_mutant = SchedulerMutant::kNone;
inline bool mutant(SchedulerMutant which) {
  return planted_scheduler_mutant == which;
}
inline bool is_mutant_planted() {
  return planted_scheduler_mutant != SchedulerMutant::kNone;
}
#else
constexpr bool mutant(SchedulerMutant) {
  return false;
}
constexpr bool is_mutant_planted() {
  return false;
}
#endif

}  // namespace muster::scheduler
