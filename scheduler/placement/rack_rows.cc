#include "scheduler/placement/rack_rows.h"

namespace muster::scheduler {

std::uint32_t RackRows::add(HostNumber host, const std::string& rack) {
  const auto number = static_cast<std::uint32_t>(racks_.size());
  const auto [place, is_new] = racks_.try_emplace(rack, Rack{number, 0, kRowBits});
  Rack& its = place->second;
  if (its.used == kRowBits) {
    its.row = rows();
    its.used = 0;
    rack_of_row_.push_back(its.number);
    hosts_.resize(hosts_.size() + kRowBits);
  }
  const std::uint32_t position = its.row * kRowBits + its.used++;
  hosts_[position] = host;
  return position;
}

}  // namespace muster::scheduler
