#pragma once
// The last events of this host, for `muster events`, with the wall clock at which each was seen.
// Bounded; the oldest go first. They are kept in Environment::kState, unsynced, so that an agent
// that starts again still tells what happened before. It applies its log once more and sees what it
// saw before: what an entry of that log did is not kept a second time.
//
// Invariants: sequences ascend, also over a restart; what is kept here is what the writes that were
// taken so far leave on disk.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "agent/api/events.h"
#include "crdt/disk/write_batch.h"
#include "gossip/base/event.h"
#include "gossip/base/ids.h"

namespace muster::agent {

class EventRing {
 public:
  static constexpr std::size_t kEventsMax = 10'000;
  static constexpr std::size_t kBytesMax = 4 << 20;
  /// Of one answer: what is more is asked for with the last one's sequence.
  static constexpr std::size_t kPageMax = 500;
  static constexpr std::size_t kPageBytes = 512 << 10;
  /// In Environment::kState, by sequence.
  static constexpr std::string_view kTable = "event/";

  /// `recovered`: what kState held. An event that does not decode is forgotten.
  explicit EventRing(const crdt::Records& recovered);

  /// The log on disk ends at `end`: what came of its entries, up to the last one that anything kept
  /// is about, was seen in an earlier life.
  void expect_replay(LogIndex end);
  /// `unix_ms`: what the wall clock shows; 0 = not known. Events for debugging are not kept.
  void add(std::int64_t unix_ms, const Event& event);
  /// What is to be written to kState since the last call.
  crdt::WriteBatch take_writes() { return std::exchange(writes_, {}); }

  /// Short ids of hosts -> their names.
  using Names = std::map<std::string, std::string>;
  /// Events with a name of a host in place of its short id. `unix_ms`: the wall clock now, of which
  /// ages are counted.
  EventsPage page(std::int64_t unix_ms, const EventsQuery& query, const Names& names) const;

 private:
  struct Kept {
    std::uint64_t sequence = 0;
    std::string bytes;
  };

  bool is_replayed(const Event& event) const;
  void drop_first();

  std::deque<Kept> kept_;
  std::size_t bytes_ = 0;
  std::uint64_t last_ = 0;
  std::uint64_t index_kept_ = 0;      ///< The highest log index that what is kept is about.
  std::uint64_t replayed_up_to_ = 0;  ///< Entries that were applied in an earlier life.
  crdt::WriteBatch writes_;
};

}  // namespace muster::agent
