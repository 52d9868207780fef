#pragma once
// Planted bugs of membership: each is a rule of PROTOCOL.md that was left out, and each must be
// found by a test. They exist only where MUSTER_MUTANTS is defined; elsewhere mutant() is a
// constant false and the wrong branch is not compiled.

#include <array>
#include <cstdint>
#include <string_view>

namespace muster::membership {

enum class MembershipMutant : std::uint8_t {
  kNone,
  kNonceUnchecked,         ///< Any Ack of a subject ends its round (3).
  kVetoWithoutNonce,       ///< A Veto counts under any nonce (4).
  kRelayedClaimCounted,    ///< A Call is taken for a claim of the own (5).
  kNoSweep,                ///< Nobody looks at all before it accuses a second one (5).
  kNoPauseRule,            ///< A host that stood still judges at once (10).
  kGenerationForgotten,    ///< Claims about an earlier start count (6).
  kWeakClaimsCounted,      ///< Weak claims count towards H (6).
  kMovingDenominator,      ///< Observers that have a verdict leave the list (6).
  kOlderRowAccepted,       ///< A row of an earlier start is taken (7).
  kNoClearHold,            ///< A verdict ends with the claims (7).
  kModeNeverLeft,          ///< A mode stays for ever (8).
  kRackModeForTheFleet,    ///< Losses all over the fleet are taken for a rack's (8).
  kOldAnswerReaches,       ///< An answer to any question says that a host is reached (9).
  kAckJudgedByLoop,        ///< An Ack counts when the Node comes to it, not when it came in (3).
  kObserversAtEachChange,  ///< The own list is chosen again whenever a host comes (2).
  kGuessesJudged,          ///< A new host accuses by its guess at observers (2).
  kNoStormHold,            ///< While a cut is suspected claims are a verdict at once (8).
  kReflexWaits,            ///< Probes wait for the Node like any other word (3).
};

struct MembershipMutantName {
  MembershipMutant mutant;
  std::string_view name;
};

inline constexpr std::array<MembershipMutantName, 18> kMembershipMutants = {{
    {MembershipMutant::kNonceUnchecked, "nonce_unchecked"},
    {MembershipMutant::kVetoWithoutNonce, "veto_without_nonce"},
    {MembershipMutant::kRelayedClaimCounted, "relayed_claim_counted"},
    {MembershipMutant::kNoSweep, "no_sweep"},
    {MembershipMutant::kNoPauseRule, "no_pause_rule"},
    {MembershipMutant::kGenerationForgotten, "generation_forgotten"},
    {MembershipMutant::kWeakClaimsCounted, "weak_claims_counted"},
    {MembershipMutant::kMovingDenominator, "moving_denominator"},
    {MembershipMutant::kOlderRowAccepted, "older_row_accepted"},
    {MembershipMutant::kNoClearHold, "no_clear_hold"},
    {MembershipMutant::kModeNeverLeft, "mode_never_left"},
    {MembershipMutant::kRackModeForTheFleet, "rack_mode_for_the_fleet"},
    {MembershipMutant::kOldAnswerReaches, "old_answer_reaches"},
    {MembershipMutant::kAckJudgedByLoop, "ack_judged_by_loop"},
    {MembershipMutant::kNoStormHold, "no_storm_hold"},
    {MembershipMutant::kReflexWaits, "reflex_waits"},
    {MembershipMutant::kObserversAtEachChange, "observers_at_each_change"},
    {MembershipMutant::kGuessesJudged, "guesses_judged"},
}};

#ifdef MUSTER_MUTANTS
/// The one planted bug of this process; set between runs only.
inline MembershipMutant planted_membership_mutant = MembershipMutant::kNone;
inline bool mutant(MembershipMutant which) {
  return planted_membership_mutant == which;
}
#else
constexpr bool mutant(MembershipMutant) {
  return false;
}
#endif

}  // namespace muster::membership
