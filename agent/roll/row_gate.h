#pragma once
// RowGate has rows checked before they enter the store. Most messages are copies of rows that the
// store holds, and pass. A message with news goes to the edge, which checks its signatures, and
// comes back whole: the questions in it are about the rows that the store holds then. Owned by
// RollKeeper.

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

  /// Checks rows that this host has from its join, each by itself, as if they had just arrived.
  void begin(const std::vector<crdt::RowOf>& rows, const Roll& roll, const crdt::HostStore& store,
             Outbox& outbox) const;
  /// False if `body` is not a RowsBody.
  bool on_rows(Instant now, HostId from, gossip::Reader body, const Roll& roll,
               Departure& departure, crdt::HostStore& store, Outbox& outbox) const;
  /// Goes on with a checked message, on the connection that it came in on. Counts forged fields,
  /// with at most one alarm in kComplainAgain. Asks for the rows that could not be checked.
  void on_checked(Instant now, crdt::RowsChecked rows, Departure& departure, crdt::HostStore& store,
                  Outbox& outbox);
  /// The authorities that are known here. RowGate sends them with each check until the checker
  /// knows them.
  void tell_authorities(std::vector<gossip::AuthorityLink> links) { links_ = std::move(links); }
  /// Fields since the start that their owners had not signed.
  std::uint64_t forged_count() const { return forged_count_; }

 private:
  /// Time between two questions to a host for one row. Lower: a host that has the row without its
  /// key is asked all the time.
  static constexpr Duration kAskAgain = std::chrono::seconds(5);
  static constexpr std::size_t kAskedMax = 1024;  ///< Questions kept; the oldest gives way.
  static constexpr Duration kComplainAgain = std::chrono::seconds(10);
  /// The host that was asked, and the host of the row.
  using Asked = std::pair<HostId, HostId>;

  bool has_news(const crdt::RowsBody& body, const crdt::HostStore& store) const;
  void check(HostId from, crdt::RowsBody body, const Roll& roll, Outbox& outbox) const;
  std::vector<HostId> to_ask(Instant now, const crdt::RowsChecked& rows);

  HostId self_;
  std::vector<gossip::AuthorityLink> links_;  ///< Empty if the checker knows them.
  std::map<Asked, Instant> asked_at_;
  std::uint64_t forged_count_ = 0;
  std::uint64_t complained_count_ = 0;  ///< forged_count_ at the last alarm.
  Instant complain_at_{};
};

}  // namespace muster::agent
