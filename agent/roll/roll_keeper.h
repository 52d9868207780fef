#pragma once
// The roll as this host keeps it: who is a member and by which keys, who signs that, and which rows
// come past their check. The others hear of it when one of the three learns.

#include <vector>

#include "agent/roll/authority_book.h"
#include "agent/roll/departure.h"
#include "agent/roll/roll.h"
#include "agent/roll/row_gate.h"
#include "agent/step/outbox.h"
#include "agent/step/words.h"
#include "crdt/store/host_store.h"
#include "gossip/wire/authority_link.h"
#include "scheduler/seat/quorum_seat.h"

namespace muster::agent {

class RollKeeper {
 public:
  /// `id_records`: Environment::kId as recovered.
  RollKeeper(const NodeOptions& options, const crdt::Records& id_records)
      : self_(options.self),
        roll_(options.self),
        authority_(options.self, options.credentials, id_records),
        row_gate_(options.self) {}

  /// The members.
  Roll& roll() { return roll_; }
  const Roll& roll() const { return roll_; }
  /// The authority that signs the roll.
  const AuthorityBook& authority() const { return authority_; }

  /// A host that may vote says who signs the roll.
  void hear_authority(const crdt::AuthorityView& view, const crdt::HostStore& store,
                      Outbox& outbox);
  /// Takes the changes of the log: of records, tickets, and of who signs the roll, which this host
  /// then publishes.
  void follow_log(Instant now, const scheduler::RollChanges& changes,
                  const scheduler::RollBook& book, crdt::HostStore& store, Outbox& outbox);
  /// Rows came. False: their body does not fit.
  bool on_rows(Instant now, HostId from, const gossip::Reader& body, Departure& departure,
               crdt::HostStore& store, Outbox& outbox) const {
    return row_gate_.on_rows(now, from, body, roll_, departure, store, outbox);
  }
  /// Rows were checked. `voters`: who tells of an authority that is not known here.
  void on_rows_checked(Instant now, crdt::RowsChecked rows, const std::vector<HostId>& voters,
                       Departure& departure, crdt::HostStore& store, Outbox& outbox);

 private:
  /// Authorities that follow the known one, as proven by the one before each.
  void learn_authorities(const std::vector<gossip::AuthorityLink>& links, Outbox& outbox);
  void follow_authority(Instant now, const scheduler::RollBook& book, crdt::HostStore& store,
                        Outbox& outbox);

  HostId self_;
  Roll roll_;
  AuthorityBook authority_;
  RowGate row_gate_;
};

}  // namespace muster::agent
