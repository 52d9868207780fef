#pragma once
// The reasons for which a job waits, for people. Pure functions. A name stands in place of an id if
// it is known.

#include "agent/api/jobs.h"
#include "agent/front/read_model.h"

namespace muster::agent {

/// The most holders of one answer. An answer also ends behind the holder with which it reaches
/// kHoldersBytes.
inline constexpr std::size_t kHoldersListedMax = 256;
inline constexpr std::size_t kHoldersBytes = 512 << 10;
/// Precondition: the job is known.
WhyInfo why_info(const JobsKnown& known, const HostViews& hosts, JobId job);
/// The reason for which the first task of the array waits, or one line about all tasks.
WhyInfo why_array(const JobsKnown& known, const HostViews& hosts,
                  const scheduler::TaskArray& array);
/// The most hosts of one answer to a dry run.
inline constexpr std::size_t kPlacesListedMax = 64;
/// The reasons for which such a job would wait, or the hosts it would get, if it were submitted
/// now. For an array the answer is about its next task. The headline of a job that would be
/// cancelled at once, because a condition of it can never be met, says so.
WhyInfo dry_run_info(const JobsKnown& known, const HostViews& hosts,
                     const scheduler::JobSpec& spec);

}  // namespace muster::agent
