#pragma once
// The facts of a host's record that placement reads. They are read when the record changes, so that
// a change of what is held of the host needs no look at the record. Pure.

#include <cstdint>
#include <vector>

#include "scheduler/placement/host_space.h"
#include "scheduler/placement/rack_rows.h"
#include "scheduler/state/job_record.h"

namespace muster::scheduler {

struct HostFacts {
  /// One GPU, in the agent's order.
  struct Gpu {
    std::uint8_t island = 0;
    bool is_usable = true;  ///< HostRecord::is_usable()
    bool operator==(const Gpu&) const = default;
  };

  HostId id;
  RackName rack;
  std::vector<Gpu> gpus;
  std::uint64_t cpus = 0;  ///< Thousandths.
  std::uint64_t memory_mb = 0;
  bool takes_work = false;
  bool is_up = false;
  bool is_gone = false;  ///< It left, or was removed.
  bool operator==(const HostFacts&) const = default;
};

/// A host of the indexes.
struct HostSeat {
  HostFacts facts;
  KindNumber kind{};  ///< The same in all indexes.
  bool is_barred = false;
};

HostFacts facts_of(const HostRecord& record);
HostKind kind_of(const HostRecord& record);

/// The space of the host if nothing were held; `is_ever`: including GPUs that are not usable.
HostSpace whole_space(const HostFacts& facts, KindNumber kind, bool is_ever);

}  // namespace muster::scheduler
