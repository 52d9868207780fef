#pragma once
// Finds out what this host can hold ranks to, by doing it: in child processes, with groups and
// mounts of their own, which it removes. To be called at the start of an agent, before it has
// threads.

#include <string>
#include <vector>

#include "agent/isolation/abilities.h"

namespace muster::agent {

struct ProbedHost {
  AbilitySet abilities;
  std::string group_root;         ///< RoomHost::group_root, made by now; "" = there is no.
  std::vector<std::string> whys;  ///< For people: the abilities that are not there, and why.
};

/// `data_directory` tells the agents of one machine apart: each has a root of its own. `is_root`:
/// ranks become users; else the supervisor makes a user namespace.
ProbedHost probe_abilities(const std::string& data_directory, bool is_root);

}  // namespace muster::agent
