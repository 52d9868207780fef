#pragma once
// From the arguments of a process to one verb.

#include <string>
#include <vector>

#include "cli/kit/world.h"
#include "cli/verbs/completion.h"
#include "cli/verbs/manual.h"

namespace muster::cli {

/// Runs `muster VERB ...`; `args` are those behind the program's name. Returns the exit code of the
/// process, as `muster --help` lists them.
int run(World& world, const std::vector<std::string>& args);

inline constexpr char kMusterPurpose[] =
    "Muster runs gangs of GPU processes on a fleet of hosts without a central server.";

/// The verbs under their headings, and the exit codes.
std::string overview(const Screen& screen);

/// The exit codes that every verb may end with.
const std::vector<ExitCode>& exit_codes();

/// Every verb, as its help describes it.
std::vector<VerbWords> verb_words();

}  // namespace muster::cli
