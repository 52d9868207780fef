#pragma once
// The rules of the routes that order jobs.

#include "agent/api/rest/call_input.h"

namespace muster::agent {

CallStep cancel_job(CallInput& input);
CallStep suspend_job(CallInput& input);
CallStep resume_job(CallInput& input);
CallStep requeue_job(CallInput& input);
CallStep edit_job(CallInput& input);

}  // namespace muster::agent
