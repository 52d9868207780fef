#pragma once
// The care of link keys that this host takes by itself: it changes its own when that is wished for,
// and while it votes it looks for those that were away meanwhile.

#include <vector>

#include "agent/roll/absent_contact.h"
#include "agent/roll/link_rotation.h"
#include "agent/step/outbox.h"
#include "agent/step/words.h"
#include "crdt/store/host_store.h"
#include "gossip/base/ids.h"
#include "gossip/base/time.h"
#include "membership/membership.h"

namespace muster::agent {

/// The surroundings that they look at, for one call.
struct Circle {
  Instant now;
  const membership::Membership& membership;
  const crdt::HostStore& store;
  const std::vector<HostId>& voters;
  const std::vector<HostId>& neighbours;
  bool votes = false;
};

class OwnKeys {
 public:
  OwnKeys(HostId self, const Credentials& credentials, const crdt::Records& id_records)
      : self_(self), rotation_(self, credentials, id_records) {}

  LinkRotation& rotation() { return rotation_; }
  const LinkRotation& rotation() const { return rotation_; }
  Instant next_deadline(bool votes) const;
  /// Rows to be sent: a body for each of these hosts.
  std::vector<crdt::RowsMessage> tick(const Circle& circle, Outbox& outbox);

 private:
  HostId self_;
  LinkRotation rotation_;
  AbsentContact absent_;
};

}  // namespace muster::agent
