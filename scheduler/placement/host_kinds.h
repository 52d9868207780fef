#pragma once
// The kinds of hosts so far, each with a number. Owned by CapacityIndex; pure. A kind is never
// forgotten: a host changes its kind only when it registers with other traits.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "scheduler/placement/host_space.h"

namespace muster::scheduler {

class HostKinds {
 public:
  KindNumber number_of(const HostKind& kind);
  const HostKind& at(KindNumber number) const { return *kinds_[index_of(number)].kind; }
  /// The number of the kind's GPU type: from 0, in the order of their first kinds.
  std::uint32_t type(KindNumber number) const { return kinds_[index_of(number)].type; }
  /// A hash of the kind's content: independent of its number.
  std::uint64_t hash(KindNumber number) const { return kinds_[index_of(number)].hash; }
  std::size_t size() const { return kinds_.size(); }

 private:
  struct Known {
    const HostKind* kind = nullptr;  ///< In `numbers_`.
    std::uint32_t type = 0;
    std::uint64_t hash = 0;
  };

  std::map<HostKind, KindNumber> numbers_;
  std::map<std::string, std::uint32_t> types_;
  std::vector<Known> kinds_;
};

}  // namespace muster::scheduler
