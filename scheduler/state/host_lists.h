#pragma once
// Indexes over all hosts, for answers without a walk over them. Owned by HostBook, which takes a
// host out before it changes the record, and puts it back; pure.
//
// Invariant: the lists equal those that result from put() of each host, in any order.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "scheduler/state/job_record.h"

namespace muster::scheduler {

class HostLists {
 public:
  void put(const HostRecord& host);
  void take(const HostRecord& host);

  /// Silent, agent down, or left.
  const std::set<HostId>& unreachable() const { return unreachable_; }
  /// Whether no host is unreachable or degraded.
  bool are_all_well() const { return unreachable_.empty() && degraded_.empty(); }
  const std::set<HostId>& drained() const { return drained_; }
  /// Live hosts that have not registered since the epoch began, or that run an attempt that waits
  /// to be adopted.
  const std::set<HostId>& awaited() const { return awaited_; }
  /// Number of hosts of this name that have not left and were not removed.
  std::uint32_t bearers(const std::string& name) const;
  /// GPU types of hosts that have GPUs, have not left and were not removed.
  std::set<std::string> gpu_types() const;
  /// Labels of hosts that have not left and were not removed.
  std::set<std::string> labels() const;
  bool operator==(const HostLists&) const = default;

 private:
  using Counts = std::map<std::string, std::uint32_t>;

  std::set<HostId> unreachable_;
  std::set<HostId> degraded_;
  std::set<HostId> drained_;
  std::set<HostId> awaited_;
  // Numbers of hosts that have not left and were not removed.
  Counts names_;   ///< By name.
  Counts types_;   ///< By GPU type, of hosts with GPUs.
  Counts labels_;  ///< By label.
};

}  // namespace muster::scheduler
