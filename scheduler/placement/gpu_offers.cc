#include "scheduler/placement/gpu_offers.h"

#include <algorithm>

namespace muster::scheduler {

void GpuOffers::set(HostNumber host, const std::vector<GpuNumber>& gpus) {
  if (index_of(host) >= of_host_.size()) {
    of_host_.resize(index_of(host) + 1);
  }
  std::vector<GpuNumber>& known = of_host_[index_of(host)];
  if (known == gpus) {
    return;
  }
  for (const GpuNumber gpu : known) {
    const auto shared = shared_.find(gpu);
    if (shared == shared_.end()) {
      offered_[index_of(gpu)].reset();
      continue;
    }
    shared->second.erase(host);
    offered_[index_of(gpu)] = *shared->second.begin();
    if (shared->second.size() == 1) {
      shared_.erase(shared);
    }
  }
  for (const GpuNumber gpu : gpus) {
    if (index_of(gpu) >= offered_.size()) {
      offered_.resize(index_of(gpu) + 1);
    }
    std::optional<HostNumber>& first = offered_[index_of(gpu)];
    if (first.has_value()) {
      std::set<HostNumber>& hosts = shared_[gpu];
      hosts.insert(*first);
      hosts.insert(host);
    } else {
      first = host;
    }
  }
  known = gpus;
}

std::set<HostNumber> GpuOffers::sharers(HostNumber host) const {
  std::set<HostNumber> others;
  if (shared_.empty() || index_of(host) >= of_host_.size()) {
    return others;
  }
  for (const GpuNumber gpu : of_host_[index_of(host)]) {
    others.insert(several(gpu).begin(), several(gpu).end());
  }
  others.erase(host);
  return others;
}

const std::set<HostNumber>& GpuOffers::several(GpuNumber gpu) const {
  static const std::set<HostNumber> kNone;
  const auto shared = shared_.find(gpu);
  return shared == shared_.end() ? kNone : shared->second;
}

}  // namespace muster::scheduler
