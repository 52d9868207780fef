#pragma once
// What a leader asked the log for and what is not settled yet: GPUs, CPUs and memory that are free
// for nobody meanwhile. Owned by Capacity; pure.
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

/// Of one host.
struct AskedShare {
  HostNumber host{};
  std::vector<GpuNumber> gpus;
  std::uint64_t cpus = 0;  ///< Thousandths.
  std::uint64_t memory_mb = 0;
};

class AskedShares {
 public:
  /// Precondition: nothing is asked for the job, and nobody asked for one of these GPUs.
  void add(JobId job, std::vector<AskedShare> shares);
  /// What is free again by that; nothing when nothing was asked for it.
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
