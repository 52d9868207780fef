#pragma once
// What this node made of each host's row: its name and addresses, what it offers, and when it was
// last sure to hold the newest one. Verdicts are the membership's. The Node's, which feeds it what
// the store and the membership report.
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

/// Those that could take a seat in the quorum, and those that left, were revoked, or are gone by an
/// operator's word: theirs is taken away.
std::vector<scheduler::SeenHost> seen_hosts(const membership::Membership& membership,
                                            const Roll& roll, const scheduler::State& state);

class HostDirectory {
 public:
  HostDirectory(HostId self, Instant now) : self_(self), started_(now) {}

  /// The identity in a host's row is new: a new life speaks, and what it says is not as old as what
  /// the last one said. A name that another host bears already is an alarm.
  void on_identity(HostId host, const crdt::Identity& identity, Outbox& outbox);
  /// A watched host said which version of its row is the newest.
  void on_version_heard(Instant now, HostId host, const crdt::RowVersion& newest,
                        const crdt::HostStore& store);

  const crdt::AddressBook& addresses() const { return addresses_; }
  /// How old hosts are as this node shows them: the oldest confirmation among those that it watches
  /// and does not know to be gone. Of those that are, the verdict and its age are the news. Hosts
  /// that others watch change rows here by flood; a node that is cut off misses its own first.
  Duration age(Instant now, const membership::Membership& membership) const;
  /// A host as the leader's scheduler shall see it.
  /// `answers`: new work may go there, as far as this host knows (membership/reach.h).
  /// One that was revoked is as silent as one that is off: nobody here speaks to it.
  scheduler::HostView view_of(const membership::Member& member, bool answers, const Roll& roll,
                              const crdt::HostStore& store);

  /// Whether the seat was not told this of a storm yet; it is told now.
  bool is_storm_news(StormMode storm);
  /// The same of the own row's newest version, which acks name.
  bool is_own_news(Sequence own);

 private:
  /// What a host's row offers, decoded once a version: its view changes more often.
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
  /// When a watched host's ack last said that nothing newer of its row exists than is held here.
  /// Ascending: asked for with every ack, so kept close together.
  std::vector<std::pair<HostId, Instant>> confirmed_;
  StormMode told_storm_ = StormMode::kNormal;
  Sequence told_own_;
};

}  // namespace muster::agent
