#pragma once
// Failures of a supervisor, a line each: its stderr is supervisor.log in the directory of its
// grant.

#include <string>

namespace muster::agent {

void log_failure(const std::string& text);

}  // namespace muster::agent
