#pragma once
// A swarm's faults of disks: raft/ that is gone, old images that come back, syncs that were lies.

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "gossip/base/rng.h"
#include "tests/sim/disk_marks.h"
#include "tests/sim/profiles.h"
#include "tests/sim/world.h"

namespace muster::sim {

class DiskFaults {
 public:
  /// All outlive it. The swarm owns `rng` and `counts`.
  DiskFaults(World& world, const SwarmProfile& profile, Rng& rng,
             std::map<std::string, std::uint64_t>& counts)
      : world_(world), profile_(profile), rng_(rng), counts_(counts) {}
  /// `marks` hears of each loss; null by default.
  void tell(DiskMarks* marks) { marks_ = marks; }

  /// Whether the profile has faults under which a voter may forget: DiskMarks then has to judge.
  static bool may_forget(const SwarmProfile& profile) {
    return profile.weights.has(Fault::kDiskLied) || profile.weights.has(Fault::kVoterPutBack) ||
           profile.weights.has(Fault::kVotersLost) || profile.weights.has(Fault::kMoved);
  }

  /// Images of disks that may be put back are kept now and then, up to `end`: of the faults.
  void plan_images(Instant end);
  /// A disk that is full or goes back, or one of the faults by which a voter may forget; `host` is
  /// of no matter to kDiskPutBack and kVotersLost.
  void act(Fault kind, std::uint32_t host);
  /// Of one voter at a time; never while `until` a removal may be under way.
  void lose_raft(Instant removal_over_at);
  /// Every voter is there, in the seat that votes: one more may lose its disk, and a majority of
  /// disks still has whatever was acknowledged.
  bool is_quorum_whole() const;

 private:
  /// Of a host without a vote: a voter that forgot its word would be another matter.
  void put_back();
  /// Of any host.
  void put_back_any(std::uint32_t host);
  /// The data directory of that host is a copy from now on, and its move is told of sooner or
  /// later.
  void move(std::uint32_t host);
  /// The disk of that host lies for a while; then its power goes.
  void lie(std::uint32_t host);
  /// Some voters' raft/ at once.
  void lose_many();
  /// The leader's word for who votes; null while nobody leads.
  const scheduler::Raft* leaders_raft() const;
  std::uint32_t some_host_without_vote();
  void take_raft(std::uint32_t host);
  void fill(std::uint32_t host);
  void tell_moved(std::uint32_t host);
  void after(Duration low, Duration high, std::function<void()> action);

  World& world_;
  const SwarmProfile& profile_;
  Rng& rng_;
  std::map<std::string, std::uint64_t>& counts_;
  DiskMarks* marks_ = nullptr;
  Instant end_ = kNever;
};

}  // namespace muster::sim
