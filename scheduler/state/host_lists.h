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
  /// Some reachable host has this name.
  bool is_taken(const std::string& name) const;
  /// The GPUs of the best single type, or of the type named, that hosts which have not left have
  /// together, healthy or not. `is_kept`: hosts without PID namespaces count.
  std::uint32_t largest(const std::string& gpu_type, bool is_kept) const;
  /// Of hosts that have not left and have GPUs.
  std::set<std::string> gpu_types() const;
  bool operator==(const HostLists&) const = default;

 private:
  struct Gpus {
    std::uint32_t all = 0;
    std::uint32_t with_namespaces = 0;
    std::uint32_t hosts = 0;
    bool operator==(const Gpus&) const = default;
  };

  std::set<HostId> unreachable_;
  std::set<HostId> degraded_;
  std::set<HostId> drained_;
  std::set<HostId> awaited_;
  std::map<std::string, std::uint32_t> names_;  ///< Of reachable hosts, how many bear it.
  std::map<std::string, Gpus> gpus_;
};

}  // namespace muster::scheduler
