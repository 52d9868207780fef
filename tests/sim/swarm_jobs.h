#pragma once
// The jobs of a swarm: one at a time, as its profile likes them; and floods of small ones, in one
// tier or one queue, with gangs of the whole fleet among them.

#include <cstdint>
#include <map>
#include <string>

#include "gossip/base/rng.h"
#include "scheduler/protocol/job.h"
#include "tests/sim/checkers.h"
#include "tests/sim/profiles.h"
#include "tests/sim/world.h"

namespace muster::sim {

/// `requests` draws what else than GPUs the job asks for, `rng` the rest.
scheduler::JobSpec some_job(const SwarmProfile& profile, std::uint32_t hosts, Rng& rng,
                            Rng& requests);

class Floods {
 public:
  /// All outlive it. The swarm owns `rng` and `counts`.
  Floods(World& world, const SwarmProfile& profile, Rng& rng,
         std::map<std::string, std::uint64_t>& counts)
      : world_(world), profile_(profile), rng_(rng), counts_(counts) {}

  /// Each tier has a flood of its own before `quiet_at`, and a few seconds after it, when all hosts
  /// are back, there are long jobs, a gang that waits for them, and two last floods.
  void plan(Instant quiet_at, SubmitsKept& submits);
  /// At once: 30 to 200 jobs of one tier in any queues, or of any tiers in one queue.
  void flood(SubmitsKept& submits);

 private:
  /// Tier::kNone: any tiers, all in one queue.
  void flood_in(SubmitsKept& submits, scheduler::Tier tier);
  void gang(SubmitsKept& submits);
  void long_jobs(SubmitsKept& submits);
  scheduler::JobSpec small_job();
  void submit(SubmitsKept& submits, const scheduler::JobSpec& spec);
  scheduler::Tier some_tier();
  std::string some_queue();

  World& world_;
  const SwarmProfile& profile_;
  Rng& rng_;
  std::map<std::string, std::uint64_t>& counts_;
};

}  // namespace muster::sim
