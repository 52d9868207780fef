#pragma once
// A swarm's faults of disks: raft/ that is gone, old images that come back.

#include <cstdint>
#include <map>
#include <string>

#include "gossip/base/rng.h"
#include "tests/sim/profiles.h"
#include "tests/sim/world.h"

namespace muster::sim {

class DiskFaults {
 public:
  /// All outlive it. `rng` and `counts` are the swarm's.
  DiskFaults(World& world, const SwarmProfile& profile, Rng& rng,
             std::map<std::string, std::uint64_t>& counts)
      : world_(world), profile_(profile), rng_(rng), counts_(counts) {}

  /// Images of disks that may be put back are kept now and then, up to `end`.
  void plan_images(Instant end);
  /// Of a host without a vote: a voter that forgot its word would be another matter.
  void put_back();
  /// Of one voter at a time; never while `until` a removal may be under way.
  void lose_raft(Instant removal_over_at);
  /// Every voter is there, in the seat that votes: one more may lose its disk, and a majority of
  /// disks still has whatever was acknowledged.
  bool is_quorum_whole() const;

 private:
  /// The leader's word for who votes; null while nobody leads.
  const scheduler::Raft* leaders_raft() const;
  std::uint32_t some_host_without_vote();
  void after(Duration low, Duration high, std::function<void()> action);

  World& world_;
  const SwarmProfile& profile_;
  Rng& rng_;
  std::map<std::string, std::uint64_t>& counts_;
};

}  // namespace muster::sim
