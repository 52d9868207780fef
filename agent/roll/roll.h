#pragma once
// Roll holds the members of the cluster and their rights, as this node knows them. It reads the
// rows of the store, whose records are checked. It tells the transport which key to admit for which
// host, and which key to expect at which address. Owned by RollKeeper.
//
// A host that changes its key announces the next one in its row (crdt/rows/link_cert.h). From then
// on the transport admits both. When a link to the host ends, it expects the other key, until the
// row says which of them counts.
//
// Invariants: the transport admits exactly the keys of hosts that are not revoked. It stops
// admitting a key in the step in which the key ends. It admits a key for one host at a time. At an
// address it expects the key of the last row with that address.

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

  /// The record, the identity or the link key of that host changed. True if the key of its links is
  /// another one than before.
  bool follow(HostId host, const crdt::HostStore& store, Outbox& outbox);
  /// A link to the control port of that host ended. True if the host had announced its next key.
  bool on_link_down(HostId host, Outbox& outbox);

  /// Takes changes of the log: it spreads records, and admits the keys of tickets.
  void follow_log(Instant now, const scheduler::RollChanges& changes,
                  const scheduler::RollBook& book, crdt::HostStore& store, Outbox& outbox);
  /// Records that this host holds and the log does not, at most kMetMax: those of founders, and
  /// records that a lost quorum had enrolled.
  std::vector<scheduler::entry::Enrol> unlogged(const crdt::HostStore& store,
                                                const scheduler::RollBook& book) const;

  /// True if `sender` proves to be `from`, and `from` may send messages of `type`. Only a host that
  /// may vote sends the messages of a quorum.
  bool allows(gossip::MessageType type, HostId from, const gossip::Sender& sender) const;
  bool is_member(HostId host) const;
  /// The first wanted member behind `last` in the order of host ids, without this host; zero if
  /// there is no such member.
  template <class IsWanted>
  HostId next_member(HostId last, IsWanted is_wanted) const {
    for (auto known = known_.upper_bound(last); known != known_.end(); ++known) {
      if (known->first != self_ && counts(known->second) && is_wanted(known->first)) {
        return known->first;
      }
    }
    return {};
  }
  /// nullptr if the host is no member.
  const crdt::RollRecord* record(HostId host) const;
  /// The number of the authority that signed its record; 0 if the host is no member.
  std::uint64_t authority_of(HostId host) const;
  /// The link keys of a member that count; empty if the host is no member.
  crdt::LinkCert link(HostId host) const;
  /// LinkCert::round; 0 if the host has not announced a key.
  std::uint64_t link_round(HostId host) const;
  /// Records of earlier authorities than `authority` stop counting as soon as most records here are
  /// of it or a later one. A host that hears of it before the records would otherwise shut out all
  /// members.
  void count_from(std::uint64_t authority, const crdt::HostStore& store, Outbox& outbox);
  std::uint64_t counts_from() const { return counts_from_; }
  /// The newest authority that has to be replaced; 0 = none. A host that was revoked or lost its
  /// vote may hold its secret, or a host that got its vote since then lacks it.
  std::uint64_t ended_authority() const { return ended_authority_; }
  bool may_vote(HostId host) const;
  bool may_vouch(HostId host) const;
  /// True if the record of the host is revoked.
  bool is_revoked(HostId host) const;
  /// True if that link key belongs to another host than `host`.
  bool is_taken(const std::string& link_key, HostId host) const;
  /// The key to expect on links to the host; "" if this node does not have it.
  std::string link_key(HostId host) const;
  /// The key that signs its row; "" if the host is no member.
  std::string identity_key(HostId host) const;
  /// The founders of the cluster that this host knows, in the order of host ids.
  std::vector<HostId> founders() const;
  /// The number of all founders; 0 if this host is no founder.
  std::uint64_t founders_wanted() const;

 private:
  void follow_tickets(const scheduler::RollBook& book, Outbox& outbox);
  struct Known {
    crdt::RollRecord record;
    std::uint64_t authority = 0;  ///< The number of the authority that signed the record.
    crdt::LinkCert link{};        ///< A key that is not admitted is "".
    bool expects_next = false;    ///< Links to it expect the next key.
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
  std::map<std::string, HostId> owners_;  ///< The host of each admitted link key.
  std::set<std::string> tickets_;         ///< The admitted keys of tickets.
  std::uint64_t counts_from_ = 0;
  std::uint64_t wanted_from_ = 0;                   ///< The next value of counts_from_.
  std::map<std::uint64_t, std::size_t> signed_by_;  ///< Records that are not revoked, by authority.
  std::uint64_t ended_authority_ = 0;
};

}  // namespace muster::agent
