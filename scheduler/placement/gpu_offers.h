#pragma once
// Which hosts offer a GPU of the same uuid: a cloned disk, a GPU that moved, a simulated one whose
// name is taken. Owned by Capacity; pure.
//
// Invariant: a host is in sharers() of another if and only if both offer some uuid.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "scheduler/placement/host_space.h"

namespace muster::scheduler {

class GpuOffers {
 public:
  /// The host offers these and no others. O(1) when nothing changed, but for the comparison.
  void set(HostNumber host, const std::vector<std::string>& uuids);
  /// The other hosts that offer one of its GPUs.
  std::set<HostNumber> sharers(HostNumber host) const;
  /// Of the hosts that offer it, if there are several; else empty.
  const std::set<HostNumber>& several(const std::string& uuid) const;
  bool is_any_shared() const { return !shared_.empty(); }

 private:
  std::vector<std::vector<std::string>> of_host_;  ///< By number.
  std::map<std::string, HostNumber> offered_;      ///< The host that offered it first.
  std::map<std::string, std::set<HostNumber>> shared_;
};

}  // namespace muster::scheduler
