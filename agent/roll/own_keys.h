#pragma once
// OwnKeys changes the link key of this host when the roll asks for it. While this host votes with a
// changed key, it also dials the hosts that left before. Owned by Node.

#include <vector>

#include "agent/roll/departed_dialer.h"
#include "agent/roll/link_rotation.h"
#include "agent/step/node_interface.h"
#include "agent/step/outbox.h"
#include "crdt/store/host_store.h"
#include "gossip/base/ids.h"
#include "gossip/base/time.h"
#include "membership/membership.h"

namespace muster::agent {

/// The state of other parts that OwnKeys reads, for one call.
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
  /// The messages of rows to send now.
  std::vector<crdt::RowsMessage> tick(const Circle& circle, Outbox& outbox);

 private:
  HostId self_;
  LinkRotation rotation_;
  DepartedDialer absent_;
};

}  // namespace muster::agent
