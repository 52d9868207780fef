#pragma once
// The rules of the routes that submit jobs.

#include "agent/api/rest/call_input.h"

namespace muster::agent {

CallStep submit_job(CallInput& input);
CallStep dry_run_job(CallInput& input);

}  // namespace muster::agent
