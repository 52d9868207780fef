#pragma once
// RowGate: what stands between rows that arrive and the store. Most of them are copies of what is
// held, and pass; what holds news is to be checked first, at the edge, and comes back when it was,
// with all that came along: the questions in a message are about what is held then.

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "agent/node/departure.h"
#include "agent/node/outbox.h"
#include "crdt/rows/row_check.h"
#include "crdt/store/host_store.h"
#include "gossip/base/ids.h"
#include "gossip/base/time.h"
#include "gossip/wire/wire.h"

namespace muster::agent {

class RowGate {
 public:
  explicit RowGate(HostId self) : self_(self) {}

  /// False: `body` is none of rows.
  bool on_rows(Instant now, HostId from, gossip::Reader body, Departure& departure,
               crdt::HostStore& store, Outbox& outbox) const;
  /// Goes on with it on the connection that it came in on. Counts what was left out, with an alarm
  /// for the first of a sender's in a row, and asks for what could not be checked.
  void on_checked(Instant now, crdt::RowsChecked rows, Departure& departure, crdt::HostStore& store,
                  Outbox& outbox);
  /// Fields that were not their owners', since the start.
  std::uint64_t forged_count() const { return forged_count_; }

 private:
  /// Between two questions for one row. Lower: who has it without its key is asked for ever.
  static constexpr Duration kAskAgain = std::chrono::seconds(5);
  static constexpr std::size_t kAskedMax = 1024;  ///< Remembered; more forget all.

  bool has_news(const crdt::RowsBody& body, const crdt::HostStore& store) const;
  std::vector<HostId> to_ask(Instant now, const crdt::RowsChecked& rows);

  HostId self_;
  std::map<HostId, Instant> asked_at_;
  std::uint64_t forged_count_ = 0;
  HostId complaint_about_;  ///< Who sent the last ones: one alarm each in a row.
};

}  // namespace muster::agent
