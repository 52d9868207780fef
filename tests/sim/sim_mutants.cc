// Goal: the simulator's checkers are worth something. Method: plant one known bug of the scheduler
// at a time and search seeded swarms of five hosts until a checker speaks. A seed whose run breaks
// a property without any planted bug proves nothing and is left out.
//
// `sim_mutants [SEEDS] [NAME]`: at most so many seeds for each; only the one named.

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

#include "scheduler/mutants.h"
#include "tests/sim/swarm.h"

namespace muster::sim {
namespace {

using scheduler::SchedulerMutant;
using scheduler::SchedulerMutantName;

constexpr std::uint64_t kSeedsUsual = 40;

SwarmOptions options_of(std::uint64_t seed) {
  SwarmOptions options;
  options.hosts = 5;
  options.seed = seed;
  options.length = std::chrono::seconds(200);
  options.quiet = std::chrono::seconds(80);
  return options;
}

std::vector<Violation> run(SchedulerMutant which, std::uint64_t seed) {
  scheduler::planted_scheduler_mutant = which;
  std::vector<Violation> violations = run_swarm(options_of(seed)).violations;
  scheduler::planted_scheduler_mutant = SchedulerMutant::kNone;
  return violations;
}

/// Exit 0 when a checker found it.
int hunt(const SchedulerMutantName& planted, std::uint64_t seeds) {
  std::uint64_t schedules = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    ++schedules;
    const std::vector<Violation> found = run(planted.mutant, seed);
    if (!found.empty() && run(SchedulerMutant::kNone, seed).empty()) {
      std::printf("mutant %s found seed=%llu schedules=%llu checker=%s\n", planted.name.data(),
                  static_cast<unsigned long long>(seed), static_cast<unsigned long long>(schedules),
                  found.front().checker.c_str());
      return EXIT_SUCCESS;
    }
  }
  std::printf("mutant %s not found schedules=%llu\n", planted.name.data(),
              static_cast<unsigned long long>(schedules));
  return EXIT_FAILURE;
}

/// In a process of its own: a planted bug may also end it at a CHECK, which is no checker's merit.
bool is_found(const SchedulerMutantName& planted, std::uint64_t seeds) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const int code = hunt(planted, seeds);
    std::fflush(stdout);
    _exit(code);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) {
    return false;
  }
  if (WIFSIGNALED(status)) {
    std::printf("mutant %s ended at a CHECK, not at a checker\n", planted.name.data());
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS;
}

int run_all(std::uint64_t seeds, const std::string& only) {
  std::size_t found = 0;
  std::size_t planted = 0;
  for (const SchedulerMutantName& each : scheduler::kSchedulerMutants) {
    if (only.empty() || only == each.name) {
      ++planted;
      found += is_found(each, seeds) ? 1U : 0U;
    }
  }
  std::printf("figure mutants_found %zu count\nfigure mutants_planted %zu count\n", found, planted);
  return found == planted ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace muster::sim

int main(int argc, char** argv) {
  const std::uint64_t seeds =
      argc > 1 ? std::strtoull(argv[1], nullptr, 10) : muster::sim::kSeedsUsual;
  return muster::sim::run_all(seeds, argc > 2 ? argv[2] : "");
}
