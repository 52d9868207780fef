#include "agent/edge/supervisor/handle_life.h"

namespace muster::agent {
namespace {

constexpr auto kSame = static_cast<HandlePhase>(kHandlePhaseCount);  // It is no news there.
constexpr HandlePhase kSile = HandlePhase::kSilent;
constexpr HandlePhase kAnsw = HandlePhase::kAnswered;
constexpr HandlePhase kOrde = HandlePhase::kOrdered;
constexpr HandlePhase kRuns = HandlePhase::kRunning;
constexpr HandlePhase kEnds = HandlePhase::kEnded;
constexpr HandlePhase kSpawD = HandlePhase::kSpawnedDismissed;
constexpr HandlePhase kFounD = HandlePhase::kFoundDismissed;
constexpr HandlePhase kSileD = HandlePhase::kSilentDismissed;
constexpr HandlePhase kAnswD = HandlePhase::kAnsweredDismissed;
constexpr HandlePhase kRunsD = HandlePhase::kRunningDismissed;
constexpr HandlePhase kEndsD = HandlePhase::kEndedDismissed;

// clang-format off
constexpr HandlePhase kHandleTable[kHandlePhaseCount][kHandleEventCount] = {
    // answer  overdue launch  run     over    dismiss
    // spawned: a launch is ordered of what has answered, and nothing else
    {kAnsw,  kSame,  kSame,  kSame,  kSame,  kSpawD},
    // found
    {kAnsw,  kSile,  kSame,  kSame,  kSame,  kFounD},
    // silent
    {kAnsw,  kSame,  kSame,  kSame,  kSame,  kSileD},
    // answered: an order of the agent before this one may be obeyed late
    {kSame,  kSame,  kOrde,  kRuns,  kEnds,  kAnswD},
    // ordered
    {kSame,  kSame,  kSame,  kRuns,  kEnds,  kAnswD},
    // running: it obeys no second launch
    {kSame,  kSame,  kSame,  kSame,  kEnds,  kRunsD},
    // ended
    {kSame,  kSame,  kSame,  kSame,  kSame,  kEndsD},
    // spawned, dismissed
    {kAnswD, kSame,  kSame,  kSame,  kSame,  kSame},
    // found, dismissed
    {kAnswD, kSileD, kSame,  kSame,  kSame,  kSame},
    // silent, dismissed
    {kAnswD, kSame,  kSame,  kSame,  kSame,  kSame},
    // answered, dismissed: ranks may have been launched before the dismissal came
    {kSame,  kSame,  kSame,  kRunsD, kEndsD, kSame},
    // running, dismissed
    {kSame,  kSame,  kSame,  kSame,  kEndsD, kSame},
    // ended, dismissed
    {kSame,  kSame,  kSame,  kSame,  kSame,  kSame},
};
// clang-format on

}  // namespace

std::optional<HandlePhase> handle_step(HandlePhase from, HandleEvent event) {
  const HandlePhase to =
      kHandleTable[static_cast<std::size_t>(from)][static_cast<std::size_t>(event)];
  return to == kSame ? std::nullopt : std::optional(to);
}

bool take_step(HandlePhase& phase, HandleEvent event) {
  const std::optional<HandlePhase> to = handle_step(phase, event);
  phase = to.value_or(phase);
  return to.has_value();
}

bool has_answered(HandlePhase phase) {
  return phase != HandlePhase::kSpawned && phase != HandlePhase::kSpawnedDismissed &&
         !is_found(phase);
}

bool is_found(HandlePhase phase) {
  return is_due(phase) || is_silent(phase);
}

bool is_due(HandlePhase phase) {
  return phase == HandlePhase::kFound || phase == HandlePhase::kFoundDismissed;
}

bool is_silent(HandlePhase phase) {
  return phase == HandlePhase::kSilent || phase == HandlePhase::kSilentDismissed;
}

bool has_ended(HandlePhase phase) {
  return phase == HandlePhase::kEnded || phase == HandlePhase::kEndedDismissed;
}

bool is_dismissed(HandlePhase phase) {
  return phase >= HandlePhase::kSpawnedDismissed;
}

bool is_awaited(HandlePhase phase) {
  return !is_dismissed(phase) && !has_ended(phase);
}

}  // namespace muster::agent
