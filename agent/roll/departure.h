#pragma once
// Departure ends the life of this agent. The agent leaves for good, and its peers hear of it first;
// it stops, to be started again later; another agent lives under its id; or it starts again at once
// with a higher generation. Owned by Node.
//
// Invariants: a stop always has a time by which it is over. A departure that waits for no answer
// asks no host.

#include <optional>
#include <set>
#include <utility>

#include "agent/roll/id_watch.h"
#include "agent/step/outbox.h"
#include "crdt/rows/codec.h"
#include "gossip/base/ids.h"
#include "gossip/base/time.h"
#include "membership/membership.h"

namespace muster::agent {

/// A stopped leader waits at most this long for another host to take over.
inline constexpr Duration kHandOverMax = std::chrono::milliseconds(700);
/// The process ends when its reachable peers have the goodbye, at the latest after this time.
inline constexpr Duration kLeaveLinger = std::chrono::seconds(2);
/// Time between two questions to a peer for the goodbye. The last answers leave in the same time.
inline constexpr Duration kLeaveAskPeriod = std::chrono::milliseconds(100);
/// This agent answers the other agent of a doubled id for this time, so that it ends as well.
inline constexpr Duration kDoubledLinger = std::chrono::seconds(2);

class Departure {
 public:
  Departure(HostId self, IdWatch ids) : self_(self), ids_(std::move(ids)) {}

  /// Knows if another agent lives under this id.
  IdWatch& ids() { return ids_; }
  const IdWatch& ids() const { return ids_; }

  /// This host says goodbye. The process waits until the reachable ones of `peers` have heard it,
  /// at most for kLeaveLinger.
  /// Precondition: it is not ending yet.
  void on_leave_asked(Instant now, std::set<HostId> peers,
                      const membership::Membership& membership);
  /// `hands_over`: this host leads, and another host takes over first.
  void on_stop_asked(Instant now, bool hands_over);
  /// IdWatch may have learned something. If another agent lives under this id, the process ends. If
  /// certainly none does, it restarts with a higher generation that was asked for. A raise while
  /// the other agent answers would only make the two overtake each other.
  void on_id_watched(Instant now, Outbox& outbox);
  /// Rows came from a host. They may show that it has the goodbye.
  void on_rows(Instant now, HostId from, const crdt::RowsBody& rows);
  /// Of several generations the highest counts.
  void on_raise_asked(Generation to);

  bool is_ending() const { return exit_at_ != kNever; }

  /// The time to ask the peers that have not yet shown that they have the goodbye.
  Instant ask_at() const { return ask_at_; }
  /// The peers to ask now for the row of this host. A flood does not confirm arrival.
  const std::set<HostId>& ask(Instant now);
  /// The time at which the process ends; `now` if it was stopped and does not lead.
  Instant exit_at(Instant now, bool leads) const;
  /// The process ends now.
  void exited();

 private:
  HostId self_;
  IdWatch ids_;
  Instant exit_at_ = kNever;
  bool stopping_ = false;
  Instant ask_at_ = kNever;
  std::set<HostId> waits_for_;  ///< Peers that have not yet shown that they have the goodbye.
  std::optional<Generation> raise_to_;  ///< Waits until no other agent can answer for this id.
};

}  // namespace muster::agent
