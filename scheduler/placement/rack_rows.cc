#include "scheduler/placement/rack_rows.h"

namespace muster::scheduler {

std::uint32_t RackRows::add(HostNumber host, const RackName& name) {
  const auto number = static_cast<std::uint32_t>(racks_.size());
  const auto [place, is_new] = racks_.try_emplace(name, Rack{number, 0, kRowBits});
  Rack& its = place->second;
  if (its.used == kRowBits) {
    its.row = rows();
    its.used = 0;
    Row row{its.number, std::nullopt, std::nullopt};
    if (!name.rack.empty()) {
      row.named_rack = its.number;
    }
    if (!name.spine.empty()) {
      row.spine =
          spines_.try_emplace(name.spine, static_cast<std::uint32_t>(spines_.size())).first->second;
    }
    row_.push_back(row);
    hosts_.resize(hosts_.size() + kRowBits);
  }
  const std::uint32_t position = its.row * kRowBits + its.used++;
  hosts_[position] = host;
  return position;
}

}  // namespace muster::scheduler
