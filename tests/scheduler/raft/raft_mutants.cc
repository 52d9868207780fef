// Goal: the checkers find bugs. Method: plant one known bug at a time and search seeded schedules
// until a checker finds it.

#include <cstdio>
#include <cstdlib>

#include "gossip/base/mutant.h"
#include "tests/scheduler/raft/raft_sim.h"

namespace muster::scheduler::sim {
namespace {

constexpr std::uint64_t kSchedulesMax = 16000;

bool find(const MutantName& planted) {
  planted_mutant = planted.mutant;
  for (std::uint64_t seed = 1; seed <= kSchedulesMax; ++seed) {
    const Outcome outcome = RaftSim(seed).run();
    if (!outcome.checker.empty()) {
      std::printf("mutant %s found seed=%lu schedules=%lu checker=%s\n", planted.name.data(), seed,
                  seed, outcome.checker.c_str());
      return true;
    }
  }
  std::printf("mutant %s not found schedules=%lu\n", planted.name.data(), kSchedulesMax);
  return false;
}

int run_all() {
  std::size_t found = 0;
  for (const MutantName& planted : kRaftMutants) {
    found += find(planted) ? 1 : 0;
    std::fflush(stdout);
  }
  std::printf("figure mutants_found %zu count\nfigure mutants_planted %zu count\n", found,
              kRaftMutants.size());
  return found == kRaftMutants.size() ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace muster::scheduler::sim

int main() {
  return muster::scheduler::sim::run_all();
}
