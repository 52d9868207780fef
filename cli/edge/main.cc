// The one executable: the agent, every verb, the rank supervisor and the prober of GPUs.

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "agent/edge/gpu/probe.h"
#include "agent/edge/inheritance.h"
#include "agent/edge/ranks/supervise.h"
#include "cli/edge/system_world.h"
#include "cli/verbs/app.h"

int main(int argc, char** argv) {
  if (const muster::Status held = muster::agent::hold_standard_streams(); !held) {
    std::fprintf(stderr, "muster: %s\n", held.error().text.c_str());
    return 1;
  }
  // Before all else: a supervisor starts for every gang and must be there within a millisecond.
  if (argc > 1 && std::string_view(argv[1]) == "supervise") {
    return muster::agent::supervise_main(argc, argv);
  }
  if (argc > 1 && std::string_view(argv[1]) == "probe") {
    return muster::agent::probe_main(argc, argv);
  }
  muster::cli::World world = muster::cli::system_world();
  return muster::cli::run(world, std::vector<std::string>(argv + 1, argv + argc));
}
