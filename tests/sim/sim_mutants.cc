// Goal: the simulator's checkers are worth something. Method: plant one known bug at a time and
// search seeded runs until a checker speaks: swarms of five hosts, first with the profile that
// leans on the conditions of the guard left out, then with all others; for reads, the histories of
// clients; for rows, the traitor's swarm; for users, the trials of access and of resets; for slots
// of a GPU, which no cluster grants yet, an agent by itself; for cuts, a scenario file. A seed
// whose run breaks a property without any planted bug proves nothing and is left out.
//
// `sim_mutants [SEEDS] [NAME]`: at most so many seeds of each kind for each; only the one named.

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "gossip/base/mutant.h"
#include "scheduler/protocol/mutants.h"
#include "tests/sim/access_trial.h"
#include "tests/sim/history.h"
#include "tests/sim/lone_agent.h"
#include "tests/sim/reset_trial.h"
#include "tests/sim/scenario/judge.h"
#include "tests/sim/scenario/parser.h"
#include "tests/sim/scenario/player.h"
#include "tests/sim/swarm.h"

namespace muster::sim {
namespace {

using scheduler::SchedulerMutant;
using scheduler::SchedulerMutantName;

constexpr std::uint64_t kSeedsUsual = 200;
constexpr std::uint64_t kSeedsOfHistories = 3'000;  ///< Shorter ones.
constexpr std::uint64_t kSeedsOfAccess = 1;         ///< One run tries all cells.

/// Where the conditions of the guard left out are most likely met.
std::string_view likely_profile(SchedulerMutant mutant) {
  switch (mutant) {
    case SchedulerMutant::kAbortAfterStart:
      return "cancel_races";
    case SchedulerMutant::kAckWithoutRound:
      return "zombie_leaders";
    case SchedulerMutant::kReuseBeforeExpire:
    case SchedulerMutant::kExpireWithoutItsCondemn:
    case SchedulerMutant::kHeldAfterExpire:
      return "silent_and_back";
    case SchedulerMutant::kRequeueOnSilence:
      return "late_stops";
    case SchedulerMutant::kHoldFromReceipt:
    case SchedulerMutant::kLateStartObeyed:
      return "very_late";
    case SchedulerMutant::kKillFromStaleLeader:
      return "fresh_leaders";
    case SchedulerMutant::kTokenNotPersisted:
      return "cancel_races";
    case SchedulerMutant::kLostKeyAfterSnapshot:
    case SchedulerMutant::kFailedIsOk:
    case SchedulerMutant::kBeginEarly:
    case SchedulerMutant::kBeginFromLastTick:
      return "repeats";
    case SchedulerMutant::kKeepPairOnRegister:
    case SchedulerMutant::kOldGenerationRegistered:
      return "old_disks";
    case SchedulerMutant::kDiskNotCompared:
      return "lying_disks";
    case SchedulerMutant::kDrainIgnored:
    case SchedulerMutant::kMaskIgnored:
    case SchedulerMutant::kQueueMaxIgnored:
      return "drains";
    case SchedulerMutant::kDirtyOffered:
      return "dirty_gpus";
    case SchedulerMutant::kAdoptedHeldTwice:
      return "queue_recoveries";
    case SchedulerMutant::kMaxOfLeavesOnly:
    case SchedulerMutant::kWeightIgnored:
    case SchedulerMutant::kCreditUnbounded:
    case SchedulerMutant::kDecayTwice:
    case SchedulerMutant::kGuaranteeOfLeavesOnly:
    case SchedulerMutant::kTierIgnored:
    case SchedulerMutant::kMovedShareStays:
    case SchedulerMutant::kFailedDecideCharged:
    case SchedulerMutant::kBlockedNeverWoken:
    case SchedulerMutant::kPlanIgnored:
    case SchedulerMutant::kPlanBySubmit:
      return "queues";
    case SchedulerMutant::kNone:
    case SchedulerMutant::kDoubleRequeue:
    case SchedulerMutant::kEqualToken:
    case SchedulerMutant::kGenerationReused:
    case SchedulerMutant::kReadFromFollower:
    case SchedulerMutant::kEvictInStorm:
    case SchedulerMutant::kAmountsForgotten:
    case SchedulerMutant::kTaskUncounted:
    case SchedulerMutant::kFenceWithoutSlots:
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

/// The first violation of one run; its name is empty if no checker spoke.
Violation run_swarm_once(const SwarmProfile& profile, std::uint64_t seed) {
  SwarmOptions options;
  options.hosts = 5;
  options.seed = seed;
  options.length = std::chrono::seconds(200);
  options.quiet = std::chrono::seconds(80);
  options.profile = profile;
  options.stop_at_violation = true;
  const SwarmResult result = run_swarm(options);
  const std::vector<Violation>& violations = result.violations;
  return result.disks.all_bets_are_off() || violations.empty() ? Violation() : violations.front();
}

Violation run_history_once(std::uint64_t seed) {
  const HistoryResult result = run_history({seed, false});
  return result.verdict.judgement == Judgement::kRefused
             ? Violation{"linearisable",
                         result.verdict.why.substr(0, result.verdict.why.find('\n'))}
             : Violation();
}

Violation run_access_once(std::uint64_t seed) {
  const AccessTrialResult result = run_access_trial(seed, 1);
  return result.wrong.empty() ? Violation() : Violation{"access", result.wrong.front()};
}

Violation run_reset_once(std::uint64_t seed) {
  const ResetTrialResult result = run_reset_trial(seed);
  return result.wrong.empty() ? Violation() : Violation{"reset", result.wrong.front()};
}

Violation run_lone_agent_once(std::uint64_t seed) {
  const LoneAgentResult result = run_lone_agent(seed);
  return result.violation.empty() ? Violation()
                                  : Violation{"no_gpu_in_two_attempts", result.violation};
}

/// The far side of its cut has hosts with a verdict.
constexpr char kCutFile[] = MUSTER_ROOT "/scenarios/partition/seventy_thirty.scenario";

Violation run_file_once(const char* path, std::uint64_t seed) {
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto scenario = scenario::parse(path, text);
  if (!scenario) {
    return {};  // Then the planted bug is not found.
  }
  scenario::PlayOptions options;
  options.seed = seed;
  const scenario::Played played = scenario::play(*scenario, options);
  const scenario::Judgement judgement = scenario::judge(*scenario, played.timeline);
  return judgement.broken.empty() ? Violation()
                                  : Violation{"scenario", judgement.broken.front().text};
}

/// One way to search.
struct Ground {
  std::string name;
  std::function<Violation(std::uint64_t seed)> run;
  std::uint64_t seeds = kSeedsUsual;
};

std::vector<Ground> grounds_for(SchedulerMutant mutant) {
  if (mutant == SchedulerMutant::kReadFromFollower) {
    return {{"histories", run_history_once, kSeedsOfHistories}};
  }
  if (mutant == SchedulerMutant::kEvictInStorm) {
    return {{"seventy_thirty", [](std::uint64_t seed) { return run_file_once(kCutFile, seed); }}};
  }
  if (mutant == SchedulerMutant::kFenceWithoutSlots) {
    return {{"lone_agent", run_lone_agent_once}};
  }
  std::vector<Ground> grounds;
  for (const SwarmProfile& profile : profiles_for(mutant)) {
    grounds.push_back({std::string(profile.name),
                       [profile](std::uint64_t seed) { return run_swarm_once(profile, seed); }});
  }
  return grounds;
}

/// One planted bug, wherever it is.
struct Planted {
  std::string name;
  std::vector<Ground> grounds;
  SchedulerMutant scheduler = SchedulerMutant::kNone;
  Mutant raft = Mutant::kNone;
};

std::vector<Planted> all_planted() {
  std::vector<Planted> all;
  for (const SchedulerMutantName& each : scheduler::kSchedulerMutants) {
    all.push_back({std::string(each.name), grounds_for(each.mutant), each.mutant});
  }
  const auto traitor = [](std::uint64_t seed) {
    return run_swarm_once(*swarm_profile("traitor"), seed);
  };
  for (const auto& names :
       {std::span<const MutantName>(kTraitorMutants), std::span<const MutantName>(kProofMutants)}) {
    for (const MutantName& each : names) {
      all.push_back(
          {std::string(each.name), {{"traitor", traitor}}, SchedulerMutant::kNone, each.mutant});
    }
  }
  for (const MutantName& each : kAccessMutants) {
    all.push_back({std::string(each.name),
                   {{"access", run_access_once, kSeedsOfAccess}},
                   SchedulerMutant::kNone,
                   each.mutant});
  }
  for (const MutantName& each : kResetMutants) {
    all.push_back({std::string(each.name),
                   {{"reset", run_reset_once, kSeedsOfAccess}},
                   SchedulerMutant::kNone,
                   each.mutant});
  }
  all.push_back(
      {"signature_a_field",
       {{"usual",
         [](std::uint64_t seed) { return run_swarm_once(*swarm_profile("usual"), seed); }}},
       SchedulerMutant::kNone,
       Mutant::kSignatureAField});
  // The raft's own simulator finds it as well; here it is what clients see of it that counts.
  all.push_back({"read_without_round",
                 {{"histories", run_history_once, kSeedsOfHistories}},
                 SchedulerMutant::kNone,
                 Mutant::kRaftReadWithoutRound});
  return all;
}

Violation run_with(const Planted& planted, const Ground& ground, std::uint64_t seed) {
  scheduler::planted_scheduler_mutant = planted.scheduler;
  planted_mutant = planted.raft;
  Violation found = ground.run(seed);
  scheduler::planted_scheduler_mutant = SchedulerMutant::kNone;
  planted_mutant = Mutant::kNone;
  return found;
}

/// Grounds of one long run, by name: whether that run is sound without a planted bug. Found out
/// once, before the processes that hunt part.
using SoundRuns = std::map<std::string, bool>;

SoundRuns sound_runs(const std::vector<Planted>& all, const std::string& only) {
  SoundRuns sound;
  for (const Planted& planted : all) {
    for (const Ground& ground : planted.grounds) {
      const bool is_wanted = only.empty() || only == planted.name;
      if (is_wanted && ground.seeds == 1 && !sound.contains(ground.name)) {
        sound[ground.name] = ground.run(1).checker.empty();
      }
    }
  }
  return sound;
}

bool is_sound(const Ground& ground, std::uint64_t seed, const SoundRuns& known) {
  const auto found = known.find(ground.name);
  return seed == 1 && found != known.end() ? found->second : ground.run(seed).checker.empty();
}

/// Exit 0 when a checker found it. `seeds` = 0: as many as the ground says.
int hunt(const Planted& planted, std::uint64_t seeds, const SoundRuns& known) {
  unsigned long long schedules = 0;
  for (const Ground& ground : planted.grounds) {
    for (std::uint64_t seed = 1; seed <= (seeds == 0 ? ground.seeds : seeds); ++seed) {
      ++schedules;
      const Violation found = run_with(planted, ground, seed);
      if (!found.checker.empty() && is_sound(ground, seed, known)) {
        std::printf("mutant %s found profile=%s seed=%llu schedules=%llu checker=%s\n",
                    planted.name.c_str(), ground.name.c_str(),
                    static_cast<unsigned long long>(seed), schedules, found.checker.c_str());
        std::printf("# %s\n", found.text.c_str());
        return EXIT_SUCCESS;
      }
    }
  }
  std::printf("mutant %s not found schedules=%llu\n", planted.name.c_str(), schedules);
  return EXIT_FAILURE;
}

/// In a process of its own: a planted bug may also end it at a CHECK, which is no checker's merit.
bool is_found(const Planted& planted, std::uint64_t seeds, const SoundRuns& known) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const int code = hunt(planted, seeds, known);
    std::fflush(stdout);
    _exit(code);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) {
    return false;
  }
  if (WIFSIGNALED(status)) {
    std::printf("mutant %s ended at a CHECK, not at a checker\n", planted.name.c_str());
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS;
}

int run_all(std::uint64_t seeds, const std::string& only) {
  std::size_t found = 0;
  std::size_t planted = 0;
  const std::vector<Planted> all = all_planted();
  const SoundRuns known = sound_runs(all, only);
  for (const Planted& each : all) {
    if (only.empty() || only == each.name) {
      ++planted;
      found += is_found(each, seeds, known) ? 1U : 0U;
    }
  }
  std::printf("figure mutants_found %zu count\nfigure mutants_planted %zu count\n", found, planted);
  return found == planted ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace muster::sim

int main(int argc, char** argv) {
  const std::uint64_t seeds = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0;
  return muster::sim::run_all(seeds, argc > 2 ? argv[2] : "");
}
