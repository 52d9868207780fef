#pragma once
// The kinds of hosts that were met, each with a number. Owned by CapacityIndex; pure. A kind is
// never forgotten: a host changes its kind only when it registers otherwise than before.

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
  /// GPU types are numbered from 0, as they were met.
  std::uint32_t type(KindNumber number) const { return kinds_[index_of(number)].type; }
  /// Of what the kind is: the same wherever it is met, whatever its number.
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
