#pragma once
// Spread holds the news that waits to be flooded, and the hosts that are known to have it. Owned by
// HostStore. News is a field that changed. Spread sends the field as it is at that moment, so that
// of two changes only the last costs a message. It sends news to each neighbour, except those that
// sent the same field, and the owner of the row if it wrote the field itself. A guest is a host
// that came to learn the rows of the cluster: for a while it gets news as neighbours do.
//
// Invariants
// - News waits if and only if send_at_ is set: at most kSpreadDelay after it came, or when the pace
//   allows the next message.
// - All news is of rows that are held: rows are never erased.

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

/// Time that news waits before it is sent on. Raised: fewer copies, because neighbours that send
/// the same news meanwhile get none. Lowered: a faster flood (each hop takes this long).
inline constexpr Duration kSpreadDelay = std::chrono::milliseconds(5);
/// Limit of the messages to each neighbour, for each second and for a burst. News that comes
/// faster, as when many hosts boot or heal, waits and travels together: each message costs each end
/// about 0.1 ms, whatever its size. Raised: a storm of changes floods faster and costs more;
/// lowered: the reverse.
inline constexpr std::int64_t kSpreadsASecond = 8;

/// A host that is late rests for kRestALag times its lag between two messages, at most for
/// kSpreadRestMax (less than a leaving host stays for its goodbye). News that waits travels
/// together and costs all hosts less, so that they catch up. Raised: a busy host spreads news
/// later; lowered: busy hosts make each other busier.
inline constexpr std::int64_t kRestALag = 20;
inline constexpr Duration kSpreadRestMax = std::chrono::seconds(1);

/// Time for which a guest gets all news, until it has neighbours of its own. Raised: more copies;
/// lowered: a host that joins among many hears of the others only from its first comparison on.
inline constexpr Duration kGuestTime = std::chrono::seconds(4);
/// Limit of the guests; a further host waits for neighbours of its own.
inline constexpr std::size_t kGuestsMax = 128;

class Spread {
 public:
  /// The hosts of the overlay that get news, in this order, never this one. A host that does not
  /// relay sends them its own news, and news that it got from the owner of the row.
  void set_neighbours(std::vector<HostId> neighbours, bool relays = true) {
    neighbours_ = std::move(neighbours);
    relays_ = relays;
  }
  /// This host is a guest from now on.
  void welcome(Instant now, HostId guest);
  const std::vector<HostId>& neighbours() const { return neighbours_; }
  bool relays() const { return relays_; }

  /// News of the own row, which no other host has: sends it, and all news that waits, at once if
  /// the pace allows it.
  void send_own(Instant now, HostId self, const std::set<std::uint32_t>& fields,
                const HeldRows& rows, std::vector<RowsMessage>& messages);
  /// `from` sent a field that was news here; no other host is known to have it.
  void add(Instant now, HostId host, std::uint32_t field, HostId from);
  /// `from` sent `news`; `held` is that row as it is now. `from` needs no copy of a field that
  /// waits here and is equal.
  void note_heard(HostId from, const RowOf& news, const Row& held);

  /// Sets the lag of this host, and so the rest between two messages.
  void be_late(Duration lag);
  /// Sends the news that waits, if it is time.
  void tick(Instant now, const HeldRows& rows, std::vector<RowsMessage>& messages);
  Instant next_deadline() const { return send_at_; }
  void check_invariants() const;

 private:
  struct Waiting {
    std::vector<HostId> have_it;  ///< Neighbours and guests that are known to have it.
    bool is_for_guests = false;   ///< It is not sent to neighbours.
  };
  /// One field that waits, in the row that holds it.
  struct News {
    HostId host;
    const Row* row;
    std::map<std::uint32_t, Field>::const_iterator field;
    const Waiting* waiting;
  };
  /// The hosts that get news, and whether each is a guest only.
  using Audience = std::vector<std::pair<HostId, bool>>;

  /// The earliest moment of the next message.
  Instant ready_at() const { return std::max(pace_.ready_at(kSpreadsASecond), sent_at_ + rest_); }
  Audience audience(Instant now);
  void send(Instant now, const HeldRows& rows, std::vector<RowsMessage>& messages);
  std::vector<News> news(const HeldRows& rows) const;
  static std::vector<RowOf> rows_of(const std::vector<const News*>& news);

  std::vector<HostId> neighbours_;
  bool relays_ = true;
  std::map<HostId, Instant> guests_;                             ///< The end of each one's time.
  std::map<std::pair<HostId, std::uint32_t>, Waiting> waiting_;  ///< By host and field.
  Instant send_at_ = kNever;
  Pace pace_;
  Instant sent_at_ = kLongAgo;
  Duration rest_{0};  ///< Least time between two messages.
};

}  // namespace muster::crdt
