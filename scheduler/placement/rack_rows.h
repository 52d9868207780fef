#pragma once
// The position of each host among the bits of HostBits: hosts of a rack share rows of 32 positions,
// in the order in which they came. A position is not given twice until all hosts are laid out
// again, so positions follow from the hosts' numbers alone. Owned by CapacityIndex; pure.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/placement/host_bits.h"
#include "scheduler/placement/host_space.h"
#include "scheduler/protocol/request.h"

namespace muster::scheduler {

/// The rack of a host. "" = the host names none.
struct RackName {
  std::string spine;  ///< Racks of one name under different spines are different racks.
  std::string rack;
  auto operator<=>(const RackName&) const = default;
};

class RackRows {
 public:
  /// Precondition: the host is not there yet. Hosts that name no rack share one here.
  std::uint32_t add(HostNumber host, const RackName& name);
  HostNumber host_at(std::uint32_t position) const { return hosts_[position]; }
  std::uint32_t rack_of_row(std::uint32_t row) const { return row_[row].rack; }
  /// The number of the row's rack, or of its spine; nullopt if that has no name.
  std::optional<std::uint32_t> group_of_row(std::uint32_t row, Pack pack) const {
    const Row& its = row_[row];
    return pack == Pack::kSpine ? its.spine : its.named_rack;
  }
  /// Numbers of racks and of spines are below it.
  std::uint32_t groups() const { return racks(); }
  std::uint32_t racks() const { return static_cast<std::uint32_t>(racks_.size()); }
  std::uint32_t rows() const { return static_cast<std::uint32_t>(row_.size()); }

 private:
  struct Rack {
    std::uint32_t number = 0;
    std::uint32_t row = 0;   ///< The last of its rows.
    std::uint32_t used = 0;  ///< Positions of that row.
  };

  struct Row {
    std::uint32_t rack = 0;
    std::optional<std::uint32_t> named_rack;
    std::optional<std::uint32_t> spine;
  };

  std::map<RackName, Rack> racks_;
  std::map<std::string, std::uint32_t> spines_;  ///< Not more than racks.
  std::vector<Row> row_;
  std::vector<HostNumber> hosts_;  ///< By position.
};

}  // namespace muster::scheduler
