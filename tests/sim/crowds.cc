#include "tests/sim/crowds.h"

#include <algorithm>
#include <cstdio>

#include "tests/sim/herd.h"

namespace muster::sim {
namespace {

using Number = unsigned long long;  // As printf has it.

double seconds_of(Duration span) {
  return std::chrono::duration<double>(span).count();
}

void print_violations(std::uint64_t seed, const std::vector<Violation>& violations) {
  for (const Violation& violation : violations) {
    std::printf("# seed %llu: %s: %s\n", Number{seed}, violation.checker.c_str(),
                violation.text.c_str());
  }
}

/// The bill of the host that led a herd; that of more hosts is worked out from it, not run.
void print_herd(const HerdResult& result, std::uint32_t hosts) {
  constexpr double kMany = 10'000;
  const double took = seconds_of(result.took);
  const double handshakes =
      seconds_of(HerdOptions().handshake) * static_cast<double>(result.leader.handshakes);
  const double cpu = handshakes + seconds_of(result.leader.cpu);
  std::printf(
      "# %u hosts said Join %llu times, the last was let in after %.3f s; the leader: "
      "%llu handshakes, %.3f s; its Node, %.3f s; on another thread %llu signatures\n",
      hosts, Number{result.joins_said}, seconds_of(result.joined_last),
      Number{result.leader.handshakes}, handshakes, seconds_of(result.leader.cpu),
      Number{result.leader.fields_checked});
  std::printf("figure join_herd_s %.3f s\n", took);
  std::printf("figure herd_leader_cpu_pct %.1f %%\n", 100 * cpu / took);
  std::printf("figure herd_join_cost %.3f ms\n", 1000 * cpu / hosts);
  std::printf(
      "# worked out, of one core of the leader, all of it: so many times the cost of one\n");
  std::printf("figure join_herd_10000_s %.1f s\n", kMany * cpu / hosts);
}

}  // namespace

int tell_herds(std::uint32_t newcomers, Seeds seeds, bool trace) {
  std::uint64_t violations = 0;
  for (std::uint64_t seed = seeds.first; seed <= seeds.last; ++seed) {
    HerdOptions options;
    options.newcomers = newcomers;
    options.seed = seed;
    options.trace = trace;
    const HerdResult result = run_herd(options);
    print_herd(result, newcomers);
    violations += result.violations.size();
    print_violations(seed, result.violations);
  }
  std::printf("figure herd_violations %llu count\n", Number{violations});
  return violations == 0 ? 0 : 1;
}

int tell_starved(StarvedOptions options, Seeds seeds) {
  std::uint64_t verdicts = 0;
  std::uint64_t red = 0;
  std::uint64_t elections = 0;
  Duration formed{0};
  for (std::uint64_t seed = seeds.first; seed <= seeds.last; ++seed) {
    options.seed = seed;
    const StarvedResult result = run_starved(options);
    std::printf(
        "# seed %llu: formed after %.2f s of %.2f s CPU, %.2f s until faults, %llu verdicts, "
        "%llu elections\n",
        Number{seed}, seconds_of(result.formed), seconds_of(result.form_cpu),
        seconds_of(result.rest_cpu), Number{result.verdicts}, Number{result.elections});
    print_violations(seed, result.violations);
    verdicts += result.verdicts;
    red += result.violations.empty() ? 0 : 1;
    elections += result.elections;
    formed = std::max(formed, result.formed);
  }
  std::printf("figure starved_form_max %.2f s\n", seconds_of(formed));
  std::printf("figure starved_elections %llu count\n", Number{elections});
  std::printf("figure starved_red_seeds %llu count\n", Number{red});
  std::printf("figure starved_violations %llu count\n", Number{verdicts});
  return red == 0 ? 0 : 1;
}

}  // namespace muster::sim
