#pragma once
// The roll as this node knows it: who is a member and what each may say. It reads the rows of the
// store, whose records were checked, and tells the transport whom to let in by which key and whose
// key to expect where. The Node's.
//
// A host that changes its key announces the next one in its row (crdt/rows/link_cert.h). From then
// on both are let in, and where a link to it ends the other one is expected: until its row says
// which of them counts.
//
// Invariants: the transport lets in exactly the keys of hosts that are not revoked; a key that is
// over is shut out in the same step. A key is let in for one host at a time. An address expects the
// key of its last row.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "agent/step/outbox.h"
#include "crdt/rows/link_cert.h"
#include "crdt/rows/roll.h"
#include "crdt/store/host_store.h"
#include "gossip/base/ids.h"
#include "gossip/base/recently_found.h"
#include "gossip/wire/endpoint.h"
#include "gossip/wire/message.h"
#include "gossip/wire/transport.h"
#include "scheduler/state/roll_book.h"
#include "scheduler/state/roll_changes.h"

namespace muster::agent {

class Roll {
 public:
  explicit Roll(HostId self) : self_(self) {}

  /// The record, the identity or the link key of that host changed. True: what its links are proven
  /// with is another key than before.
  bool follow(HostId host, const crdt::HostStore& store, Outbox& outbox);
  /// A link to the control port of that host ended. True: it had announced that its links would.
  bool on_link_down(HostId host, Outbox& outbox);

  /// What changed in the log: records are spread, and who holds the secret of a ticket may come in
  /// to say so.
  void follow_log(Instant now, const scheduler::RollChanges& changes,
                  const scheduler::RollBook& book, crdt::HostStore& store, Outbox& outbox);
  /// Records that are held here and not in the log, at most kMetMax: founders', and those that a
  /// lost quorum had enrolled.
  std::vector<scheduler::entry::Enrol> unlogged(const crdt::HostStore& store,
                                                const scheduler::RollBook& book) const;

  /// A message of `type` that says it is of `from` came in from `sender`: whether both may be. Only
  /// who may vote says what a quorum says.
  bool allows(gossip::MessageType type, HostId from, const gossip::Sender& sender) const;
  bool is_member(HostId host) const;
  /// The first member behind `last` in host id order, this host left out, that is wanted; zero =
  /// there is none.
  template <class IsWanted>
  HostId next_member(HostId last, IsWanted is_wanted) const {
    for (auto known = known_.upper_bound(last); known != known_.end(); ++known) {
      if (known->first != self_ && counts(known->second) && is_wanted(known->first)) {
        return known->first;
      }
    }
    return {};
  }
  /// Null for who is no member.
  const crdt::RollRecord* record(HostId host) const;
  /// The number of the authority that signed it; 0 = there is none.
  std::uint64_t authority_of(HostId host) const;
  /// What it says of its link key, as far as it counts.
  crdt::LinkCert link(HostId host) const;
  /// LinkCert::round; 0 while it says nothing.
  std::uint64_t link_round(HostId host) const;
  /// Records of earlier authorities than this one are nobody's, as soon as most of those that are
  /// held here are of it: who hears it before the records would shut everybody out.
  void count_from(std::uint64_t authority, const crdt::HostStore& store, Outbox& outbox);
  std::uint64_t counts_from() const { return counts_from_; }
  /// The newest authority that shall sign no more; 0 = none. A host that was revoked, or may vote
  /// no more, may have its secret, or one that may vote since then has not.
  std::uint64_t ended_authority() const { return ended_authority_; }
  bool may_vote(HostId host) const;
  bool may_vouch(HostId host) const;
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
    std::uint64_t authority = 0;  ///< Of who signed the record.
    crdt::LinkCert link{};        ///< Its keys are "" where they are not let in.
    bool expects_next = false;    ///< Whoever dials it expects the next key.
    gossip::Endpoint control{};
    gossip::Endpoint bulk{};
    const std::string& expected() const { return expects_next ? link.next : link.key; }
  };
  const Known* find(HostId host) const;
  bool counts(const Known& known) const;
  void count(const Known& known, bool is_added);
  void settle(const crdt::HostStore& store, Outbox& outbox);
  void tell_of_revocation(HostId host, bool was_revoked, bool is_revoked, Outbox& outbox) const;
  void admit(HostId host, const Known& before, Known& now, Outbox& outbox);
  void expect_at(const Known& before, const Known& now, Outbox& outbox) const;
  std::string claimed(HostId host, const std::string& key, Outbox& outbox);

  static constexpr std::size_t kMetMax = 256;

  HostId self_;
  std::map<HostId, Known> known_;  ///< Never erased from.
  mutable RecentlyFound<Known> recent_;
  std::map<std::string, HostId> owners_;  ///< Of the keys that are let in.
  std::set<std::string> tickets_;         ///< Keys that are let in.
  std::uint64_t counts_from_ = 0;
  std::uint64_t wanted_from_ = 0;                   ///< What counts_from_ shall come to be.
  std::map<std::uint64_t, std::size_t> signed_by_;  ///< Records that are not revoked, by authority.
  std::uint64_t ended_authority_ = 0;
};

}  // namespace muster::agent
