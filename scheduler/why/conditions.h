#pragma once
// The open conditions of a job or array in words: the jobs and the time that it waits for.

#include <functional>
#include <string>

#include "scheduler/state/state.h"

namespace muster::scheduler {

// A job or array that is not queued any more, or not now, may have open conditions: ask before.

/// For a column: "after 7, 8.3", else "begins in 2h 5m"; "" if no condition is open.
std::string conditions_brief(const State& state, const JobWait& wait);
/// A sentence: "it waits until job 7 succeeded (running) and job 8 ended (queued); it begins in
/// 2h 5m; it fails unless it has started in 8h". "" if no condition is open.
std::string conditions_text(const State& state, const JobWait& wait);
/// Takes out of a text about the job or array how those of its conditions stand, or ended, that
/// `sees` refuses: "it waits until job 7 succeeded", "it was to start after job 7 succeeded, and
/// that can never be".
std::string without_standings(std::string text, const JobWait& wait,
                              const std::function<bool(JobId)>& sees);
/// "2h 5m", "30s": rounded up to a second.
std::string left_text(Duration left);

}  // namespace muster::scheduler
