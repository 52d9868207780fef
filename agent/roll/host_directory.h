#pragma once
// HostDirectory holds what this node needs from the row of each host: its name and addresses, its
// offer, and the time at which this node last knew that the row is the newest. Membership makes the
// verdicts. Owned by Node, which feeds it the reports of the store and of membership.
//
// Limit: it holds no more hosts than the store does.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "agent/roll/roll.h"
#include "agent/step/outbox.h"
#include "crdt/rows/address_book.h"
#include "crdt/rows/host_state.h"
#include "crdt/rows/row.h"
#include "crdt/store/host_store.h"
#include "gossip/base/ids.h"
#include "gossip/base/time.h"
#include "membership/membership.h"
#include "scheduler/leader/scheduler.h"
#include "scheduler/seat/electorate_keeper.h"

namespace muster::agent {

/// The hosts that could take a seat in the quorum, and the hosts that lose theirs: they left, were
/// revoked, or an operator removed them.
std::vector<scheduler::SeenHost> seen_hosts(const membership::Membership& membership,
                                            const Roll& roll, const scheduler::State& state);

class HostDirectory {
 public:
  HostDirectory(HostId self, Instant now) : self_(self), started_(now) {}

  /// The identity in a host's row is new: this counts as a confirmation of the row. Emits an alarm
  /// if another host has the same name.
  void on_identity(HostId host, const crdt::Identity& identity, Outbox& outbox);
  /// A watched host named the newest version of its row.
  void on_version_heard(Instant now, HostId host, const crdt::RowVersion& newest,
                        const crdt::HostStore& store);

  const crdt::AddressBook& addresses() const { return addresses_; }
  /// The age of this node's list of hosts: the oldest confirmation among the hosts that it watches
  /// and does not know to be gone. A host that is gone shows its verdict, with an age of its own.
  /// Rows of hosts that others watch arrive by flood. A node that is cut off first misses the hosts
  /// that it watches itself.
  Duration age(Instant now, const membership::Membership& membership) const;
  /// A host as the leader's scheduler sees it. `answers` is true if new work may go there, as far
  /// as this host knows (membership/reach.h). A revoked host counts as silent: no host speaks to
  /// it.
  scheduler::HostView view_of(const membership::Member& member, bool answers, const Roll& roll,
                              const crdt::HostStore& store);

  /// True if the last call had another value: the seat has not heard of this storm mode.
  bool is_storm_news(StormMode storm);
  /// The same for the newest version of the own row, which acks name.
  bool is_own_news(Sequence own);

 private:
  /// The offer in a host's row. It is decoded once per version, for views change more often.
  struct Offer {
    crdt::RowVersion version;
    bool cordoned = false;
    std::string shortage;
    std::vector<std::string> unhealthy_gpus;
  };
  const Offer& offer_of(HostId host, const crdt::HostStore& store);
  void confirm(HostId host, Instant now);

  HostId self_;
  Instant started_;
  crdt::AddressBook addresses_;
  std::map<HostId, Offer> offers_;
  /// The last time at which an ack of a watched host confirmed that the row here is the newest.
  /// Sorted by host. A vector, for every ack looks into it.
  std::vector<std::pair<HostId, Instant>> confirmed_;
  StormMode told_storm_ = StormMode::kNormal;
  Sequence told_own_;
};

}  // namespace muster::agent
