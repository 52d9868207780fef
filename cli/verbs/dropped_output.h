#pragma once
// Lines about output that was written and is not there: the disk of the host did not
// take it, or it is more than is kept of a rank.

#include <cstdint>
#include <string>

#include "agent/api/jobs.h"
#include "cli/kit/session.h"

namespace muster::cli {

/// "11 MiB", "1.5 KiB", "1 byte".
std::string about_size(std::uint64_t bytes);

/// "wrote 11 MiB more than the disk of host c took"; "" when all of it is there.
std::string dropped_text(const agent::RankInfo& rank, const std::string& host);

/// A line for each rank of which output is missing, the first of them at least.
std::string dropped_lines(const agent::AttemptInfo& attempt);

/// Says on stderr that output of `rank` is missing, if it is. The exit code that this makes.
int tell_dropped(Session& session, const agent::AttemptInfo& attempt, std::uint64_t rank);

}  // namespace muster::cli
