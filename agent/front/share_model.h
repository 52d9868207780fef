#pragma once
// The shares of queues and of their users in each pool, for people to read. Pure functions over
// State.

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "agent/api/queues.h"
#include "agent/front/job_sight.h"
#include "gossip/base/ids.h"
#include "gossip/base/result.h"
#include "scheduler/state/state.h"

namespace muster::agent {

/// The most rows of users in one answer: those that hold most.
inline constexpr std::size_t kUserSharesListedMax = 1000;
/// The largest answer. It has fewer rows of users if those of queues leave no room for them.
inline constexpr std::size_t kSharesBytes = (1 << 20) - (32 << 10);

/// The job that is tried next in the pool; nullopt if no job is.
using FirstIn = std::function<std::optional<JobId>(std::string_view pool)>;

/// The queue of that path and those below it, "" = all queues; queues in the order of the tree, the
/// users of a queue behind it, most held first. Users that `sight` hides have no rows. kNotFound if
/// there is no such queue; kInvalid if the rows of its queues are more than one answer holds.
Result<ShareList> share_list(const scheduler::State& state, const FirstIn& first_in,
                             const std::string& path, const JobSight& sight);

}  // namespace muster::agent
