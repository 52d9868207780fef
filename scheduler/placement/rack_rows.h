#pragma once
// Where each host stands among the bits of HostBits: hosts of a rack share rows of 32 positions, in
// the order in which they came. Positions are not given twice, except when all of it is laid out
// anew, so they follow from the hosts' numbers alone. Owned by CapacityIndex; pure.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "scheduler/placement/host_bits.h"
#include "scheduler/placement/host_space.h"

namespace muster::scheduler {

class RackRows {
 public:
  /// Precondition: the host is not there yet. "" is a rack of its own: of hosts that name none.
  std::uint32_t add(HostNumber host, const std::string& rack);
  HostNumber host_at(std::uint32_t position) const { return hosts_[position]; }
  std::uint32_t rack_of_row(std::uint32_t row) const { return rack_of_row_[row]; }
  std::uint32_t racks() const { return static_cast<std::uint32_t>(racks_.size()); }
  std::uint32_t rows() const { return static_cast<std::uint32_t>(rack_of_row_.size()); }

 private:
  struct Rack {
    std::uint32_t number = 0;
    std::uint32_t row = 0;   ///< The last of its rows.
    std::uint32_t used = 0;  ///< Positions of that row.
  };

  std::map<std::string, Rack> racks_;
  std::vector<std::uint32_t> rack_of_row_;
  std::vector<HostNumber> hosts_;  ///< By position.
};

}  // namespace muster::scheduler
