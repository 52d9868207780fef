#pragma once
// SeedGreeting finds the cluster of this host: it greets seeds until they are met, with the keys
// that SeedKeys chooses, and reports seeds that stay silent. Owned by MessageGate.

#include <cstddef>
#include <vector>

#include "agent/roll/roll.h"
#include "agent/roll/seed_contact.h"
#include "agent/roll/seed_keys.h"
#include "agent/step/node_interface.h"
#include "agent/step/outbox.h"
#include "crdt/rows/address_book.h"
#include "crdt/store/host_store.h"
#include "membership/membership.h"

namespace muster::agent {

class SeedGreeting {
 public:
  SeedGreeting(const NodeOptions& options, Instant now)
      : self_(options.self), seeds_(options.addresses.seeds, options.addresses.control, now) {}

  bool is_seed(const gossip::Endpoint& link) const { return seeds_.is_seed(link); }
  /// The seed answered, but is of another cluster or version.
  void on_foreign(const gossip::Endpoint& link, SeedSilence silence) {
    seeds_.on_foreign(link, silence);
  }
  void on_heard(const gossip::Endpoint& link) { keys_.on_heard(link); }
  void on_link_down(const gossip::LinkDown& lost) {
    seeds_.on_link_down(lost);
    keys_.on_link_down(lost);
  }
  void greet_all(Instant now) { seeds_.greet_all(now); }

  /// Seeds that this host has not met since its start.
  std::vector<UnmetSeed> unmet() const { return seeds_.unmet(); }
  Instant next_deadline() const { return seeds_.next_deadline(); }
  /// Greets the seeds that are due. `greeting` is an envelope of rows. `is_member`: this host has
  /// a cluster.
  void greet(const gossip::Envelope& greeting, bool is_member,
             const membership::Membership& membership, const crdt::AddressBook& addresses,
             const crdt::HostStore& store, const Roll& roll, Outbox& outbox);

 private:
  HostId self_;
  SeedContact seeds_;
  SeedKeys keys_;
  std::size_t greetings_ = 0;  ///< Rounds so far. In each one seed is asked for all its rows.
};

}  // namespace muster::agent
