#pragma once
// The settings of an agent by name: the same names in the config file, behind MUSTER_ in the
// environment (in capitals), and as flags (with dashes).

#include <map>
#include <string>

namespace muster::cli {

/// Setting -> value as a flag would give it; an array of strings is joined by commas.
using Settings = std::map<std::string, std::string>;

}  // namespace muster::cli
