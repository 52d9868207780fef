#pragma once
// Complaints of a supervisor: its stderr is supervisor.log in the directory of its grant.

#include <string>

namespace muster::agent {

void complain(const std::string& text);

}  // namespace muster::agent
