#pragma once
// The list of GPUs as a voter has it, page by page.

#include <optional>

#include "agent/api/gpus.h"
#include "cli/kit/session.h"

namespace muster::cli {

/// All GPUs that fit the query. nullopt after a failure that it printed, as Session::read() does.
std::optional<agent::GpuList> read_gpus(Session& session, agent::GpusQuery query);

}  // namespace muster::cli
