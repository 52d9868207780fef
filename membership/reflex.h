#pragma once
// Reflex: answers Probes as they arrive, before and beside all other work of the host, so that an
// overloaded host is not taken for a dead one. It builds its Acks from a view that Node makes
// whenever their contents change. Node judges a Probe that needs more than the view. A pure
// machine: the edge runs it in a thread of its own, the simulator in a lane. One thread uses it.

#include <optional>
#include <string>
#include <vector>

#include "gossip/base/ids.h"
#include "gossip/base/time.h"
#include "gossip/wire/message.h"
#include "gossip/wire/transport.h"

namespace muster::membership {

/// The time that `observer` shall wait until its next round: each observer has a slot of the
/// period, so that a host spreads its observers by its own clock alone. A whole period if
/// `observer` is not one of `observers`. `observers` ascend.
Duration probe_me_next(Instant now, const std::vector<HostId>& observers, HostId observer);

/// The contents of a host's Acks, as of one step of its Node.
struct ReflexView {
  gossip::Envelope ack;  ///< Of each Ack, but for its nonce.
  ClusterId cluster;     ///< Zero if the host has no cluster yet.
  HostId self;
  Sequence newest;                ///< Of the own row.
  std::vector<HostId> observers;  ///< The own. Ascending.
  std::vector<HostId> trusted;    ///< The observers that are alive to this host. Ascending.
};

class Reflex {
 public:
  struct Answer {
    std::string ack;        ///< Goes back on the route of the Probe.
    bool is_usual = false;  ///< From a trusted observer: the Node may hear of it later.
  };

  explicit Reflex(ReflexView view) : view_(std::move(view)) {}
  void look(ReflexView view) { view_ = std::move(view); }

  /// nullopt if the message is not a Probe, or is one that Node has to judge. Else Node is told
  /// that the Probe was answered (Received::is_answered).
  std::optional<Answer> answer(Instant now, const gossip::Received& received) const;

 private:
  ReflexView view_;
};

}  // namespace muster::membership
