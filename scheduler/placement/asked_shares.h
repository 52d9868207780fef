#pragma once
// The shares of hosts that a leader asked the log for and that are not settled yet: no other job
// gets their GPUs, CPUs and memory meanwhile. Owned by Capacity; pure.
//
// Invariant: a GPU is taken, and a host's amounts count, exactly while some job's share says so.

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "scheduler/protocol/host_number.h"
#include "scheduler/protocol/job.h"
#include "scheduler/state/gpu_book.h"

namespace muster::scheduler {

/// The share of one host.
struct AskedShare {
  HostNumber host{};
  std::vector<GpuNumber> gpus;
  std::uint64_t cpus = 0;  ///< Thousandths.
  std::uint64_t memory_mb = 0;
};

class AskedShares {
 public:
  /// Precondition: the job has no shares here, and no job asked for one of these GPUs.
  void add(JobId job, std::vector<AskedShare> shares);
  /// The shares that this frees; empty if the job had no shares here.
  std::vector<AskedShare> remove(JobId job);

  bool is_taken(GpuNumber gpu) const {
    return index_of(gpu) < gpus_.size() && gpus_[index_of(gpu)];
  }
  HeldAmounts on(HostNumber host) const {
    return index_of(host) < hosts_.size() ? hosts_[index_of(host)] : HeldAmounts();
  }
  std::vector<JobId> jobs() const;
  std::size_t size() const { return shares_.size(); }

 private:
  std::map<JobId, std::vector<AskedShare>> shares_;
  std::vector<bool> gpus_;          ///< By number.
  std::vector<HeldAmounts> hosts_;  ///< By number.
};

}  // namespace muster::scheduler
