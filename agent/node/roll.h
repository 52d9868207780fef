#pragma once
// The roll as this node knows it: who is a member and what each may say. It reads the rows of the
// store, whose records were checked, and tells the transport whom to let in by which key and whose
// key to expect where. The Node's.
//
// Invariants: the transport lets in exactly the keys of records that are not revoked; a key that a
// newer record replaces is shut out in the same step. An address expects the key of its last row.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "agent/node/outbox.h"
#include "crdt/rows/roll.h"
#include "crdt/store/host_store.h"
#include "gossip/base/ids.h"
#include "gossip/wire/endpoint.h"
#include "gossip/wire/message.h"
#include "gossip/wire/transport.h"
#include "scheduler/seat/seat_words.h"
#include "scheduler/state/roll_book.h"

namespace muster::agent {

class Roll {
 public:
  explicit Roll(HostId self) : self_(self) {}

  /// The record or the identity of that host changed.
  void follow(HostId host, const crdt::HostStore& store, Outbox& outbox);

  /// What changed in the log: records are spread, and who holds the secret of a ticket may come in
  /// to say so.
  void follow_log(Instant now, const scheduler::SeatOutput& changes,
                  const scheduler::RollBook& book, crdt::HostStore& store, Outbox& outbox);
  /// Records that are held here and not in the log, at most kMetMax: founders', and those that a
  /// lost quorum had admitted.
  std::vector<scheduler::entry::Admit> unlogged(const crdt::HostStore& store,
                                                const scheduler::RollBook& book) const;

  /// A message of `type` that says it is of `from` came in from `sender`: whether both may be. Only
  /// who may vote says what a quorum says.
  bool allows(gossip::MessageType type, HostId from, const gossip::Sender& sender) const;
  bool is_member(HostId host) const;
  bool may_vote(HostId host) const;
  /// Nothing of it counts any more.
  bool is_revoked(HostId host) const;
  /// Another host proves itself with that link key.
  bool is_taken(const std::string& link_key, HostId host) const;
  /// Of its links; "" = it has none here.
  std::string link_key(HostId host) const;
  /// Of what signs its row; "" = it has no record here, or none any more.
  std::string identity_key(HostId host) const;
  /// Who founds the cluster together, as far as it is known; in host id order.
  std::vector<HostId> founders() const;
  /// How many they are when all are known; 0 = this host is none of them.
  std::uint64_t founders_wanted() const;

 private:
  void follow_tickets(const scheduler::RollBook& book, Outbox& outbox);
  struct Known {
    crdt::RollRecord record;
    std::string link_key;  ///< "" = shut out.
    gossip::Endpoint control{};
    gossip::Endpoint bulk{};
  };
  const Known* find(HostId host) const;

  static constexpr std::size_t kMetMax = 256;

  HostId self_;
  std::map<HostId, Known> known_;
  std::set<std::string> tickets_;  ///< Keys that are let in.
};

}  // namespace muster::agent
