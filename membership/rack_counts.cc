#include "membership/rack_counts.h"

#include <algorithm>

#include "gossip/base/check.h"

namespace muster::membership {

void RackCounts::change(const std::string& name, const RackChange& by) {
  Rack& rack = racks_[name];
  lost_ -= rack.is_lost() ? 1U : 0U;
  striking_ -= rack.striking > 0 ? 1U : 0U;
  rack.hosts += by.hosts;
  rack.silent += by.silent;
  rack.striking += by.striking;
  CHECK(rack.hosts >= 0 && rack.silent >= 0 && rack.striking >= 0);
  lost_ += rack.is_lost() ? 1U : 0U;
  striking_ += rack.striking > 0 ? 1U : 0U;
  if (rack.hosts == 0 && rack.silent == 0) {
    racks_.erase(name);
  }
}

std::optional<std::string> RackCounts::only_striking() const {
  if (striking_ != 1) {
    return std::nullopt;
  }
  const auto found = std::find_if(racks_.begin(), racks_.end(),
                                  [](const auto& rack) { return rack.second.striking > 0; });
  return found->first;
}

}  // namespace muster::membership
