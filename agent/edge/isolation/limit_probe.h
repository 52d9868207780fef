#pragma once
// Finds out which limits of control groups hold here, by passing them: a child uses too much memory
// and has to die, one forks and has to be refused, one finds itself on one processor. A file that
// is there proves nothing: the kernel may be built or started so that it does not count.

#include <string>
#include <vector>

#include "agent/isolation/abilities.h"

namespace muster::agent {

/// Makes the controllers of memory, processors and processes count for groups below `folders`, each
/// of which lies in the one before, as far as the kernel lets this process. A folder with processes
/// in it is left as it is.
void enable_controllers(const std::vector<std::string>& folders);

/// kMemory, kCpu and kPids, as far as a group below `root` holds them. Adds to `whys` what does not
/// hold, and why. Makes groups and children, and removes them.
AbilitySet probe_limits(const std::string& root, std::vector<std::string>& whys);

}  // namespace muster::agent
