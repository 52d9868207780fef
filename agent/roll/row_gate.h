#pragma once
// RowGate: what stands between rows that arrive and the store. Most of them are copies of what is
// held, and pass; what holds news is to be checked first, at the edge, and comes back when it was,
// with all that came along: the questions in a message are about what is held then.

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "agent/roll/departure.h"
#include "agent/roll/roll.h"
#include "agent/step/outbox.h"
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
  bool on_rows(Instant now, HostId from, gossip::Reader body, const Roll& roll,
               Departure& departure, crdt::HostStore& store, Outbox& outbox) const;
  /// Goes on with it on the connection that it came in on. Counts what was left out, with at most
  /// one alarm in kComplainAgain, and asks for what could not be checked.
  void on_checked(Instant now, crdt::RowsChecked rows, Departure& departure, crdt::HostStore& store,
                  Outbox& outbox);
  /// Authorities that are known here: whoever checks is told until it knows them.
  void tell_authorities(std::vector<gossip::AuthorityLink> links) { links_ = std::move(links); }
  /// Fields that were not their owners', since the start.
  std::uint64_t forged_count() const { return forged_count_; }

 private:
  /// Between two questions for one row. Lower: who has it without its key is asked for ever.
  static constexpr Duration kAskAgain = std::chrono::seconds(5);
  static constexpr std::size_t kAskedMax = 1024;  ///< Remembered; the oldest gives way.
  static constexpr Duration kComplainAgain = std::chrono::seconds(10);
  /// Of whom, for which row.
  using Asked = std::pair<HostId, HostId>;

  bool has_news(const crdt::RowsBody& body, const crdt::HostStore& store) const;
  std::vector<HostId> to_ask(Instant now, const crdt::RowsChecked& rows);

  HostId self_;
  std::vector<gossip::AuthorityLink> links_;  ///< Empty: the checker knows them.
  std::map<Asked, Instant> asked_at_;
  std::uint64_t forged_count_ = 0;
  std::uint64_t complained_count_ = 0;  ///< Of them, as of the last alarm.
  Instant complain_at_{};
};

}  // namespace muster::agent
