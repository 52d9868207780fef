#pragma once
// The agent's knowledge of one supervisor, as one table: in each phase, where each event leads. An
// event that is no news leads nowhere, so a fact that the GangAgent is told once (RanksStarted, an
// end, a silence) is told when the table makes the step. RankSupervisors changes a phase by
// take_step() alone. Pure.
//
// A dismissal is never taken back. The GangAgent is still told what a dismissed supervisor says,
// but not that it died; its files go with it.

#include <cstddef>
#include <cstdint>
#include <optional>

namespace muster::agent {

enum class HandlePhase : std::uint8_t {
  // It has not answered yet.
  kSpawned,  ///< This agent started it.
  kFound,    ///< It was there when this agent started.
  kSilent,   ///< Found, and its answer is overdue.
  // It has answered.
  kAnswered,  ///< This agent ordered no launch of it.
  kOrdered,   ///< A launch was ordered; that ranks run was not heard.
  kRunning,   ///< Every rank was exec'd.
  kEnded,     ///< No rank is left, and its evidence is durable.
  // The same once it is dismissed. A launch that was ordered makes no difference any more.
  kSpawnedDismissed,
  kFoundDismissed,
  kSilentDismissed,
  kAnsweredDismissed,
  kRunningDismissed,
  kEndedDismissed,
};
inline constexpr std::size_t kHandlePhaseCount =
    static_cast<std::size_t>(HandlePhase::kEndedDismissed) + 1;

enum class HandleEvent : std::uint8_t {
  kAnswer,     ///< A status came.
  kOverdue,    ///< Its first status should have come by now.
  kLaunch,     ///< The GangAgent orders a launch.
  kRanksRun,   ///< A status says that ranks run.
  kRanksOver,  ///< A status says that it ended.
  kDismiss,    ///< The GangAgent forgets it.
};
inline constexpr std::size_t kHandleEventCount =
    static_cast<std::size_t>(HandleEvent::kDismiss) + 1;

/// The table: where `event` leads a handle in `from`; nullopt if it changes nothing there. Total.
std::optional<HandlePhase> handle_step(HandlePhase from, HandleEvent event);
/// Takes that step. False if the table has no such step.
bool take_step(HandlePhase& phase, HandleEvent event);

/// It has answered since this agent started.
bool has_answered(HandlePhase phase);
/// It was there when this agent started, and has not answered since.
bool is_found(HandlePhase phase);
/// Found, and its answer is not overdue yet.
bool is_due(HandlePhase phase);
/// Found, and its answer is overdue.
bool is_silent(HandlePhase phase);
/// Its end is known.
bool has_ended(HandlePhase phase);
bool is_dismissed(HandlePhase phase);
/// The grant waits for its end: a lost connection to it is made again, and its death is told.
bool is_awaited(HandlePhase phase);

}  // namespace muster::agent
