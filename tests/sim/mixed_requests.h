#pragma once
// Requests of jobs beside a number of GPUs, drawn at random.

#include <functional>

#include "gossip/base/rng.h"
#include "scheduler/protocol/job.h"

namespace muster::sim {

/// Draws kinds that a user may mix, with this chance in millionths; a request that five simulated
/// hosts could not hold is left out. With a third of that chance the job becomes an array of a few
/// small tasks.
void ask_for_more(scheduler::JobSpec& spec, Rng& rng, std::uint32_t chance);

/// With this chance in millionths the job waits for a time, has a deadline, or waits for the end of
/// `other()`, if that is not 0, however it ends. A deadline may pass before it could start.
void ask_to_wait(scheduler::JobSpec& spec, Rng& rng, std::uint32_t chance,
                 const std::function<JobId()>& other);

}  // namespace muster::sim
