#pragma once
// Planted bugs of the scheduler: each is a guard of design 8 that was left out, and each must be
// found by a checker of the simulator. They exist only where MUSTER_MUTANTS is defined; elsewhere
// mutant() is a constant false and the wrong branch is not compiled.

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
};

struct SchedulerMutantName {
  SchedulerMutant mutant;
  std::string_view name;
};

inline constexpr std::array<SchedulerMutantName, 9> kSchedulerMutants = {{
    {SchedulerMutant::kAbortAfterStart, "abort_after_start"},
    {SchedulerMutant::kAckWithoutRound, "ack_without_round"},
    {SchedulerMutant::kReuseBeforeExpire, "reuse_before_expire"},
    {SchedulerMutant::kDoubleRequeue, "double_requeue"},
    {SchedulerMutant::kLostKeyAfterSnapshot, "lost_key_after_snapshot"},
    {SchedulerMutant::kEqualToken, "equal_token"},
    {SchedulerMutant::kExpireWithoutItsCondemn, "expire_without_its_condemn"},
    {SchedulerMutant::kRequeueOnSilence, "requeue_on_silence"},
    {SchedulerMutant::kKeepPairOnRegister, "keep_pair_on_register"},
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
