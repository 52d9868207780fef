#pragma once
// EventRing holds the last events of this host, with the wall clock of each, for `muster events`.
// It is bounded and drops the oldest events first. Environment::kState keeps them without a sync,
// so that they outlive a restart of the agent. After a restart the agent applies its log again. The
// ring does not keep the events of those entries a second time.
//
// Invariants: sequence numbers ascend, also over a restart. The ring holds what the writes that
// were taken so far leave on disk.

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
  /// Events of one answer. The sequence number of its last event asks for the next page.
  static constexpr std::size_t kPageMax = 500;
  static constexpr std::size_t kPageBytes = 512 << 10;
  /// The table in Environment::kState, by sequence number.
  static constexpr std::string_view kTable = "event/";

  /// `recovered` is the content of kState. The ring forgets an event that does not decode.
  explicit EventRing(const crdt::Records& recovered);

  /// The log on disk ends at `end`. Up to there, and up to the highest entry that a kept event is
  /// about, an earlier life of the agent has seen the events of entries.
  void expect_replay(LogIndex end);
  /// `unix_ms` is the wall clock; 0 = not known. The ring does not keep events for debugging.
  void add(std::int64_t unix_ms, const Event& event);
  /// The writes to kState since the last call.
  crdt::WriteBatch take_writes() { return std::exchange(writes_, {}); }

  /// Short ids of hosts -> their names.
  using Names = std::map<std::string, std::string>;
  /// A page of events, with names of hosts in place of their short ids. `unix_ms` is the wall clock
  /// now, for the ages of the events.
  EventsPage page(std::int64_t unix_ms, const EventsQuery& query, const Names& names) const;
  /// Alarms that were added since the start, by name.
  const std::map<std::string, std::uint64_t>& alarms() const { return alarms_; }

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
  std::uint64_t index_kept_ = 0;      ///< The highest log index that a kept event is about.
  std::uint64_t replayed_up_to_ = 0;  ///< An earlier life has seen the events up to this index.
  crdt::WriteBatch writes_;
  std::map<std::string, std::uint64_t> alarms_;
};

}  // namespace muster::agent
