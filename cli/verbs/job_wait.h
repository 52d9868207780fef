#pragma once
// Waiting for the end of a job, for `submit --wait`.

#include <string>

#include "cli/kit/session.h"
#include "gossip/base/ids.h"

namespace muster::cli {

/// Returns when the job has ended, with its exit code (128+n for a signal, 124 for the time limit),
/// after `job N exited C` on stderr; or with the code of what went wrong. An outage of the node is
/// sat out: the job goes on meanwhile. `key`: what it was submitted under.
int wait_for_end(Session& session, JobId job, const std::string& key);

}  // namespace muster::cli
