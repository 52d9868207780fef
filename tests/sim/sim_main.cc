// `muster_sim`: the simulator from the command line. One line a figure; exits 1 when a property
// broke, with the command that replays it.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <string>
#include <vector>

#include "tests/sim/access_trial.h"
#include "tests/sim/crowds.h"
#include "tests/sim/disk_faults.h"
#include "tests/sim/drift.h"
#include "tests/sim/edges.h"
#include "tests/sim/history.h"
#include "tests/sim/ledger.h"
#include "tests/sim/lone_agent.h"
#include "tests/sim/order_checkers.h"
#include "tests/sim/races.h"
#include "tests/sim/reset_trial.h"
#include "tests/sim/revocation.h"
#include "tests/sim/swarm.h"

namespace {

using muster::sim::SwarmOptions;
using muster::sim::SwarmResult;

struct Arguments {
  std::string scenario = "swarm";
  std::uint32_t hosts = 100;
  std::uint64_t first_seed = 1;
  std::uint64_t last_seed = 1;
  std::int64_t seconds = 600;
  std::uint32_t slowness = muster::sim::StarvedOptions().slowness;
  std::uint32_t loss_percent = muster::sim::RevocationOptions().loss_percent;
  std::uint32_t rounds = muster::sim::RevocationOptions().rounds;
  bool trace = false;
  bool faults = true;
  bool twice = true;
  bool hashes = false;
  std::int64_t drift_permille = SwarmOptions().drift_ppm_max / 1000;
  const muster::sim::SwarmProfile* profile = &muster::sim::swarm_profiles().front();
};

std::uint64_t number(const char* text) {
  return std::strtoull(text, nullptr, 10);
}

bool parse(int argc, char** argv, Arguments& arguments) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool has_value = i + 1 < argc;
    if (word == "--trace") {
      arguments.trace = true;
    } else if (word == "--no-faults") {
      arguments.faults = false;
    } else if (word == "--once") {
      arguments.twice = false;
    } else if (word == "--hashes") {
      arguments.hashes = true;
    } else if (word == "--profile" && has_value) {
      arguments.profile = muster::sim::swarm_profile(argv[++i]);
    } else if (word == "--drift-permille" && has_value) {
      arguments.drift_permille = static_cast<std::int64_t>(number(argv[++i]));
    } else if (word == "--hosts" && has_value) {
      arguments.hosts = static_cast<std::uint32_t>(number(argv[++i]));
    } else if (word == "--slowness" && has_value) {
      arguments.slowness = static_cast<std::uint32_t>(number(argv[++i]));
    } else if (word == "--loss" && has_value) {
      arguments.loss_percent = static_cast<std::uint32_t>(number(argv[++i]));
    } else if (word == "--rounds" && has_value) {
      arguments.rounds = static_cast<std::uint32_t>(number(argv[++i]));
    } else if (word == "--seconds" && has_value) {
      arguments.seconds = static_cast<std::int64_t>(number(argv[++i]));
    } else if (word == "--seed" && has_value) {
      arguments.first_seed = arguments.last_seed = number(argv[++i]);
    } else if (word == "--seeds" && has_value) {
      const char* range = argv[++i];
      const char* dots = std::strstr(range, "..");
      arguments.first_seed = number(range);
      arguments.last_seed = dots == nullptr ? arguments.first_seed : number(dots + 2);
    } else if (word[0] != '-') {
      arguments.scenario = word;
    } else {
      arguments.profile = nullptr;
    }
    if (arguments.profile == nullptr) {
      std::fprintf(stderr,
                   "usage: muster_sim [swarm|edges|races|histories|lone_agent|drift|sim_speed|\n"
                   "                   revoke|herd|starved]\n"
                   "                  [--hosts N]\n"
                   "                  [--seed N | --seeds A..B]\n"
                   "                  [--seconds N] [--no-faults] [--once] [--hashes] [--trace]\n"
                   "                  [--profile NAME] [--drift-permille N]\n"
                   "                  [--loss PERCENT] [--rounds N] [--slowness N]\n");
      return false;
    }
  }
  return true;
}

SwarmOptions options_of(const Arguments& arguments, std::uint64_t seed) {
  SwarmOptions options;
  options.hosts = arguments.hosts;
  options.seed = seed;
  options.length = std::chrono::seconds(arguments.seconds);
  options.quiet = options.length * 2 / 5;
  options.faults = arguments.faults;
  options.trace = arguments.trace;
  options.drift_ppm_max = arguments.drift_permille * 1000;
  options.profile = *arguments.profile;
  return options;
}

struct Totals {
  std::uint64_t violations = 0;
  std::uint64_t proofs_forged = 0;
  std::uint64_t unstarted = 0;  ///< Jobs.
  std::uint64_t mismatches = 0;
  std::uint64_t launches = 0;
  std::uint64_t jobs = 0;
  std::map<std::string, std::uint64_t> faults;
  muster::scheduler::EdgeCounts edges;
  muster::sim::DiskLosses disks;
  // Schedules in which a voter forgot what nobody alive knew, or a majority of disks was lost.
  std::uint64_t unknown_schedules = 0;
  std::uint64_t unknown_broken = 0;
  std::uint64_t majority_schedules = 0;
  std::uint64_t majority_broken = 0;
};

/// Adds the numbers of one run. True if the run broke a promise.
bool judge(const SwarmResult& result, Totals& totals) {
  totals.disks.went_back += result.disks.went_back;
  totals.disks.known += result.disks.known;
  totals.disks.noticed += result.disks.noticed;
  totals.disks.unknown += result.disks.unknown;
  totals.disks.unheard += result.disks.unheard;
  totals.disks.majorities += result.disks.majorities;
  const auto count = [&result](std::string_view checker) {
    return static_cast<std::uint64_t>(
        std::count_if(result.violations.begin(), result.violations.end(),
                      [checker](const auto& each) { return each.checker == checker; }));
  };
  totals.proofs_forged += count(muster::sim::NoProofIsForged::kName);
  totals.unstarted += count(muster::sim::StartsInTime::kName);
  const std::uint64_t broken = result.violations.empty() ? 0 : 1;
  if (result.disks.majorities > 0) {
    ++totals.majority_schedules;
    totals.majority_broken += broken;
  } else if (result.disks.unknown > 0) {
    ++totals.unknown_schedules;
    totals.unknown_broken += broken;
  } else {
    totals.violations += result.violations.size();
    return broken != 0;
  }
  return false;
}

void print_disks(const Totals& totals) {
  const auto print = [](const char* name, std::uint64_t value) {
    std::printf("figure swarm_%s %llu count\n", name, static_cast<unsigned long long>(value));
  };
  print("disks_went_back", totals.disks.went_back);
  print("disks_went_back_known", totals.disks.known);
  print("disks_went_back_noticed", totals.disks.noticed);
  print("disks_went_back_unknown", totals.disks.unknown);
  print("disks_went_back_unheard", totals.disks.unheard);
  print("unknown_schedules", totals.unknown_schedules);
  print("unknown_schedules_broken", totals.unknown_broken);
  print("majority_lost_schedules", totals.majority_schedules);
  print("majority_lost_schedules_broken", totals.majority_broken);
}

void report(const SwarmResult& result, const Arguments& arguments, std::uint64_t seed) {
  for (const auto& violation : result.violations) {
    std::printf("# seed %llu: %s: %s\n", static_cast<unsigned long long>(seed),
                violation.checker.c_str(), violation.text.c_str());
  }
  if (!result.violations.empty()) {
    std::printf(
        "# replay: ./scenarios/run swarm --profile %s --hosts %u --seconds %lld --seed %llu "
        "--trace\n",
        arguments.profile->name.data(), arguments.hosts, static_cast<long long>(arguments.seconds),
        static_cast<unsigned long long>(seed));
  }
}

/// The line on which two builds that behave alike agree: every event with its time, and how much
/// was said and done for it.
void print_hash(const SwarmResult& result, std::uint64_t seed) {
  std::printf(
      "seed %llu hash %016llx messages %llu bytes %llu steps %llu "
      "launches %llu\n",
      static_cast<unsigned long long>(seed), static_cast<unsigned long long>(result.hash),
      static_cast<unsigned long long>(result.network.sent),
      static_cast<unsigned long long>(result.network.bytes),
      static_cast<unsigned long long>(result.steps),
      static_cast<unsigned long long>(result.launches));
}

int swarm(const Arguments& arguments) {
  Totals totals;
  for (std::uint64_t seed = arguments.first_seed; seed <= arguments.last_seed; ++seed) {
    const SwarmResult result = run_swarm(options_of(arguments, seed));
    if (judge(result, totals) || arguments.trace) {
      report(result, arguments, seed);
    }
    if (arguments.hashes) {
      print_hash(result, seed);
    }
    totals.launches += result.launches;
    totals.jobs += result.jobs;
    totals.edges.merge(result.edges);
    for (const auto& [fault, count] : result.faults) {
      totals.faults[fault] += count;
    }
    // Every tenth seed is run twice: the same seed must give the same run.
    if (arguments.twice && (seed - arguments.first_seed) % 10 == 0 &&
        run_swarm(options_of(arguments, seed)).hash != result.hash) {
      ++totals.mismatches;
      std::printf("# seed %llu: two runs differ\n", static_cast<unsigned long long>(seed));
    }
  }
  for (const auto& [fault, count] : totals.faults) {
    std::printf("figure swarm_fault_%s %llu count\n", fault.c_str(),
                static_cast<unsigned long long>(count));
  }
  if (muster::sim::DiskFaults::may_forget(*arguments.profile)) {
    print_disks(totals);
  }
  if (arguments.profile->weights.has(muster::sim::Fault::kProofForged)) {
    std::printf("figure proofs_forged %llu count\n",
                static_cast<unsigned long long>(totals.proofs_forged));
  }
  if (arguments.profile->weights.has(muster::sim::Fault::kFlooded)) {
    std::printf("figure unstarted %llu count\n", static_cast<unsigned long long>(totals.unstarted));
  }
  for (const std::string_view edge : totals.edges.unreached()) {
    std::printf("# edge never reached: %.*s\n", static_cast<int>(edge.size()), edge.data());
  }
  std::printf("figure swarm_seeds %llu count\n",
              static_cast<unsigned long long>(arguments.last_seed - arguments.first_seed + 1));
  std::printf("figure swarm_jobs %llu count\n", static_cast<unsigned long long>(totals.jobs));
  std::printf("figure swarm_launches %llu count\n",
              static_cast<unsigned long long>(totals.launches));
  std::printf("figure swarm_edges_unreached %zu count\n", totals.edges.unreached().size());
  std::printf("figure swarm_violations %llu count\n",
              static_cast<unsigned long long>(totals.violations));
  std::printf("figure swarm_hash_mismatches %llu count\n",
              static_cast<unsigned long long>(totals.mismatches));
  return totals.violations + totals.mismatches == 0 ? 0 : 1;
}

/// Random faults and acts with an aim, together: each edge of the attempt table must be taken.
int edges(const Arguments& arguments) {
  muster::scheduler::EdgeCounts all;
  std::map<std::string, std::uint64_t> acts;  // And faults.
  std::uint64_t violations = 0;
  for (std::uint64_t seed = arguments.first_seed; seed <= arguments.last_seed; ++seed) {
    for (const SwarmResult& result :
         {muster::sim::run_edge_acts(seed), run_swarm(options_of(arguments, seed))}) {
      report(result, arguments, seed);
      violations += result.violations.size();
      all.merge(result.edges);
      for (const auto& [act, count] : result.faults) {
        acts[act] += count;
      }
    }
  }
  for (const auto& [act, count] : acts) {
    std::printf("figure edges_act_%s %llu count\n", act.c_str(),
                static_cast<unsigned long long>(count));
  }
  const std::vector<std::string> wrong = muster::sim::judge_edges(all);
  for (const std::string& line : wrong) {
    std::printf("# %s\n", line.c_str());
  }
  for (const muster::sim::ExemptEdge& exempt : muster::sim::exempt_edges()) {
    std::printf("# exempt: %s: %s\n", std::string(text_of(exempt.edge)).c_str(),
                std::string(exempt.reason).c_str());
  }
  std::printf("figure edges_wrong %zu count\n", wrong.size());
  std::printf("figure edges_violations %llu count\n", static_cast<unsigned long long>(violations));
  return wrong.empty() && violations == 0 ? 0 : 1;
}

/// Every pair of racing events, with each seed; --trace shows the one whose number --hosts gives.
int races(const Arguments& arguments) {
  const std::vector<muster::sim::Race> all = muster::sim::all_races();
  muster::scheduler::JobStepCounts steps;
  std::map<std::string, std::uint64_t> ends;
  std::uint64_t runs = 0;
  std::uint64_t missed = 0;
  std::uint64_t violations = 0;
  for (std::uint64_t seed = arguments.first_seed; seed <= arguments.last_seed; ++seed) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (arguments.trace && i != arguments.hosts) {
        continue;
      }
      const auto result = muster::sim::run_race(all[i], seed * 1'000'000 + i, arguments.trace);
      ++runs;
      missed += result.was_missed ? 1U : 0U;
      ++ends[std::string(text_of(result.end))];
      steps.merge(result.steps);
      for (const auto& violation : result.violations) {
        ++violations;
        std::printf("# seed %llu race %zu, %s: %s: %s\n", static_cast<unsigned long long>(seed), i,
                    all[i].text().c_str(), violation.checker.c_str(), violation.text.c_str());
      }
    }
  }
  for (const auto& [end, count] : ends) {
    std::printf("figure races_end_%s %llu count\n", end.c_str(),
                static_cast<unsigned long long>(count));
  }
  const std::vector<std::string> unreached = steps.unreached();
  for (const std::string& cell : unreached) {
    std::printf("# cell of the job's table never used: %s\n", cell.c_str());
  }
  std::printf("figure races_runs %llu count\n", static_cast<unsigned long long>(runs));
  std::printf("figure races_missed %llu count\n", static_cast<unsigned long long>(missed));
  std::printf("figure races_cells_unreached %zu count\n", unreached.size());
  std::printf("figure races_violations %llu count\n", static_cast<unsigned long long>(violations));
  return violations == 0 && (unreached.empty() || arguments.trace) ? 0 : 1;
}

void report(const muster::sim::HistoryResult& result, bool trace, std::uint64_t seed) {
  const bool is_good = result.verdict.judgement == muster::sim::Judgement::kLinearisable;
  if (is_good && !trace) {
    return;
  }
  for (const muster::sim::Operation& operation : result.operations) {
    std::printf("# %s\n", text_of(operation).c_str());
  }
  if (!is_good) {
    std::printf("# seed %llu: %s\n# replay: muster_sim histories --seed %llu --trace\n",
                static_cast<unsigned long long>(seed), result.verdict.why.c_str(),
                static_cast<unsigned long long>(seed));
  }
}

/// Histories of clients under faults, each judged by itself; every tenth seed is run twice.
int histories(const Arguments& arguments) {
  std::map<std::string, std::uint64_t> counts;
  std::uint64_t judged[3] = {};
  std::uint64_t configurations = 0;
  std::uint64_t mismatches = 0;
  for (std::uint64_t seed = arguments.first_seed; seed <= arguments.last_seed; ++seed) {
    const auto result = muster::sim::run_history({seed, arguments.trace});
    report(result, arguments.trace, seed);
    ++judged[static_cast<std::size_t>(result.verdict.judgement)];
    configurations = std::max(configurations, result.verdict.configurations);
    for (const muster::sim::Operation& operation : result.operations) {
      ++counts["answers_" + std::string(text_of(operation.answered))];
    }
    for (const auto& [fault, count] : result.counts) {
      counts["fault_" + fault] += count;
    }
    if (arguments.twice && (seed - arguments.first_seed) % 10 == 0 &&
        muster::sim::run_history({seed, false}).hash != result.hash) {
      ++mismatches;
      std::printf("# seed %llu: two runs differ\n", static_cast<unsigned long long>(seed));
    }
  }
  for (const auto& [name, count] : counts) {
    std::printf("figure histories_%s %llu count\n", name.c_str(),
                static_cast<unsigned long long>(count));
  }
  std::printf("figure histories_checked %llu count\n",
              static_cast<unsigned long long>(arguments.last_seed - arguments.first_seed + 1));
  std::printf("figure histories_refused %llu count\n", static_cast<unsigned long long>(judged[1]));
  std::printf("figure histories_undecided %llu count\n",
              static_cast<unsigned long long>(judged[2]));
  std::printf("figure histories_configurations_max %llu count\n",
              static_cast<unsigned long long>(configurations));
  std::printf("figure histories_hash_mismatches %llu count\n",
              static_cast<unsigned long long>(mismatches));
  return judged[1] + judged[2] + mismatches == 0 ? 0 : 1;
}

/// Clocks ever further off: how much later than its last rank a host's GPUs are freed.
int drift(const Arguments& arguments) {
  constexpr std::int64_t kAssumed = 10;  // scheduler/PROTOCOL.md, 7, in parts of a thousand.
  constexpr std::int64_t kMost = 60;
  constexpr muster::Duration kHolds[] = {std::chrono::seconds(120), std::chrono::seconds(600)};
  bool holds_where_assumed = true;
  for (const muster::Duration hold : kHolds) {
    const auto hold_s = static_cast<long long>(muster::to_ms(hold) / 1000);
    std::int64_t breaks_at = 0;
    for (std::int64_t permille = 0; permille <= kMost && breaks_at == 0; ++permille) {
      muster::Duration least = hold;
      for (std::uint64_t seed = arguments.first_seed; seed <= arguments.last_seed; ++seed) {
        const auto result = muster::sim::run_drift(seed, permille, hold);
        least = std::min(least, result.was_freed ? result.slack : muster::Duration(0));
        if (permille <= kAssumed && (!result.violations.empty() || !result.was_freed)) {
          holds_where_assumed = false;
          std::printf("# seed %llu: hold %lld s, %lld permille: %s\n",
                      static_cast<unsigned long long>(seed), hold_s,
                      static_cast<long long>(permille),
                      result.was_freed ? result.violations.front().text.c_str() : "not freed");
        }
      }
      breaks_at = least <= muster::Duration(0) ? permille : 0;
      if (permille == 0 || permille == kAssumed) {
        std::printf("figure drift_slack_hold_%lld_at_%lld_permille %.2f s\n", hold_s,
                    static_cast<long long>(permille),
                    static_cast<double>(muster::to_ms(least)) / 1000);
      }
    }
    std::printf("figure drift_breaks_hold_%lld %lld permille\n", hold_s,
                static_cast<long long>(breaks_at));
  }
  return holds_where_assumed ? 0 : 1;
}

/// An agent by itself, with the GPUs of its host in slots.
int lone_agent(const Arguments& arguments) {
  std::uint64_t violations = 0;
  std::uint64_t launches = 0;
  for (std::uint64_t seed = arguments.first_seed; seed <= arguments.last_seed; ++seed) {
    const auto result = muster::sim::run_lone_agent(seed);
    launches += result.launches;
    if (!result.violation.empty()) {
      ++violations;
      std::printf("# seed %llu: %s\n", static_cast<unsigned long long>(seed),
                  result.violation.c_str());
    }
  }
  std::printf("figure lone_agent_launches %llu count\n", static_cast<unsigned long long>(launches));
  std::printf("figure lone_agent_violations %llu count\n",
              static_cast<unsigned long long>(violations));
  return violations == 0 ? 0 : 1;
}

double seconds_of(muster::Duration time) {
  return std::chrono::duration<double>(time).count();
}

/// The p99 of fewer than a hundred is the greatest.
void print_quantiles(const std::string& name, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&values](double share) {
    const double rank = std::ceil(share * static_cast<double>(values.size()));
    return values[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
  };
  std::printf("figure %s_p50 %.3f s\n", name.c_str(), at(0.5));
  std::printf("figure %s_p99 %.3f s\n", name.c_str(), at(0.99));
  std::printf("figure %s_max %.3f s\n", name.c_str(), values.back());
}

/// Hosts that are thrown out while links lose packets.
int revoke(const Arguments& arguments) {
  std::vector<double> refused;
  std::vector<double> out;
  std::uint64_t violations = 0;
  for (std::uint64_t seed = arguments.first_seed; seed <= arguments.last_seed; ++seed) {
    const auto result = muster::sim::run_revocations(
        {arguments.hosts, seed, arguments.loss_percent, arguments.rounds, arguments.trace});
    for (const muster::sim::Revocation& each : result.revocations) {
      refused.push_back(seconds_of(each.refused));
      out.push_back(seconds_of(each.closed));
      std::printf("# seed %llu: a host %s: refused by all after %.3f s, no link after %.3f s\n",
                  static_cast<unsigned long long>(seed),
                  each.had_a_vote ? "that votes" : "without a vote", refused.back(), out.back());
    }
    violations += result.violations.size();
    for (const auto& violation : result.violations) {
      std::printf("# seed %llu: %s: %s\n", static_cast<unsigned long long>(seed),
                  violation.checker.c_str(), violation.text.c_str());
    }
  }
  if (!out.empty()) {
    const std::string name = "revoked_" + std::to_string(arguments.hosts);
    print_quantiles(name + "_refused", refused);
    print_quantiles(name, out);
  }
  std::printf("figure revoked_violations %llu count\n",
              static_cast<unsigned long long>(violations));
  return violations == 0 && !out.empty() ? 0 : 1;
}

muster::sim::Seeds seeds_of(const Arguments& arguments) {
  return {arguments.first_seed, arguments.last_seed};
}

int sim_speed(Arguments arguments) {
  const auto begin = std::chrono::steady_clock::now();
  const std::clock_t cpu_begin = std::clock();  // CPU time: a shared core does not spoil it.
  const SwarmResult result = run_swarm(options_of(arguments, arguments.first_seed));
  const double cpu = static_cast<double>(std::clock() - cpu_begin) / CLOCKS_PER_SEC;
  const double virtual_s = std::chrono::duration<double>(result.virtual_time).count();
  const double took =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  report(result, arguments, arguments.first_seed);
  std::printf("figure sim_speed %.0f virtual_s/s\n", virtual_s / took);
  std::printf("figure sim_speed_cpu %.0f virtual_s/cpu_s\n", virtual_s / cpu);
  std::printf("figure sim_steps_per_s %.0f 1/s\n", static_cast<double>(result.steps) / took);
  std::printf("figure sim_messages %llu count\n",
              static_cast<unsigned long long>(result.network.sent));
  return result.violations.empty() ? 0 : 1;
}

/// A world is made of small blocks that come and go: glibc's allocator shall keep more of them at
/// hand than is its habit, and give none back. It reads such wishes only as a program starts.
void keep_memory(char** argv) {
  if (std::getenv("GLIBC_TUNABLES") == nullptr) {
    setenv("GLIBC_TUNABLES",
           "glibc.malloc.tcache_count=500:glibc.malloc.mmap_threshold=1000000000:"
           "glibc.malloc.trim_threshold=4000000000:glibc.malloc.top_pad=67108864",
           1);
    execv("/proc/self/exe", argv);  // If it fails, the world is only slower.
  }
}

}  // namespace

int main(int argc, char** argv) {
  keep_memory(argv);
  Arguments arguments;
  if (!parse(argc, argv, arguments)) {
    return 2;
  }
  if (arguments.scenario == "sim_speed") {
    return sim_speed(arguments);
  }
  if (arguments.scenario == "edges") {
    return edges(arguments);
  }
  if (arguments.scenario == "drift") {
    return drift(arguments);
  }
  if (arguments.scenario == "races") {
    return races(arguments);
  }
  if (arguments.scenario == "lone_agent") {
    return lone_agent(arguments);
  }
  if (arguments.scenario == "histories") {
    return histories(arguments);
  }
  if (arguments.scenario == "access") {
    return muster::sim::tell_access_trials(seeds_of(arguments));
  }
  if (arguments.scenario == "reset") {
    return muster::sim::tell_reset_trials(seeds_of(arguments));
  }
  if (arguments.scenario == "herd") {
    return muster::sim::tell_herds(arguments.hosts, seeds_of(arguments), arguments.trace);
  }
  if (arguments.scenario == "starved") {
    muster::sim::StarvedOptions options;
    options.hosts = arguments.hosts;
    options.slowness = arguments.slowness;
    options.length = std::chrono::seconds(arguments.seconds);
    options.trace = arguments.trace;
    return muster::sim::tell_starved(options, seeds_of(arguments));
  }
  if (arguments.scenario == "revoke") {
    return revoke(arguments);
  }
  if (arguments.scenario == "swarm") {
    return swarm(arguments);
  }
  std::fprintf(stderr,
               "muster_sim: no scenario '%s'; there are swarm, edges, races, histories, "
               "lone_agent, drift, "
               "revoke, herd, access, reset, starved and sim_speed\n",
               arguments.scenario.c_str());
  return 2;
}
