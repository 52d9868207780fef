#pragma once
// Audit: finds and repairs what the flood lost, by comparing what two hosts hold. A part of
// HostStore. Three ways, cheapest first: a probe ack names the newest version of its sender's row,
// and a row that stays behind it for kAskDelay is asked for; a new link compares digests of all
// rows both ways; every kAuditPeriod one random neighbour, and each new one a moment after it
// became one, is asked whether its digest over everything is ours.
//
// Whoever is asked answers from what it holds at that moment, and remembers only when it compared
// all with whom. A lost question or answer is not repeated, and an audit that comes before its time
// (kComparePeriod, kComparesASecond) is not answered: the next ack, link or audit asks again.
//
// Invariants
// - At most kBehindMax hosts are remembered as behind; the others wait for their next ack.
// - Somebody is to be asked exactly when a time for it is set.

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "crdt/rows/codec.h"
#include "crdt/rows/row.h"
#include "crdt/store/held_rows.h"
#include "crdt/store/rows_message.h"
#include "gossip/base/ids.h"
#include "gossip/base/pace.h"
#include "gossip/base/rng.h"
#include "gossip/base/time.h"

namespace muster::crdt {

/// On the average: hosts that were started together shall not audit together.
inline constexpr Duration kAuditPeriod = std::chrono::seconds(10);
/// How long a flood may take before a version heard of in an ack is asked for.
inline constexpr Duration kAskDelay = std::chrono::milliseconds(500);
/// So long after it became a neighbour a host is asked: while it was none, it was told nothing, and
/// told nothing. Lower: asked while the news that it missed is still on its way.
inline constexpr Duration kMeetDelay = std::chrono::seconds(1);
/// Two hosts compare all they hold at most once in this, either's new link counted: what they would
/// find sooner is on its way in the flood. A link that comes up within is asked about later. Lower:
/// where links come and go, as at a boot or a heal of many, everything is compared all the time.
inline constexpr Duration kComparePeriod = std::chrono::seconds(1);
/// ... and a host so often with all others together, a second's worth at once. After the first of
/// them little is left to find: what was news is flooded on.
inline constexpr std::int64_t kComparesASecond = 2;
/// Hosts that are to be asked, are asked one after the other.
inline constexpr Duration kMeetGap = std::chrono::milliseconds(250);

class Audit {
 public:
  Audit(HostId self, Rng rng) : self_(self), rng_(rng) {}

  /// `host` said that its row has this version.
  void note_version(Instant now, HostId host, RowVersion version, const HeldRows& rows);
  /// These are neighbours now, and were none.
  void meet(Instant now, const std::vector<HostId>& newcomers);
  /// A link to this host is new: it is sent digests of everything and the own row, or is asked a
  /// moment later.
  void link_up(Instant now, HostId to, const HeldRows& rows, std::vector<RowsMessage>& messages);
  /// The own row, for a host whose id is not known yet; with the digests of the last message of a
  /// summary, so that it answers with what differs, or without.
  std::string introduction(const HeldRows& rows, bool asks) const;
  /// What `from` wants, lacks and has that is different here.
  void answer(Instant now, HostId from, const RowsBody& question, const HeldRows& rows,
              std::vector<RowsMessage>& messages);
  /// Of rows that `from` has otherwise, the fields that are known better here. Of a host that is
  /// named more than once the first row counts: nobody makes us say a row many times.
  void tell_better(HostId from, const RowsBody& answer, const HeldRows& rows,
                   std::vector<RowsMessage>& messages) const;

  /// Asks, where it is time.
  void tick(Instant now, const HeldRows& rows, const std::vector<HostId>& neighbours,
            std::vector<RowsMessage>& messages);
  Instant next_deadline() const;
  void check_invariants() const;

 private:
  /// A host whose ack named a version that was not held.
  struct Behind {
    RowVersion version;
    Instant ask_at;
  };

  /// Whether all may be compared with this host now; then it is noted.
  bool take_turn(Instant now, HostId host);
  void note_compared(Instant now, HostId host);
  void send_summary(HostId to, const HeldRows& rows, std::vector<RowsMessage>& messages) const;
  void ask_neighbour(const HeldRows& rows, const std::vector<HostId>& neighbours,
                     std::vector<RowsMessage>& messages);
  void ask_one(Instant now, const HeldRows& rows, const std::vector<HostId>& neighbours,
               std::vector<RowsMessage>& messages);
  void ask_behind(Instant now, const HeldRows& rows, std::vector<RowsMessage>& messages);
  std::vector<RowsBody> summary(const HeldRows& rows) const;
  void compare(HostId from, const RowsBody& question, const HeldRows& rows,
               std::vector<HostId>& want, std::vector<HostId>& send) const;

  const HostId self_;
  Rng rng_;  ///< Draws whom to ask.
  std::map<HostId, Behind> behind_;
  Instant audit_at_ = Instant{} + kAuditPeriod;
  std::set<HostId> newcomers_;
  std::set<HostId> owed_;     ///< Hosts whose new link came too early.
  Instant meet_at_ = kNever;  ///< When the first of both is asked.
  Pace compares_;
  std::map<HostId, Instant> compared_;  ///< Of the last kComparePeriod, and some older ones.
};

}  // namespace muster::crdt
