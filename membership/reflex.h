#pragma once
// The reflex: Probes are answered as they arrive, before and beside all other work of the host, so
// that a host that has too much to do is not taken for one that is gone. It knows what its Acks say
// from a view that the Node makes whenever that changes, and no more; a Probe that asks for more
// than that is the Node's to judge. A pure machine: the edge gives it a thread of its own, the
// simulator a lane. One thread uses it.

#include <optional>
#include <string>
#include <vector>

#include "gossip/base/ids.h"
#include "gossip/base/time.h"
#include "gossip/wire/message.h"
#include "gossip/wire/transport.h"

namespace muster::membership {

/// Spreads the observers of a host over the period without any clock but its own: each has a slot.
/// How long `observer` shall wait until its next round; a whole period for one that is no observer.
/// `observers` ascend.
Duration probe_me_next(Instant now, const std::vector<HostId>& observers, HostId observer);

/// The contents of a host's Acks, as of one step of its Node.
struct ReflexView {
  gossip::Envelope ack;  ///< Of each Ack, but for its nonce.
  ClusterId cluster;     ///< Zero: none yet.
  HostId self;
  Sequence newest;                ///< Of the own row.
  std::vector<HostId> observers;  ///< The own. Ascending.
  std::vector<HostId> trusted;    ///< Those of them that are alive to this host. Ascending.
};

class Reflex {
 public:
  struct Answer {
    std::string ack;        ///< Goes back on the route of the Probe.
    bool is_usual = false;  ///< From a trusted observer: the Node may hear of it later.
  };

  explicit Reflex(ReflexView view) : view_(std::move(view)) {}
  void look(ReflexView view) { view_ = std::move(view); }

  /// No value: no Probe, or one that the Node has to judge. Else the Node is told that it was
  /// answered (Received::is_answered).
  std::optional<Answer> answer(Instant now, const gossip::Received& received) const;

 private:
  ReflexView view_;
};

}  // namespace muster::membership
