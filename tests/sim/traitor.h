#pragma once
// A member of the cluster whose machine was taken over: it has its own key and everything it ever
// heard, and says the rows of others as it likes. And the property that it must not break: each
// host has signed what any agent holds of it (invariant I6: only the owner changes its row).

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "crdt/rows/codec.h"
#include "gossip/base/rng.h"
#include "tests/sim/forger.h"
#include "tests/sim/impostor.h"
#include "tests/sim/persons.h"
#include "tests/sim/profiles.h"
#include "tests/sim/world.h"

namespace muster::sim {

class Traitor {
 public:
  /// All outlive it. The swarm owns `rng` and `counts`. Where the profile has its lies, the
  /// property is checked.
  Traitor(World& world, const SwarmProfile& profile, Rng& rng,
          std::map<std::string, std::uint64_t>& counts);

  /// One lie, of a kind drawn, to an agent drawn.
  void forge();
  /// An act of the honest persons whose proofs it lies about, or some of these lies.
  void forge_proofs();
  /// The last host, which is the traitor where there is one, may not vote then; by the seed it may
  /// vouch for its logins or not.
  static void take_rights(const SwarmProfile& profile, std::uint64_t seed, WorldOptions& world) {
    world.last_may_vote = !profile.weights.has(Fault::kForged);
    world.last_may_vouch = world.last_may_vote || seed % 2 == 0;
  }

 private:
  /// The row of some host, as some agent holds it; nullopt if no agent runs.
  std::optional<crdt::RowOf> some_row();
  crdt::RowOf lie_about(crdt::RowOf row);
  /// Its own row, newer than that victim's copy, in which it leads the quorum.
  crdt::RowOf crown(std::uint32_t victim);
  void sign(crdt::RowOf& row, HostId as) const;

  World& world_;
  Rng& rng_;
  std::map<std::string, std::uint64_t>& counts_;
  std::optional<Persons> persons_;    ///< Where the profile has lies about proofs of persons.
  std::optional<Forger> forger_;      ///< Likewise.
  std::optional<Impostor> impostor_;  ///< Where the profile has its lies.
  std::vector<crdt::RowOf> heard_;    ///< To be said again when it is over; at most kHeardMax.
};

/// The rows of a host are its own words. No host obeys an epoch that no quorum began, or takes the
/// traitor for the leader: looked at once a virtual second and at the end. No message makes an
/// agent believe that it lived another life: no disk goes back in the runs that this checks.
class RowsAreTheirOwners final : public Checker {
 public:
  std::string name() const override { return "rows_are_their_owners"; }
  void on_event(World& world, std::uint32_t host, const Event& event) override;
  void at_end(World& world) override;

 private:
  void look(World& world, std::uint32_t host);
  Instant look_at_{};
};

}  // namespace muster::sim
