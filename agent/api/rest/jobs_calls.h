#pragma once
// The rules of the routes that read jobs.

#include "agent/api/rest/call_input.h"

namespace muster::agent {

CallStep list_jobs(CallInput& input);
CallStep show_job(CallInput& input);
CallStep why_job(CallInput& input);
CallStep job_events(CallInput& input);

}  // namespace muster::agent
