#pragma once
// Every ordered pair of what operators say of one job and what happens to it, at close instants and
// in each state of the job: a table, not a search. Each pair is one small world of its own.

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/state/job_life.h"
#include "tests/sim/world.h"

namespace muster::sim {

enum class RaceAct : std::uint8_t {
  kCancel,
  kSuspend,
  kResume,
  kRequeue,
  kLeaderChange,
  // Only with a job that runs.
  kRankFailure,
  kCompletion,
  kHostLost,
  kAgentRestart,
};
inline constexpr std::size_t kRaceActCount = static_cast<std::size_t>(RaceAct::kAgentRestart) + 1;
std::string_view text_of(RaceAct act);

struct Race {
  scheduler::JobState state = scheduler::JobState::kRunning;  ///< Of the job as the first comes.
  RaceAct first = RaceAct::kCancel;
  RaceAct second = RaceAct::kCancel;
  Duration gap{0};
  std::string text() const;
};

/// All of them, in a fixed order.
std::vector<Race> all_races();

struct RaceResult {
  std::vector<Violation> violations;
  std::uint64_t hash = 0;
  bool was_missed = false;  ///< The job was not in Race::state when the first came.
  scheduler::JobState end = scheduler::JobState::kQueued;
  scheduler::JobStepCounts steps;
};
RaceResult run_race(const Race& race, std::uint64_t seed, bool trace);

}  // namespace muster::sim
