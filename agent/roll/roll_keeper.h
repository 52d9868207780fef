#pragma once
// RollKeeper holds the roll of this host in three parts: the members and their keys (Roll), the
// authority that signs their records (AuthorityBook), and the check of rows (RowGate). It tells the
// other parts of the news of one. Owned by Node.

#include <vector>

#include "agent/roll/authority_book.h"
#include "agent/roll/departure.h"
#include "agent/roll/roll.h"
#include "agent/roll/row_gate.h"
#include "agent/step/node_interface.h"
#include "agent/step/outbox.h"
#include "crdt/store/host_store.h"
#include "gossip/wire/authority_link.h"
#include "scheduler/seat/quorum_seat.h"

namespace muster::agent {

class RollKeeper {
 public:
  /// `id_records` is the recovered Environment::kId.
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

  /// Has the rows of the join checked. The roll holds the records of their hosts already.
  void begin(const Credentials& credentials, const crdt::HostStore& store, Outbox& outbox) const {
    row_gate_.begin(credentials.rows, roll_, store, outbox);
  }
  /// A host that may vote names the authority that signs the roll.
  void hear_authority(const crdt::AuthorityView& view, const crdt::HostStore& store,
                      Outbox& outbox);
  /// Takes changes of the log: of records, of tickets, and of the authority, which this host then
  /// publishes.
  void follow_log(Instant now, const scheduler::RollChanges& changes,
                  const scheduler::RollBook& book, crdt::HostStore& store, Outbox& outbox);
  /// Rows came. False if `body` is not a RowsBody.
  bool on_rows(Instant now, HostId from, const gossip::Reader& body, Departure& departure,
               crdt::HostStore& store, Outbox& outbox) const {
    return row_gate_.on_rows(now, from, body, roll_, departure, store, outbox);
  }
  /// Rows were checked. `voters` are the hosts whose rows name an authority that is unknown here.
  void on_rows_checked(Instant now, crdt::RowsChecked rows, const std::vector<HostId>& voters,
                       Departure& departure, crdt::HostStore& store, Outbox& outbox);

 private:
  /// Learns authorities that follow the known one. Each proves the next.
  void learn_authorities(const std::vector<gossip::AuthorityLink>& links, Outbox& outbox);
  void follow_authority(Instant now, const scheduler::RollBook& book, crdt::HostStore& store,
                        Outbox& outbox);

  HostId self_;
  Roll roll_;
  AuthorityBook authority_;
  RowGate row_gate_;
};

}  // namespace muster::agent
