#pragma once
// The columns of `muster jobs`, by the names that -o and --sort take.

#include <string>
#include <vector>

namespace muster::cli {

std::vector<std::string> job_column_names();

}  // namespace muster::cli
