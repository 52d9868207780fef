// Goal: the simulator's checkers are worth something. Method: plant one known bug of the scheduler
// at a time and search seeded swarms of five hosts until a checker speaks, first with the profile
// that leans on the conditions of the guard left out, then with all others. A seed whose run breaks
// a property without any planted bug proves nothing and is left out.
//
// `sim_mutants [SEEDS] [NAME]`: at most so many seeds of each profile for each; only the one named.

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "scheduler/mutants.h"
#include "tests/sim/swarm.h"

namespace muster::sim {
namespace {

using scheduler::SchedulerMutant;
using scheduler::SchedulerMutantName;

constexpr std::uint64_t kSeedsUsual = 200;

/// Where the conditions of the guard left out are most likely met.
std::string_view likely_profile(SchedulerMutant mutant) {
  switch (mutant) {
    case SchedulerMutant::kAbortAfterStart:
      return "cancel_races";
    case SchedulerMutant::kAckWithoutRound:
      return "zombie_leaders";
    case SchedulerMutant::kReuseBeforeExpire:
    case SchedulerMutant::kExpireWithoutItsCondemn:
      return "silent_and_back";
    case SchedulerMutant::kRequeueOnSilence:
      return "late_stops";
    case SchedulerMutant::kLostKeyAfterSnapshot:
      return "repeats";
    case SchedulerMutant::kKeepPairOnRegister:
      return "old_disks";
    case SchedulerMutant::kNone:
    case SchedulerMutant::kDoubleRequeue:
    case SchedulerMutant::kEqualToken:
      return "usual";
  }
  return "usual";
}

/// The likely one first.
std::vector<SwarmProfile> profiles_for(SchedulerMutant mutant) {
  std::vector<SwarmProfile> profiles = {*swarm_profile(likely_profile(mutant))};
  for (const SwarmProfile& profile : swarm_profiles()) {
    if (profile.name != profiles.front().name) {
      profiles.push_back(profile);
    }
  }
  return profiles;
}

std::vector<Violation> run(SchedulerMutant which, const SwarmProfile& profile, std::uint64_t seed) {
  SwarmOptions options;
  options.hosts = 5;
  options.seed = seed;
  options.length = std::chrono::seconds(200);
  options.quiet = std::chrono::seconds(80);
  options.profile = profile;
  options.stop_at_violation = true;
  scheduler::planted_scheduler_mutant = which;
  std::vector<Violation> violations = run_swarm(options).violations;
  scheduler::planted_scheduler_mutant = SchedulerMutant::kNone;
  return violations;
}

/// Exit 0 when a checker found it.
int hunt(const SchedulerMutantName& planted, std::uint64_t seeds) {
  unsigned long long schedules = 0;
  for (const SwarmProfile& profile : profiles_for(planted.mutant)) {
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      ++schedules;
      const std::vector<Violation> found = run(planted.mutant, profile, seed);
      if (!found.empty() && run(SchedulerMutant::kNone, profile, seed).empty()) {
        std::printf("mutant %s found profile=%s seed=%llu schedules=%llu checker=%s\n",
                    planted.name.data(), profile.name.data(), static_cast<unsigned long long>(seed),
                    schedules, found.front().checker.c_str());
        std::printf("# %s\n", found.front().text.c_str());
        return EXIT_SUCCESS;
      }
    }
  }
  std::printf("mutant %s not found schedules=%llu\n", planted.name.data(), schedules);
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
