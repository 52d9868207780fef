#pragma once
// ResetWatch raises the alarm admin_reset on this host when root of a voter reset the
// administrators. It compares the list of users, from the log or from the copy of a host without
// it, with the last reset that this host told. Therefore a host that was off, cut off, or behind
// tells it later. Owned by LeaderContact.

#include <optional>

#include "crdt/disk/write_batch.h"
#include "gossip/base/event.h"
#include "scheduler/access/directory.h"

namespace muster::agent {

class ResetWatch {
 public:
  /// `state`: the environment kState at the start. `copy`: the list of users in it.
  ResetWatch(const crdt::Records& state, const scheduler::Directory& copy);

  struct News {
    std::optional<Event> alarm;  ///< nullopt: the first list that this host saw had that reset.
    crdt::WriteBatch writes;     ///< To kState.
  };
  /// The list of users as this host knows it now; nullopt if it has no news.
  std::optional<News> look(const scheduler::Directory& users);

 private:
  /// nullopt: this host has seen no list yet.
  std::optional<scheduler::AdminReset> told_;
};

}  // namespace muster::agent
