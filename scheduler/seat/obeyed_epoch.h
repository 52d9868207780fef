#pragma once
// Which epoch of the quorum this host obeys: the highest counter it met, and of that counter the
// first lineage. On disk before anything of it is obeyed, so that no restart makes this host listen
// to a quorum again that was given up. A part of Node.

#include <cstdint>
#include <string_view>

#include "crdt/disk/write_batch.h"
#include "gossip/base/ids.h"

namespace muster::scheduler {

inline constexpr std::string_view kObeyedEpochKey = "epoch";
/// A counter rises by one at each recovery, which is an operator's work: one that is further ahead
/// is no other quorum's but a wrong number, and to believe it would cost the log. Lower: a host
/// that was off for that many recoveries finds nobody to obey.
inline constexpr std::uint64_t kEpochLeapMax = 1024;

class ObeyedEpoch {
 public:
  /// `id_records`: Environment::kId. `of_seat`: the epoch of the log in raft/, which a recovery
  /// wrote there first.
  ObeyedEpoch(const crdt::Records& id_records, const ClusterEpoch& of_seat);

  /// The highest met. Said in every message; nothing of a lower one is carried on.
  const ClusterEpoch& met() const { return met_; }
  /// Words of a leader or a voter under `epoch` count: it is obeyed, and that is durable.
  bool obeys(const ClusterEpoch& epoch) const { return is_durable_ && epoch == met_; }
  /// True when `epoch` is higher than all before: to be written, then persisted().
  bool meet(const ClusterEpoch& epoch);
  bool is_too_far_ahead(const ClusterEpoch& epoch) const {
    return epoch.counter > met_.counter && epoch.counter - met_.counter > kEpochLeapMax;
  }
  /// The same counter under another lineage: two recoveries, of which this host obeys the other.
  bool is_rival(const ClusterEpoch& epoch) const {
    return epoch.counter == met_.counter && epoch.lineage != met_.lineage;
  }
  crdt::Write write() const;
  /// What met() was when it was written is durable.
  void persisted(const ClusterEpoch& epoch) { is_durable_ = is_durable_ || epoch == met_; }
  bool is_durable() const { return is_durable_; }

 private:
  ClusterEpoch met_;
  bool is_durable_ = true;
};

}  // namespace muster::scheduler
