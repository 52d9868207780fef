#pragma once
// Spread: the news that waits to be flooded, and who is known to have it. A part of HostStore. News
// is a field that changed; what travels is the field as it is when it goes, so that of two changes
// only the last one costs a message. News that waits goes to each neighbour, except those that sent
// the same, and the row's owner where it wrote the field itself. Guests are hosts that came to
// learn what there is: for a while they are told as if they were neighbours.
//
// Invariants
// - News waits exactly when a time for it is set: kSpreadDelay at most from when it came, or when
//   the pace allows the next message.
// - News is of rows that are held: rows are never erased.

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "crdt/rows/codec.h"
#include "crdt/rows/row.h"
#include "crdt/store/held_rows.h"
#include "crdt/store/rows_message.h"
#include "gossip/base/ids.h"
#include "gossip/base/pace.h"
#include "gossip/base/time.h"

namespace muster::crdt {

/// How long news waits before it travels on. Raised: fewer copies, because neighbours that sent
/// the same news meanwhile are left out; lowered: a faster flood (a hop costs this much).
inline constexpr Duration kSpreadDelay = std::chrono::milliseconds(5);
/// Messages a second to each neighbour, a second's worth at once. What comes faster, as where many
/// boot or heal, waits and travels together: each message costs either end some 0.1 ms, whatever is
/// in it. Raised: a storm of changes floods faster and costs more; lowered: the reverse.
inline constexpr std::int64_t kSpreadsASecond = 8;

/// A host that is late by so much rests so many times as long between two messages, up to the most
/// (less than a leaving host stays for its goodbye):
/// news that waits travels together and costs all less, so that they catch up. Raised: a host that
/// has much to do spreads news later; lowered: hosts that are busy make each other busier.
inline constexpr std::int64_t kRestALag = 20;
inline constexpr Duration kSpreadRestMax = std::chrono::seconds(1);

/// A guest is told all news for so long: until it has neighbours of its own. Raised: more copies;
/// lowered: a host that joins among many hears of the others from its first comparison on.
inline constexpr Duration kGuestTime = std::chrono::seconds(4);
/// More guests at once wait for neighbours of their own.
inline constexpr std::size_t kGuestsMax = 128;

class Spread {
 public:
  /// Whom news goes to, in this order: hosts of the overlay, never this one. A host that does not
  /// relay tells them its own news, and that of others where it has it from themselves.
  void set_neighbours(std::vector<HostId> neighbours, bool relays = true) {
    neighbours_ = std::move(neighbours);
    relays_ = relays;
  }
  /// This host is a guest from now on.
  void welcome(Instant now, HostId guest);
  const std::vector<HostId>& neighbours() const { return neighbours_; }
  bool relays() const { return relays_; }

  /// News of the own row, which nobody has: it goes at once if the pace allows it, and takes along
  /// all that waits.
  void send_own(Instant now, HostId self, const std::set<std::uint32_t>& fields,
                const HeldRows& rows, std::vector<RowsMessage>& messages);
  /// `from` told a field that was news here; nobody else is known to have it.
  void add(Instant now, HostId host, std::uint32_t field, HostId from);
  /// `from` told `news`, of which `held` is the row as it is now: where the same waits here,
  /// `from` needs no copy.
  void note_heard(HostId from, const RowOf& news, const Row& held);

  /// This host comes to what it has to do so late that it can afford less.
  void be_late(Duration lag);
  /// Sends what waits, when it is time.
  void tick(Instant now, const HeldRows& rows, std::vector<RowsMessage>& messages);
  Instant next_deadline() const { return send_at_; }
  void check_invariants() const;

 private:
  struct Waiting {
    std::vector<HostId> have_it;  ///< Neighbours and guests that are known to have it.
    bool is_for_guests = false;   ///< ... alone.
  };
  /// One field that waits, where it is held.
  struct News {
    HostId host;
    const Row* row;
    std::map<std::uint32_t, Field>::const_iterator field;
    const Waiting* waiting;
  };
  /// Whom news is sent to, and whether as a guest alone.
  using Audience = std::vector<std::pair<HostId, bool>>;

  /// The earliest moment of the next message.
  Instant ready_at() const { return std::max(pace_.ready_at(kSpreadsASecond), sent_at_ + rest_); }
  Audience audience(Instant now);
  void send(Instant now, const HeldRows& rows, std::vector<RowsMessage>& messages);
  std::vector<News> news(const HeldRows& rows) const;
  static std::vector<RowOf> rows_of(const std::vector<const News*>& news);

  std::vector<HostId> neighbours_;
  bool relays_ = true;
  std::map<HostId, Instant> guests_;                             ///< Until when each is one.
  std::map<std::pair<HostId, std::uint32_t>, Waiting> waiting_;  ///< By host and field.
  Instant send_at_ = kNever;
  Pace pace_;
  Instant sent_at_ = kLongAgo;
  Duration rest_{0};  ///< From one message to the next.
};

}  // namespace muster::crdt
