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

}  // namespace muster::agent
