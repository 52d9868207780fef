#pragma once
// What is asked of all hosts, without a walk over them. Owned by HostBook, which takes a host out
// before it changes its record and puts it back; pure.
//
// Invariant: it is what it would be if the hosts were put in one after the other.

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
  /// Nobody is unreachable or degraded.
  bool are_all_well() const { return unreachable_.empty() && degraded_.empty(); }
  const std::set<HostId>& drained() const { return drained_; }
  /// Hosts that live and have not said yet, since the epoch began, what they run, or run something
  /// that waits to be adopted.
  const std::set<HostId>& awaited() const { return awaited_; }
  /// So many hosts bear this name that have not left and were not removed.
  std::uint32_t bearers(const std::string& name) const;
  /// Of hosts that have not left and have GPUs.
  std::set<std::string> gpu_types() const;
  /// Of hosts that have not left.
  std::set<std::string> labels() const;
  bool operator==(const HostLists&) const = default;

 private:
  using Counts = std::map<std::string, std::uint32_t>;

  std::set<HostId> unreachable_;
  std::set<HostId> degraded_;
  std::set<HostId> drained_;
  std::set<HostId> awaited_;
  Counts names_;   ///< Of hosts that have not left, how many bear it.
  Counts types_;   ///< Of hosts that have not left, how many have GPUs of it.
  Counts labels_;  ///< The same of labels.
};

}  // namespace muster::scheduler
