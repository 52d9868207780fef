#pragma once
// MessageGate decides which messages come in. It knows the cluster of this host, and finds it. It
// drops and counts messages of another cluster, of another version or of our own id, and emits an
// event. Owned by Node.
//
// Invariants: a host takes a cluster once and never leaves it. A host without a cluster takes the
// one of a seed that it dialled itself, and of no other host: anyone may dial us, and a member of
// another cluster that has our address must not take us in.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/roll/founding.h"
#include "agent/roll/roll.h"
#include "agent/roll/seed_greeting.h"
#include "agent/step/node_interface.h"
#include "agent/step/outbox.h"
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

/// True if messages of this type name their cluster: their receiver may not have one yet. Other
/// messages do not, for members share the roll of one cluster.
bool names_cluster(gossip::MessageType type);

class MessageGate {
 public:
  /// `id_records` is the recovered Environment::kId.
  MessageGate(const NodeOptions& options, const crdt::Records& id_records, Instant now);

  /// Spreads the records of the roll that are known at the start, and opens the founding ticket.
  void begin(Instant now, const Credentials& credentials, crdt::HostStore& store, Outbox& outbox);
  /// Zero if this host has no cluster yet.
  ClusterId cluster() const { return cluster_; }
  /// True if the message with this envelope, received as `input`, may come in. A host without a
  /// cluster may take the one of the message. Counts a message that may not come in.
  bool lets_in(const gossip::Envelope& envelope, const gossip::Received& input, const Roll& roll,
               Outbox& outbox);
  /// This host belongs to `cluster` from now on. Precondition: it has no cluster.
  void join(ClusterId cluster, Outbox& outbox);
  /// The founding of the cluster, before there is a quorum.
  Founding& founding() { return founding_; }
  /// Counts a message that came in and meant nothing here, or bytes that are no message.
  void count_drop() { ++dropped_count_; }
  std::uint64_t dropped_count() const { return dropped_count_; }

  /// The hosts that make up the first quorum, as far as they are known.
  scheduler::FirstQuorum::FoundersKnown known_founders(const Roll& roll) const;
  /// Finds the cluster of this host.
  SeedGreeting& seeds() { return seeds_; }
  const SeedGreeting& seeds() const { return seeds_; }

 private:
  bool judges(const gossip::Envelope& envelope, const gossip::Received& input, const Roll& roll,
              Outbox& outbox);
  /// Emits one event for consecutive messages of one host, for any reasons.
  void complain(Severity severity, std::string_view what, const gossip::Envelope& envelope,
                Outbox& outbox);

  HostId self_;
  ClusterId cluster_;
  SeedGreeting seeds_;
  Founding founding_;
  std::uint64_t dropped_count_ = 0;
  HostId complaint_about_;  ///< The host of the last complaint.
  Instant complaints_since_ = kLongAgo;
  std::size_t complaints_ = 0;  ///< Complaints since then.
};

}  // namespace muster::agent
