#pragma once
// The job that the body of a submit describes. Its members have the names that `muster show --json`
// prints for the same things; short names that people write stand beside some of them: command for
// argv, gpu_type for one of gpu_types, and seconds for milliseconds. Defaults and rules are those
// of `muster submit`, but that a job of HTTP inherits nothing: its directory has to be given, and
// its environment is what the body says. Pure.

#include <string>
#include <string_view>

#include "agent/api/rest/json_reader.h"
#include "gossip/base/result.h"
#include "scheduler/protocol/job.h"

namespace muster::agent {

/// Takes the members. Errors are those of end() of the body, or are returned.
Result<scheduler::JobSpec> job_of_body(JsonFields& body);

/// The submit key of an Idempotency-Key: 32 hex digits, or a UUID, in any case and with or without
/// quotes. kInvalid: it is neither.
Result<std::string> submit_key_of(std::string_view field);

}  // namespace muster::agent
