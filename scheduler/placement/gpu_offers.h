#pragma once
// Hosts that offer a GPU of the same uuid: after a disk was cloned or a GPU moved, or because a
// simulated GPU has a name that is taken. Owned by Capacity; pure.
//
// Invariant: a host is in sharers() of another if and only if both offer some GPU.

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "scheduler/protocol/host_number.h"
#include "scheduler/state/gpu_book.h"

namespace muster::scheduler {

class GpuOffers {
 public:
  /// The host offers these GPUs and no others. O(its GPUs).
  void set(HostNumber host, const std::vector<GpuNumber>& gpus);
  /// The other hosts that offer one of its GPUs.
  std::set<HostNumber> sharers(HostNumber host) const;
  /// A host that offers it; nullopt if no host does.
  std::optional<HostNumber> first(GpuNumber gpu) const {
    return index_of(gpu) < offered_.size() ? offered_[index_of(gpu)] : std::nullopt;
  }
  /// All hosts that offer it, if there are several; else empty.
  const std::set<HostNumber>& several(GpuNumber gpu) const;
  bool is_any_shared() const { return !shared_.empty(); }

 private:
  std::vector<std::vector<GpuNumber>> of_host_;     ///< By number.
  std::vector<std::optional<HostNumber>> offered_;  ///< By GPU: a host that offers it.
  std::map<GpuNumber, std::set<HostNumber>> shared_;
};

}  // namespace muster::scheduler
