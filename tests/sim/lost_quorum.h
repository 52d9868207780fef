#pragma once
// The worst fault of a swarm: a majority of the voters is off, and an operator brings the quorum
// back from the voters that are left. Entries that only the lost voters had may be gone. Therefore
// such runs are not asked whether submits were kept, nor what one log says of another: no GPU may
// be bound twice, and in the end every host follows one quorum that gets its work done.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "agent/api/quorum.h"
#include "gossip/base/rng.h"
#include "tests/sim/checkers.h"
#include "tests/sim/profiles.h"
#include "tests/sim/world.h"

namespace muster::sim {

class LostQuorum {
 public:
  /// All outlive it. The swarm owns `rng` and `counts`.
  LostQuorum(World& world, Rng& rng, std::map<std::string, std::uint64_t>& counts)
      : world_(world), rng_(rng), counts_(counts) {}

  static bool is_in(const SwarmProfile& profile) { return profile.weights.has(Fault::kQuorumLost); }
  static Checkers add_checkers(World& world);

  /// From now on the operator obeys the alarm about two quorums of one epoch.
  void listen();
  /// Powers a majority off; it comes back a while after the recovery. Does nothing while no host
  /// leads.
  void lose_majority();
  /// "" if all hosts follow one leader in one epoch and all jobs have ended, else what is not so.
  static std::string what_is_amiss(World& world);

 private:
  /// Acts as an operator with `muster quorum recover`: asks every host, then orders the one that
  /// knows most to go on; until a host leads.
  void look(int tries);
  bool is_needed() const { return is_rivalled_ || !is_led(); }
  void decide(const std::vector<std::uint64_t>& asked, int tries);
  std::uint64_t ask(std::uint32_t host, const agent::RecoverArgs& arguments);
  bool is_led() const;
  void after(Duration low, Duration high, std::function<void()> action);

  World& world_;
  Rng& rng_;
  std::map<std::string, std::uint64_t>& counts_;
  bool is_rivalled_ = false;  ///< The alarm was heard, and nothing came of it yet.
};

}  // namespace muster::sim
