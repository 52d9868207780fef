#pragma once
// The rules of the routes about GPUs.

#include "agent/api/rest/call_input.h"

namespace muster::agent {

CallStep list_gpus(CallInput& input);
CallStep host_gpus(CallInput& input);
CallStep mask_gpu(CallInput& input);
CallStep unmask_gpu(CallInput& input);

}  // namespace muster::agent
