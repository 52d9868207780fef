#pragma once
// ObeyedEpoch: the epoch of the quorum that this host obeys: the highest counter it met, and the
// first lineage of that counter. Owned by EpochWatch. The epoch is on disk before the host obeys
// it, so that no restart makes this host listen again to a quorum that was given up.

#include <cstdint>
#include <string_view>

#include "crdt/disk/write_batch.h"
#include "gossip/base/ids.h"

namespace muster::scheduler {

inline constexpr std::string_view kObeyedEpochKey = "epoch";
/// A counter rises by one at each recovery, which is an operator's work. One that is further ahead
/// than this is a wrong number, and to believe it would cost the log. Lower: a host that was off
/// for that many recoveries finds no quorum to obey.
inline constexpr std::uint64_t kEpochLeapMax = 1024;

class ObeyedEpoch {
 public:
  /// `id_records`: Environment::kId. `of_seat`: the epoch of the log in raft/, which a recovery
  /// wrote there first.
  ObeyedEpoch(const crdt::Records& id_records, const ClusterEpoch& of_seat);

  /// The highest epoch met. Every message names it; this host carries on nothing of a lower one.
  const ClusterEpoch& met() const { return met_; }
  /// Messages of a leader or a voter under `epoch` count: it is obeyed, and that is durable.
  bool obeys(const ClusterEpoch& epoch) const { return is_durable_ && epoch == met_; }
  /// True if `epoch` is higher than all before. The caller writes it, then calls persisted().
  bool meet(const ClusterEpoch& epoch);
  bool is_too_far_ahead(const ClusterEpoch& epoch) const {
    return epoch.counter > met_.counter && epoch.counter - met_.counter > kEpochLeapMax;
  }
  /// The same counter under another lineage: two recoveries, of which this host obeys the other.
  bool is_rival(const ClusterEpoch& epoch) const {
    return epoch.counter == met_.counter && epoch.lineage != met_.lineage;
  }
  crdt::Write write() const;
  /// `epoch`, the value of met() at the time of the write, is durable.
  void persisted(const ClusterEpoch& epoch) { is_durable_ = is_durable_ || epoch == met_; }
  bool is_durable() const { return is_durable_; }

 private:
  ClusterEpoch met_;
  bool is_durable_ = true;
};

}  // namespace muster::scheduler
