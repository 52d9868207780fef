#pragma once
// The conditions of a job, for people: the jobs and times that it waits for, in local time.

#include <string>

#include "agent/api/jobs.h"
#include "cli/kit/session.h"

namespace muster::cli {

/// Lines "after", "begins" and "deadline", those that there are; the words behind begin at that
/// column.
std::string wait_lines(const Session& session, const agent::WaitInfo& wait, std::size_t column);
/// The reason for which the job waits: "begins 22:00" if that is its begin, else
/// JobSummary::reason.
std::string reason_text(const Session& session, const agent::JobSummary& job);

}  // namespace muster::cli
