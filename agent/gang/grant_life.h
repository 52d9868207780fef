#pragma once
// The life of a grant as one table: in each phase, where each event leads. A phase says more than
// the state that is stored and told (scheduler::GrantState): whether the supervisor is there,
// whether the hold runs, whether a Start was heard. Grant asks the table before every change of its
// phase and makes no other change. Pure; which event is due is decided in Grants.
//
// What has ended or was aborted never begins again. A grant without ranks ends by being aborted,
// unless its supervisor left evidence; one with ranks is never aborted.

#include <cstddef>
#include <cstdint>
#include <optional>

#include "scheduler/protocol/agent_messages.h"

namespace muster::agent {

enum class GrantPhase : std::uint8_t {
  // READY.
  kAssigned,  ///< Its supervisor is not there yet, or was not found yet after a restart.
  kPrepared,  ///< The supervisor is there; Ready was not said.
  kHeld,      ///< Ready was said: the hold runs since.
  // STARTING.
  kInterrupted,  ///< Of an earlier life of the agent; its supervisor was not found yet.
  kUnstarted,    ///< Its supervisor was found and launched nothing: Start has to be said again.
  kStartHeard,   ///< Start was obeyed in this life: Launch follows as soon as STARTING is durable.
  kLaunched,     ///< Ranks may run.
  // RUNNING, STOPPING.
  kRunning,
  kStopping,
  // For good.
  kEnded,
  kAborted,
};
inline constexpr std::size_t kGrantPhaseCount = static_cast<std::size_t>(GrantPhase::kAborted) + 1;

enum class GrantEvent : std::uint8_t {
  kPrepared,      ///< The supervisor answered Prepare.
  kReadySaid,     ///< Ready is sent for the first time.
  kStart,         ///< Start is obeyed.
  kLaunchSent,    ///< The supervisor is told to launch.
  kRanksStarted,  ///< It says that all ranks were exec'd.
  // Found at the start of the agent, or later when the supervisor was silent until then.
  kFoundIdle,    ///< Its supervisor lives and launched nothing.
  kFoundActive,  ///< Its supervisor lives and launched.
  kFoundSilent,  ///< Its supervisor lives and does not answer: ranks may run.
  // Whatever the reason.
  kAbort,
  kTerminate,
  kEnd,  ///< No rank is left, and what came of them is known.
};
inline constexpr std::size_t kGrantEventCount = static_cast<std::size_t>(GrantEvent::kEnd) + 1;

/// The table: where `event` leads a grant that is in `from`; nothing when it cannot happen there.
/// Total.
std::optional<GrantPhase> grant_step(GrantPhase from, GrantEvent event);

/// As it is stored and told.
scheduler::GrantState state_of(GrantPhase phase);
/// The phase of a record that an agent finds at its start.
GrantPhase phase_of_found(scheduler::GrantState state);

/// Not ENDED and not ABORTED.
bool is_live(GrantPhase phase);
/// Processes may exist under it.
bool has_ranks(GrantPhase phase);
/// Live, and the hold runs.
bool has_hold(GrantPhase phase);
/// Live, and it is known whether its supervisor is there: it is.
bool has_supervisor(GrantPhase phase);

}  // namespace muster::agent
