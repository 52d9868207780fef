#pragma once
// Which cluster this host is of, how it finds it, and whose messages may come in. Messages of
// another cluster, of another version or of our own id are dropped, counted and complained about.
// The Node's.
//
// Invariants: a cluster is taken once and never left. Who has none takes that of a seed that it
// dialled itself, and of nobody else: anyone may dial us, and a member of another cluster that has
// our address must not take us in.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/roll/authority_book.h"
#include "agent/roll/founding.h"
#include "agent/roll/own_keys.h"
#include "agent/roll/roll.h"
#include "agent/roll/row_gate.h"
#include "agent/roll/seed_contact.h"
#include "agent/roll/seed_keys.h"
#include "agent/step/outbox.h"
#include "agent/step/pending_writes.h"
#include "agent/step/words.h"
#include "crdt/disk/write_batch.h"
#include "crdt/rows/address_book.h"
#include "crdt/store/host_store.h"
#include "gossip/base/ids.h"
#include "gossip/base/time.h"
#include "gossip/wire/endpoint.h"
#include "gossip/wire/message.h"
#include "gossip/wire/transport.h"
#include "membership/membership.h"
#include "scheduler/raft/first_quorum.h"

namespace muster::agent {

/// Messages of this type say which cluster they are of, since who hears them may be of none yet.
/// Between members nothing has to: their roll is one cluster's.
bool names_cluster(gossip::MessageType type);

class Admission {
 public:
  /// `id_records`: Environment::kId as recovered.
  Admission(const NodeOptions& options, const crdt::Records& id_records, Instant now);

  /// What is known of the roll from the start is spread, and the founding ticket lets in.
  void begin(Instant now, const Credentials& credentials, crdt::HostStore& store, Outbox& outbox);
  /// Zero: none yet.
  ClusterId cluster() const { return cluster_; }
  /// Whether a message of this envelope, which came in as `input`, may come in; the cluster may be
  /// taken from it. Counted when it may not.
  bool admits(const gossip::Envelope& envelope, const gossip::Received& input,
              PendingWrites& writes, Outbox& outbox);
  /// This host is of `cluster` from now on. Precondition: it had none.
  void join(ClusterId cluster, PendingWrites& writes, Outbox& outbox);
  /// Who is a member.
  Roll& roll() { return roll_; }
  const Roll& roll() const { return roll_; }
  /// Who signs the roll.
  const AuthorityBook& authority() const { return authority_; }
  /// Authorities that follow the known one, as proven by the one before each.
  void learn_authorities(const std::vector<gossip::AuthorityLink>& links, PendingWrites& writes,
                         Outbox& outbox);
  /// A host that may vote says who signs the roll.
  void hear_authority(const crdt::AuthorityView& view, const crdt::HostStore& store,
                      PendingWrites& writes, Outbox& outbox);
  /// What changed in the log: of records, tickets, and of who signs the roll, which this host then
  /// publishes.
  void follow_log(Instant now, const scheduler::SeatOutput& changes,
                  const scheduler::RollBook& book, crdt::HostStore& store, PendingWrites& writes,
                  Outbox& outbox);
  /// Rows were checked. `voters`: who tells of an authority that is not known here.
  void on_rows_checked(Instant now, crdt::RowsChecked rows, const std::vector<HostId>& voters,
                       Departure& departure, crdt::HostStore& store, PendingWrites& writes,
                       Outbox& outbox);
  /// The keys of this host.
  OwnKeys& keys() { return keys_; }
  const OwnKeys& keys() const { return keys_; }
  /// What comes before there is a quorum.
  Founding& founding() { return founding_; }
  /// What stands between the rows in it and the store.
  RowGate& gate() { return gate_; }
  /// A message was admitted and then meant nothing here, or was no message at all.
  void count_drop() { ++dropped_count_; }
  std::uint64_t dropped_count() const { return dropped_count_; }

  /// Whom the first quorum is to be made of.
  scheduler::FirstQuorum::FoundersKnown known_founders() const;
  void on_link_down(const gossip::LinkDown& lost) {
    seeds_.on_link_down(lost);
    seed_keys_.on_link_down(lost);
  }
  /// Seeds that were never met since the start.
  std::vector<UnmetSeed> unmet_seeds() const { return seeds_.unmet(); }
  /// When to greet a seed next.
  Instant next_deadline() const { return seeds_.next_deadline(); }
  /// Greets those whose time has come. `greeting`: an envelope of rows.
  void greet_seeds(const gossip::Envelope& greeting, const membership::Membership& membership,
                   const crdt::AddressBook& addresses, const crdt::HostStore& store,
                   Outbox& outbox);

 private:
  bool judges(const gossip::Envelope& envelope, const gossip::Received& input,
              PendingWrites& writes, Outbox& outbox);
  void follow_authority(Instant now, const scheduler::RollBook& book, crdt::HostStore& store,
                        PendingWrites& writes, Outbox& outbox);
  /// One event a host in a row, whatever else it says.
  void complain(Severity severity, std::string_view what, const gossip::Envelope& envelope,
                Outbox& outbox);

  HostId self_;
  ClusterId cluster_;
  SeedContact seeds_;
  SeedKeys seed_keys_;
  std::size_t greetings_ = 0;  ///< Rounds of them. Of each one seed is asked for all that it holds.
  Roll roll_;
  AuthorityBook authority_;
  OwnKeys keys_;
  Founding founding_;
  RowGate gate_;
  std::uint64_t dropped_count_ = 0;
  HostId complaint_about_;  ///< The last foreign host complained about: once each in a row.
  Instant complaints_since_ = kLongAgo;
  std::size_t complaints_ = 0;  ///< Since then.
};

}  // namespace muster::agent
