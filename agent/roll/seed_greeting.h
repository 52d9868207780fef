#pragma once
// How this host finds its cluster: the seeds that it greets until they are met, the keys that it
// tries there, and what it says of those that stay silent.

#include <cstddef>
#include <vector>

#include "agent/roll/roll.h"
#include "agent/roll/seed_contact.h"
#include "agent/roll/seed_keys.h"
#include "agent/step/outbox.h"
#include "agent/step/words.h"
#include "crdt/rows/address_book.h"
#include "crdt/store/host_store.h"
#include "membership/membership.h"

namespace muster::agent {

class SeedGreeting {
 public:
  SeedGreeting(const NodeOptions& options, Instant now)
      : self_(options.self), seeds_(options.addresses.seeds, options.addresses.control, now) {}

  bool is_seed(const gossip::Endpoint& link) const { return seeds_.is_seed(link); }
  /// It answered, and is of no use.
  void on_foreign(const gossip::Endpoint& link, SeedSilence silence) {
    seeds_.on_foreign(link, silence);
  }
  void on_heard(const gossip::Endpoint& link) { keys_.on_heard(link); }
  void on_link_down(const gossip::LinkDown& lost) {
    seeds_.on_link_down(lost);
    keys_.on_link_down(lost);
  }
  /// All of them, at once.
  void greet_all(Instant now) { seeds_.greet_all(now); }

  /// Those that were never met since the start.
  std::vector<UnmetSeed> unmet() const { return seeds_.unmet(); }
  /// When to greet one next.
  Instant next_deadline() const { return seeds_.next_deadline(); }
  /// Greets those whose time has come. `greeting`: an envelope of rows. `is_member`: this host has
  /// a cluster.
  void greet(const gossip::Envelope& greeting, bool is_member,
             const membership::Membership& membership, const crdt::AddressBook& addresses,
             const crdt::HostStore& store, const Roll& roll, Outbox& outbox);

 private:
  HostId self_;
  SeedContact seeds_;
  SeedKeys keys_;
  std::size_t greetings_ = 0;  ///< Rounds of them. Of each one seed is asked for all that it holds.
};

}  // namespace muster::agent
