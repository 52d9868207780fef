#pragma once
// Swarm runs: faults of every kind drawn from the seed, jobs submitted all the while, then quiet,
// and everything must have ended well. Each fault is an option with a rate.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "scheduler/state/job_life.h"
#include "scheduler/state/reservations.h"
#include "tests/sim/disk_marks.h"
#include "tests/sim/profiles.h"
#include "tests/sim/world.h"

namespace muster::sim {

struct SwarmOptions {
  std::uint32_t hosts = 100;
  std::uint64_t seed = 1;
  Duration length = std::chrono::minutes(10);  ///< The last part of it is without faults.
  Duration quiet = std::chrono::minutes(4);
  bool faults = true;
  /// Of each clock, from true time: what the scheduler assumes. Two hosts may be twice that apart.
  std::int64_t drift_ppm_max = 10'000;
  bool trace = false;
  bool stop_at_violation = false;
  SwarmProfile profile;
  std::uint32_t invariant_stride = 16;
};

struct SwarmResult {
  std::vector<Violation> violations;
  Duration virtual_time{0};
  std::uint64_t hash = 0;
  std::uint64_t steps = 0;
  std::uint64_t launches = 0;
  std::uint64_t jobs = 0;
  NetworkStats network;
  DiskLosses disks;
  std::map<std::string, std::uint64_t> faults;  ///< How often each fault was done.
  scheduler::EdgeCounts edges;
  scheduler::JobStepCounts job_steps;
};

SwarmResult run_swarm(const SwarmOptions& options);

}  // namespace muster::sim
