#pragma once
// Operators of a swarm who take hosts and GPUs out of service, rightly and wrongly, reorder the
// queue, replace the tree of queues and flood it; and the traitor among the hosts.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "agent/api/request.h"
#include "gossip/base/rng.h"
#include "tests/sim/profiles.h"
#include "tests/sim/queue_owners.h"
#include "tests/sim/swarm_jobs.h"
#include "tests/sim/traitor.h"
#include "tests/sim/world.h"

namespace muster::sim {

class Operators {
 public:
  /// All outlive it. The swarm owns `rng` and `counts`.
  Operators(World& world, const SwarmProfile& profile, Rng& rng,
            std::map<std::string, std::uint64_t>& counts)
      : world_(world),
        has_queues_(profile.queues != 0),
        has_floods_(flood(profile)),
        rng_(rng),
        counts_(counts),
        traitor_(world, profile, rng, counts),
        queue_owners_(world, rng, counts, flood(profile)),
        floods_(world, profile, rng, counts) {}

  /// Whether users flood the queues of that swarm.
  static bool flood(const SwarmProfile& profile) { return profile.weights.has(Fault::kFlooded); }
  /// Before the run: floods, under a first tree of queues. Does nothing where none flood.
  void plan(Instant quiet_at, SubmitsKept& submits);
  /// One of their faults; `without_vote` is a host that may be off for long.
  void act(Fault fault, std::uint32_t host, std::uint32_t without_vote, SubmitsKept& submits);
  /// Undrains every host that `leader` knows to be drained, and unmasks every GPU that it knows to
  /// be masked: one whose word was lost would stay so for ever. Sets a tree of queues that
  /// keeps no job out.
  void take_back_all(std::uint32_t leader);

 private:
  void say(agent::Verb verb, std::string arguments);
  void drain(std::uint32_t host);
  void undrain(std::uint32_t host);
  void mask(std::uint32_t host);
  void order_gpu(agent::Verb verb, std::uint32_t host, const std::string& uuid);
  void reorder(std::size_t jobs);
  void say_processes_gone(std::uint32_t host);
  void remove_host(std::uint32_t host);
  void after(int low_s, int high_s, std::function<void()> action);

  World& world_;
  bool has_queues_;
  bool has_floods_;
  Rng& rng_;
  std::map<std::string, std::uint64_t>& counts_;
  Traitor traitor_;
  QueueOwners queue_owners_;
  Floods floods_;
};

}  // namespace muster::sim
