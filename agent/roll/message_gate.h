#pragma once
// Which cluster this host is of, how it finds it, and whose messages may come in. Messages of
// another cluster, of another version or of our own id are dropped, counted and complained about.
// Owned by Node.
//
// Invariants: a cluster is taken once and never left. A host of none takes that of a seed that it
// dialled itself, and of nobody else: anyone may dial us, and a member of another cluster that has
// our address must not take us in.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/roll/founding.h"
#include "agent/roll/roll.h"
#include "agent/roll/seed_greeting.h"
#include "agent/step/outbox.h"
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

class MessageGate {
 public:
  /// `id_records`: Environment::kId as recovered.
  MessageGate(const NodeOptions& options, const crdt::Records& id_records, Instant now);

  /// What is known of the roll from the start is spread, and the founding ticket lets in.
  void begin(Instant now, const Credentials& credentials, crdt::HostStore& store, Outbox& outbox);
  /// Zero: none yet.
  ClusterId cluster() const { return cluster_; }
  /// Whether a message of this envelope, which came in as `input`, may come in; the cluster may be
  /// taken from it. Counted when it may not.
  bool lets_in(const gossip::Envelope& envelope, const gossip::Received& input, const Roll& roll,
               Outbox& outbox);
  /// This host is of `cluster` from now on. Precondition: it had none.
  void join(ClusterId cluster, Outbox& outbox);
  /// What comes before there is a quorum.
  Founding& founding() { return founding_; }
  /// A message came in and then meant nothing here, or was no message at all.
  void count_drop() { ++dropped_count_; }
  std::uint64_t dropped_count() const { return dropped_count_; }

  /// Whom the first quorum is to be made of.
  scheduler::FirstQuorum::FoundersKnown known_founders(const Roll& roll) const;
  /// How it finds its cluster.
  SeedGreeting& seeds() { return seeds_; }
  const SeedGreeting& seeds() const { return seeds_; }

 private:
  bool judges(const gossip::Envelope& envelope, const gossip::Received& input, const Roll& roll,
              Outbox& outbox);
  /// One event a host in a row, whatever else it says.
  void complain(Severity severity, std::string_view what, const gossip::Envelope& envelope,
                Outbox& outbox);

  HostId self_;
  ClusterId cluster_;
  SeedGreeting seeds_;
  Founding founding_;
  std::uint64_t dropped_count_ = 0;
  HostId complaint_about_;  ///< The last foreign host complained about: once each in a row.
  Instant complaints_since_ = kLongAgo;
  std::size_t complaints_ = 0;  ///< Since then.
};

}  // namespace muster::agent
