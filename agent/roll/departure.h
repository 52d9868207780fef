#pragma once
// How the life of this agent ends. It leaves for good, which its peers shall know before it is
// gone; it is stopped, to be started again later; another agent lives under its id; or it is to
// start again at once with a higher generation. The Node's.
//
// Invariants: a stop always has a moment by which it is over; whoever waits for no answer asks
// nobody.

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

/// A stopped leader waits so long for another to take over.
inline constexpr Duration kHandOverMax = std::chrono::milliseconds(700);
/// The process ends when those it talks to have the goodbye, or after this long.
inline constexpr Duration kLeaveLinger = std::chrono::seconds(2);
/// They are asked this often whether they have it; the last answers leave within the same time.
inline constexpr Duration kLeaveAskPeriod = std::chrono::milliseconds(100);
/// The other agent of a doubled id is answered this long, so that it ends as well.
inline constexpr Duration kDoubledLinger = std::chrono::seconds(2);

class Departure {
 public:
  Departure(HostId self, IdWatch ids) : self_(self), ids_(std::move(ids)) {}

  /// Whether another agent lives under this id.
  IdWatch& ids() { return ids_; }
  const IdWatch& ids() const { return ids_; }

  /// This host says goodbye; those of `peers` that can be reached shall have heard it before the
  /// process ends. Precondition: it is not ending yet.
  void on_leave_asked(Instant now, std::set<HostId> peers,
                      const membership::Membership& membership);
  /// `hands_over`: it leads, and somebody else is to take over first.
  void on_stop_asked(Instant now, bool hands_over);
  /// Another agent lives under this id, or surely none does: then a higher generation may be taken.
  /// To raise while another answers would only make the two overtake each other.
  void on_id_watched(Instant now, Outbox& outbox);
  /// Rows came from a host: perhaps it shows that it has the goodbye.
  void on_rows(Instant now, HostId from, const crdt::RowsBody& rows);
  /// Of several the highest counts.
  void on_raise_asked(Generation to);

  bool is_ending() const { return exit_at_ != kNever; }

  /// When to ask who has not shown yet that it has the goodbye.
  Instant ask_at() const { return ask_at_; }
  /// They are asked now. Whoever floods does not say what arrived: so they are asked for the row of
  /// this host itself.
  const std::set<HostId>& ask(Instant now);
  /// When the process ends: `now`, once somebody else leads for a leader that was stopped.
  Instant exit_at(Instant now, bool leads) const;
  /// It ends now.
  void exited();

 private:
  HostId self_;
  IdWatch ids_;
  Instant exit_at_ = kNever;
  bool stopping_ = false;
  Instant ask_at_ = kNever;
  std::set<HostId> waits_for_;          ///< Leaving: those that have not shown yet that they know.
  std::optional<Generation> raise_to_;  ///< Waits until nobody else can answer for this id.
};

}  // namespace muster::agent
