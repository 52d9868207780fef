#pragma once
// Why a job waits, as people read it. Pure functions; names instead of ids where a name is known.

#include "agent/api/jobs.h"
#include "agent/front/read_model.h"

namespace muster::agent {

/// Holders in one answer at most, and it ends behind the one that fills it so far.
inline constexpr std::size_t kHoldersListedMax = 256;
inline constexpr std::size_t kHoldersBytes = 512 << 10;
/// Precondition: the job is known.
WhyInfo why_info(const JobsKnown& known, const HostViews& hosts, JobId job);
/// Hosts of a dry run in one answer at most.
inline constexpr std::size_t kPlacesListedMax = 64;
/// What such a job would wait for, or which hosts it would get, if it were submitted now. Of an
/// array: its next task.
WhyInfo dry_run_info(const JobsKnown& known, const HostViews& hosts,
                     const scheduler::JobSpec& spec);

}  // namespace muster::agent
