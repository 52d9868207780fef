#include "agent/gang/grant_life.h"

namespace muster::agent {

using scheduler::GrantState;

namespace {

constexpr auto kNo = static_cast<GrantPhase>(kGrantPhaseCount);  // The event cannot happen there.
constexpr GrantPhase kPrep = GrantPhase::kPrepared;
constexpr GrantPhase kHeld = GrantPhase::kHeld;
constexpr GrantPhase kIdle = GrantPhase::kUnstarted;
constexpr GrantPhase kHear = GrantPhase::kStartHeard;
constexpr GrantPhase kSent = GrantPhase::kLaunched;
constexpr GrantPhase kRuns = GrantPhase::kRunning;
constexpr GrantPhase kStop = GrantPhase::kStopping;
constexpr GrantPhase kEnds = GrantPhase::kEnded;
constexpr GrantPhase kAbor = GrantPhase::kAborted;

// clang-format off
constexpr GrantPhase kTable[kGrantPhaseCount][kGrantEventCount] = {
    // prepar ready  start  launch started idle   active silent abort  term   end
    // assigned
    {kPrep, kNo,   kNo,   kNo,   kNo,   kHeld, kRuns, kNo,   kAbor, kNo,   kEnds},
    // prepared
    {kPrep, kHeld, kNo,   kNo,   kNo,   kHeld, kRuns, kNo,   kAbor, kNo,   kEnds},
    // held
    {kHeld, kNo,   kHear, kNo,   kNo,   kHeld, kRuns, kNo,   kAbor, kNo,   kEnds},
    // interrupted
    {kNo,   kNo,   kNo,   kNo,   kRuns, kIdle, kRuns, kSent, kAbor, kNo,   kEnds},
    // unstarted: an order of the earlier life may be obeyed late, and the ranks run all the same
    {kNo,   kNo,   kHear, kNo,   kRuns, kIdle, kRuns, kSent, kAbor, kNo,   kEnds},
    // start heard: a repeated Start is heard again
    {kNo,   kNo,   kHear, kSent, kRuns, kHear, kRuns, kSent, kAbor, kNo,   kEnds},
    // launched, or presumed so of a silent supervisor, which may say otherwise once it answers
    {kNo,   kNo,   kNo,   kNo,   kRuns, kIdle, kRuns, kSent, kNo,   kStop, kEnds},
    // running
    {kNo,   kNo,   kNo,   kNo,   kNo,   kRuns, kRuns, kNo,   kNo,   kStop, kEnds},
    // stopping: what it was ordered first holds
    {kNo,   kNo,   kNo,   kNo,   kNo,   kNo,   kNo,   kNo,   kNo,   kNo,   kEnds},
    // ended
    {kNo,   kNo,   kNo,   kNo,   kNo,   kNo,   kNo,   kNo,   kNo,   kNo,   kNo},
    // aborted
    {kNo,   kNo,   kNo,   kNo,   kNo,   kNo,   kNo,   kNo,   kNo,   kNo,   kNo},
};
// clang-format on

}  // namespace

std::optional<GrantPhase> grant_step(GrantPhase from, GrantEvent event) {
  const GrantPhase to = kTable[static_cast<std::size_t>(from)][static_cast<std::size_t>(event)];
  return to == kNo ? std::nullopt : std::optional(to);
}

GrantState state_of(GrantPhase phase) {
  switch (phase) {
    case GrantPhase::kAssigned:
    case GrantPhase::kPrepared:
    case GrantPhase::kHeld:
      return GrantState::kReady;
    case GrantPhase::kInterrupted:
    case GrantPhase::kUnstarted:
    case GrantPhase::kStartHeard:
    case GrantPhase::kLaunched:
      return GrantState::kStarting;
    case GrantPhase::kRunning:
      return GrantState::kRunning;
    case GrantPhase::kStopping:
      return GrantState::kStopping;
    case GrantPhase::kEnded:
      return GrantState::kEnded;
    case GrantPhase::kAborted:
      break;
  }
  return GrantState::kAborted;
}

/// RUNNING and STOPPING are never written.
GrantPhase phase_of_found(GrantState state) {
  switch (state) {
    case GrantState::kReady:
      return GrantPhase::kAssigned;
    case GrantState::kStarting:
    case GrantState::kRunning:
    case GrantState::kStopping:
      return GrantPhase::kInterrupted;
    case GrantState::kEnded:
      return GrantPhase::kEnded;
    case GrantState::kAborted:
      break;
  }
  return GrantPhase::kAborted;
}

bool is_live(GrantPhase phase) {
  return phase < GrantPhase::kEnded;
}

bool has_ranks(GrantPhase phase) {
  return phase >= GrantPhase::kLaunched && is_live(phase);
}

bool has_hold(GrantPhase phase) {
  return is_live(phase) && phase >= GrantPhase::kHeld && phase != GrantPhase::kInterrupted;
}

bool has_supervisor(GrantPhase phase) {
  return has_hold(phase) || phase == GrantPhase::kPrepared;
}

}  // namespace muster::agent
