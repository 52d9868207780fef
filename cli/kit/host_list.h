#pragma once
// Names of hosts, short: "gpu[1-4,7],login".

#include <string>
#include <vector>

namespace muster::cli {

/// Sorted, each once; those that differ in the number at their end alone are put together.
std::string short_host_list(std::vector<std::string> names);

}  // namespace muster::cli
