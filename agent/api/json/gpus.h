#pragma once
// The --json of GPUs and of orders about them, by the rules of view.h.

#include <optional>
#include <string>
#include <string_view>

#include "agent/api/gpus.h"
#include "agent/api/request.h"

namespace muster::agent {

/// `board`: of the one host that the list is about; nullopt if that host was not asked.
std::string to_json(const GpuList& list, const std::optional<GpuBoard>& board,
                    const Response& answer);
/// `done` is "masked" or "unmasked".
std::string gpu_ordered_json(std::string_view done, const std::string& uuid,
                             const std::string& host_name, HostId host);

}  // namespace muster::agent
