#pragma once
// Audit finds and repairs the changes that the flood lost: it compares the rows of two hosts. Owned
// by HostStore. There are three ways, cheapest first. A probe ack names the newest version of its
// sender's row, and Audit asks for a row that stays behind it for kAskDelay. A new link compares
// digests of all rows both ways. Every kAuditPeriod Audit compares its digest over all rows with
// that of a random neighbour, and a moment after a host becomes a neighbour with that of this host.
//
// The host that is asked answers from the rows that it holds then. It remembers only when it
// compared all rows, and with which host. A lost question or answer is not repeated, and an early
// audit (kComparePeriod, kComparesASecond) is not answered: the next ack, link or audit asks again.
//
// Invariants
// - At most kBehindMax hosts are remembered as behind; the others wait for their next ack.
// - There are hosts to ask if and only if meet_at_ is set.

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

/// Average time between two audits. It is random, so that hosts that start together do not audit
/// together.
inline constexpr Duration kAuditPeriod = std::chrono::seconds(10);
/// Time that a flood has before Audit asks for a version that an ack named.
inline constexpr Duration kAskDelay = std::chrono::milliseconds(500);
/// Time from the moment a host becomes a neighbour to the question to it: before that no news
/// passed between the two. Lower: the question comes while the missed news is still on its way.
inline constexpr Duration kMeetDelay = std::chrono::seconds(1);
/// Least time between two comparisons of all rows by two hosts, new links of either included: an
/// earlier one would find changes that the flood brings anyway. A link that comes up earlier is
/// compared later. Lower: while many hosts boot or heal, their links come and go, and hosts compare
/// all rows all the time.
inline constexpr Duration kComparePeriod = std::chrono::seconds(1);
/// Limit of a host's comparisons with all others, for each second and for a burst. After the first
/// one little is left to find: the flood spreads its news.
inline constexpr std::int64_t kComparesASecond = 2;
/// Time between the questions to two such hosts: they are asked one after the other.
inline constexpr Duration kMeetGap = std::chrono::milliseconds(250);

class Audit {
 public:
  Audit(HostId self, Rng rng) : self_(self), rng_(rng) {}

  /// An ack of `host` named this version of its row.
  void note_version(Instant now, HostId host, RowVersion version, const HeldRows& rows);
  /// These hosts became neighbours.
  void meet(Instant now, const std::vector<HostId>& newcomers);
  /// A link to this host is new. Sends it digests of all rows and the own row, or asks it later.
  void link_up(Instant now, HostId to, const HeldRows& rows, std::vector<RowsMessage>& messages);
  /// The own row, for a host whose id is not known yet. If it asks, it has the digests of the last
  /// message of a summary, so that the host answers with the rows that differ.
  std::string introduction(const HeldRows& rows, bool asks) const;
  /// Answers `from`: sends the rows that it wants, lacks or has otherwise.
  void answer(Instant now, HostId from, const RowsBody& question, const HeldRows& rows,
              std::vector<RowsMessage>& messages);
  /// Sends the fields that this host knows better of the rows that `from` has otherwise. If a host
  /// is named more than once, its first row counts: a peer cannot make us send a row many times.
  void tell_better(HostId from, const RowsBody& answer, const HeldRows& rows,
                   std::vector<RowsMessage>& messages) const;

  /// Sends the questions that are due.
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

  /// Whether this host may compare all rows with `host` now. If so, notes the comparison.
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
  Rng rng_;  ///< Draws the neighbour to ask, and when.
  std::map<HostId, Behind> behind_;
  Instant audit_at_ = Instant{} + kAuditPeriod;
  std::set<HostId> newcomers_;
  std::set<HostId> owed_;     ///< Hosts whose new link came too early.
  Instant meet_at_ = kNever;  ///< When to ask the next of newcomers_ and owed_.
  Pace compares_;
  std::map<HostId, Instant> compared_;  ///< In the last kComparePeriod, and some before.
};

}  // namespace muster::crdt
