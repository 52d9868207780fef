#include "agent/hardware/gpu_islands.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

namespace muster::agent {
namespace {

/// Groups of positions that are joined pair by pair.
class IslandGroups {
 public:
  explicit IslandGroups(std::size_t count) : heads_(count) {
    std::iota(heads_.begin(), heads_.end(), std::size_t{0});
  }
  void join(std::size_t a, std::size_t b) {
    const std::size_t from = heads_[std::max(a, b)];
    const std::size_t to = heads_[std::min(a, b)];
    std::replace(heads_.begin(), heads_.end(), from, to);
    is_joined_ = is_joined_ || a != b;
  }
  bool is_joined() const { return is_joined_; }
  std::vector<std::uint32_t> numbers() const {
    std::map<std::size_t, std::uint32_t> known;
    std::vector<std::uint32_t> numbers;
    for (const std::size_t head : heads_) {
      numbers.push_back(
          known.try_emplace(head, static_cast<std::uint32_t>(known.size())).first->second);
    }
    return known.size() > 1 ? numbers : std::vector<std::uint32_t>{};
  }

 private:
  std::vector<std::size_t> heads_;
  bool is_joined_ = false;
};

std::optional<std::size_t> position_of(const std::vector<std::uint32_t>& chosen,
                                       std::uint32_t index) {
  const auto found = std::find(chosen.begin(), chosen.end(), index);
  return found == chosen.end() ? std::nullopt
                               : std::optional(static_cast<std::size_t>(found - chosen.begin()));
}

template <class IsNear>
IslandGroups joined_by(const MachineReading& reading, const std::vector<std::uint32_t>& chosen,
                       IsNear is_near) {
  IslandGroups groups(chosen.size());
  for (std::size_t at = 0; at < chosen.size(); ++at) {
    for (const GpuPeer& peer : reading.gpus[chosen[at]].peers) {
      const auto other = position_of(chosen, peer.index);
      if (other.has_value() && is_near(peer)) {
        groups.join(at, *other);
      }
    }
  }
  return groups;
}

/// All GPUs with links to NVSwitches reach each other.
void join_switched(const MachineReading& reading, const std::vector<std::uint32_t>& chosen,
                   IslandGroups& groups) {
  std::optional<std::size_t> first;
  for (std::size_t at = 0; at < chosen.size(); ++at) {
    if (reading.gpus[chosen[at]].switch_nvlinks > 0) {
      first = first.value_or(at);
      groups.join(*first, at);
    }
  }
}

std::vector<std::uint32_t> by_node(const MachineReading& reading,
                                   const std::vector<std::uint32_t>& chosen) {
  IslandGroups groups(chosen.size());
  std::map<std::uint32_t, std::size_t> first;
  for (std::size_t at = 0; at < chosen.size(); ++at) {
    const std::optional<std::uint32_t>& node = reading.gpus[chosen[at]].numa_node;
    if (!node.has_value()) {
      return {};
    }
    groups.join(first.try_emplace(*node, at).first->second, at);
  }
  return groups.numbers();
}

}  // namespace

std::vector<std::uint32_t> islands_of(const MachineReading& reading,
                                      const std::vector<std::uint32_t>& chosen) {
  IslandGroups linked =
      joined_by(reading, chosen, [](const GpuPeer& peer) { return peer.nvlinks > 0; });
  join_switched(reading, chosen, linked);
  if (linked.is_joined()) {
    return linked.numbers();
  }
  const IslandGroups switched = joined_by(reading, chosen, [](const GpuPeer& peer) {
    return peer.ancestor.has_value() && *peer.ancestor <= PciAncestor::kOneSwitch;
  });
  return switched.is_joined() ? switched.numbers() : by_node(reading, chosen);
}

}  // namespace muster::agent
