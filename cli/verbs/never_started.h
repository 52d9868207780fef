#pragma once
// Explains ranks without output whose command did not start.

#include <cstdint>
#include <vector>

#include "agent/api/jobs.h"
#include "cli/kit/rank_output.h"
#include "cli/kit/session.h"

namespace muster::cli {

/// Prints a line for each reason; the exit code: kFailed, or 0 when the empty ones did start.
int tell_never_started(Session& session, const agent::JobDetail& job, std::uint64_t attempt,
                       const std::vector<RankOutput>& outputs);

}  // namespace muster::cli
