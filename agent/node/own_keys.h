#pragma once
// What this host does about link keys by itself: it changes its own when that is wished for, and
// while it votes it looks for those that were away meanwhile. Admission's.

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "agent/node/absent_contact.h"
#include "agent/node/link_rotation.h"
#include "agent/node/outbox.h"
#include "agent/node/pending_writes.h"
#include "agent/node/words.h"
#include "crdt/store/host_store.h"
#include "gossip/base/ids.h"
#include "gossip/base/time.h"
#include "membership/membership.h"

namespace muster::agent {

struct Known;

class OwnKeys {
 public:
  OwnKeys(HostId self, const Credentials& credentials, const crdt::Records& id_records)
      : self_(self), rotation_(self, credentials, id_records) {}

  LinkRotation& rotation() { return rotation_; }
  const LinkRotation& rotation() const { return rotation_; }
  Instant next_deadline(bool votes) const;
  /// Rows to be sent: a body for each of these hosts.
  std::vector<crdt::RowsMessage> tick(const Known& known, PendingWrites& writes, Outbox& outbox);

 private:
  HostId self_;
  LinkRotation rotation_;
  AbsentContact absent_;
};

/// Who is to hear of the next link key before it is used: neighbours, observers and voters.
Audience audience_of(const Known& known);
/// Whether a host's ack is the leader's word: of who may vote, or signed by one for a relay.
bool is_leaders_word(const Known& known, const scheduler::RenewAck& ack, HostId from, Nonce nonce);
/// What the seat says to a relay, signed by this host.
std::string proven_acks(const NodeOptions& options, const std::string& body);
/// A relay carries for its own rack: what it brought for others is left out.
void keep_own_rack(const membership::Membership& membership, HostId relay,
                   scheduler::RelayedRenews& brought);

}  // namespace muster::agent
