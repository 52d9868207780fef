#pragma once
// The life of a grant as one table: the next phase for each phase and event. A phase says more than
// the state that is stored and reported (scheduler::GrantState): if the supervisor is there, if the
// hold runs, if a Start was heard. Grant asks the table before every change of its phase and makes
// no other change. Pure: Grants decides which event is due.
//
// An ended or aborted grant never begins again. A grant without ranks ends by being aborted, unless
// its supervisor left evidence. A grant with ranks is never aborted.

#include <cstddef>
#include <cstdint>
#include <optional>

#include "scheduler/protocol/agent_messages.h"

namespace muster::agent {

enum class GrantPhase : std::uint8_t {
  // READY.
  kAssigned,  ///< Its supervisor is not there yet, or was not found yet after a restart.
  kPrepared,  ///< The supervisor is there; Ready was not sent.
  kHeld,      ///< Ready was sent: the hold runs since.
  // STARTING.
  kInterrupted,  ///< Of an earlier life of the agent; its supervisor was not found yet.
  kUnstarted,    ///< Its supervisor was found and launched no rank: Start has to come again.
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
  kRanksStarted,  ///< The supervisor reports that all ranks were exec'd.
  // Found at the start of the agent, or later if the supervisor was silent until then.
  kFoundIdle,    ///< Its supervisor lives and launched no rank.
  kFoundActive,  ///< Its supervisor lives and launched.
  kFoundSilent,  ///< Its supervisor lives and does not answer: ranks may run.
  // For any reason.
  kAbort,
  kTerminate,
  kEnd,  ///< No rank is left, and the results are known.
};
inline constexpr std::size_t kGrantEventCount = static_cast<std::size_t>(GrantEvent::kEnd) + 1;

/// The phase to which `event` leads a grant in `from`; nullopt if it cannot happen there. Total.
std::optional<GrantPhase> grant_step(GrantPhase from, GrantEvent event);

/// The state that is stored and reported.
scheduler::GrantState state_of(GrantPhase phase);
/// The phase of a record that an agent finds at its start.
GrantPhase phase_of_found(scheduler::GrantState state);

/// True if it is neither ENDED nor ABORTED.
bool is_live(GrantPhase phase);
/// True if processes may exist under it.
bool has_ranks(GrantPhase phase);
/// True if it is live and the hold runs.
bool has_hold(GrantPhase phase);
/// True if it is live and its supervisor is known to be there.
bool has_supervisor(GrantPhase phase);

}  // namespace muster::agent
