#pragma once
// The lies of a member that was taken over, besides rows: words of the quorum, acks of renewals,
// authorities and records of its own making, another's link key as its own; and those of a stranger
// that holds a ticket, and once held the secret of an authority that was replaced. The honest side
// goes on meanwhile: one ticket is made, keys and the authority are replaced, and the traitor is
// thrown out in some runs. And the property that none of it must break.

#include <cstdint>
#include <map>
#include <string>

#include "crdt/rows/codec.h"
#include "gossip/base/rng.h"
#include "scheduler/protocol/agent_messages.h"
#include "scheduler/state/state.h"
#include "tests/sim/persons.h"
#include "tests/sim/world.h"

namespace muster::sim {

/// The member that was taken over: the last host.
HostId traitor_of(const World& world);

class Impostor {
 public:
  /// All outlive it. The swarm owns `rng` and `counts`. Plans the acts of the honest side: orders
  /// that `persons` sign, or that nobody has to sign if it is null.
  Impostor(World& world, Rng& rng, std::map<std::string, std::uint64_t>& counts, Persons* persons);

  /// One lie, of a kind drawn, to a running agent.
  void speak(std::uint32_t victim);

 private:
  void plan();
  /// Gives an order through the leader; does nothing if no host leads.
  void order(agent::Verb verb, std::string arguments);
  void rotate(bool authority);

  void say(std::uint32_t victim, gossip::MessageType type, HostId as, std::string body,
           Nonce nonce = Nonce());
  void say_rows(std::uint32_t victim, crdt::RowOf row);
  void say_of_quorum(std::uint32_t victim);
  void acknowledge(std::uint32_t victim);
  void make_authority(std::uint32_t victim);
  void use_old_authority(std::uint32_t victim);
  void claim_key(std::uint32_t victim);
  void join(std::uint32_t victim);
  void make_ticket(std::uint32_t victim);
  void order_as_admin(std::uint32_t victim);
  void ask_with_ticket(std::uint32_t victim, agent::Verb verb, std::string arguments);

  World& world_;
  Rng& rng_;
  std::map<std::string, std::uint64_t>& counts_;
  Persons* persons_;
  std::uint64_t strangers_ = 0;  ///< Hosts that it made up.
};

/// The property: link keys are let in for their owners alone, and for no host that was thrown
/// out; only authorities that the last one signed are known; strangers are members only as far as
/// the one ticket goes; no ticket is there that no operator made, but those of the traitor's logins
/// while it may vouch for them, and none of these is open once it was thrown out; no user, job or
/// drained host is there by its word where it may not vouch; and no hold is longer for an ack that
/// no leader gave. Looked at once a virtual second, and at the end.
class OnlyMembersAreIn final : public Checker {
 public:
  std::string name() const override { return "only_members_are_in"; }
  void on_event(World& world, std::uint32_t host, const Event& event) override;
  void at_end(World& world) override;

 private:
  void look(World& world, std::uint32_t host);
  void look_at_keys(World& world, std::uint32_t host);
  void look_at_log(World& world, std::uint32_t host);
  void look_at_orders(World& world, const scheduler::State& state);
  Instant look_at_{};
};

}  // namespace muster::sim
