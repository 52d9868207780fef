#pragma once
// What placement reads of a host's record, in its own words: read once when the record changes, so
// that what is held of the host may change without a look at it. Pure.

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
    bool is_usable = true;  ///< Healthy and not quarantined.
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

/// A host as it stands in the indexes.
struct HostSeat {
  HostFacts facts;
  KindNumber kind{};  ///< The same in all of them.
  bool is_barred = false;
};

HostFacts facts_of(const HostRecord& record);
HostKind kind_of(const HostRecord& record);

/// What the host has, whoever holds it; `is_ever`: in whatever state its GPUs are.
HostSpace whole_space(const HostFacts& facts, KindNumber kind, bool is_ever);

}  // namespace muster::scheduler
