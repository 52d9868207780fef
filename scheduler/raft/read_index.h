#pragma once
// ReadIndex (thesis 6.4): a read is confirmed when a majority answered a heartbeat round that began
// after the read arrived, with the commit index of that beginning. Any number of reads share one
// round, so a read costs no log entry and, under load, hardly a message.

#include <cstdint>
#include <deque>
#include <vector>

#include "gossip/base/ids.h"

namespace muster::scheduler {

/// The reader may answer once everything up to `index` is applied.
struct ConfirmedRead {
  std::uint64_t context = 0;
  LogIndex index;
  bool operator==(const ConfirmedRead&) const = default;
};

class ReadIndex {
 public:
  /// False when kReadsMax are waiting already.
  bool add(std::uint64_t context);
  /// Some reads wait for a round to begin.
  bool waiting() const { return !waiting_.empty(); }
  /// Precondition: an entry of the leader's own term is committed (8), and `commit` says so.
  void on_round_begun(std::uint64_t round, LogIndex commit);
  /// A majority answered `round`, hence all before it.
  std::vector<ConfirmedRead> on_round_answered(std::uint64_t round);
  /// Leadership is over: everything that waited.
  std::vector<std::uint64_t> take_all();

 private:
  struct Batch {
    std::uint64_t round = 0;
    LogIndex index;
    std::vector<std::uint64_t> contexts;
  };

  std::vector<std::uint64_t> waiting_;
  std::deque<Batch> begun_;
  std::size_t count_ = 0;
};

}  // namespace muster::scheduler
