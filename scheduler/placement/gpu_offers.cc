#include "scheduler/placement/gpu_offers.h"

#include <utility>

namespace muster::scheduler {

void GpuOffers::set(HostNumber host, const std::vector<std::string>& uuids) {
  if (index_of(host) >= of_host_.size()) {
    of_host_.resize(index_of(host) + 1);
  }
  std::vector<std::string>& known = of_host_[index_of(host)];
  if (known == uuids) {
    return;
  }
  for (const std::string& uuid : known) {
    const auto shared = shared_.find(uuid);
    if (shared == shared_.end()) {
      offered_.erase(uuid);
      continue;
    }
    shared->second.erase(host);
    offered_[uuid] = *shared->second.begin();
    if (shared->second.size() == 1) {
      shared_.erase(shared);
    }
  }
  for (const std::string& uuid : uuids) {
    const auto [first, is_new] = offered_.try_emplace(uuid, host);
    if (!is_new) {
      std::set<HostNumber>& hosts = shared_[uuid];
      hosts.insert(first->second);
      hosts.insert(host);
    }
  }
  known = uuids;
}

std::set<HostNumber> GpuOffers::sharers(HostNumber host) const {
  std::set<HostNumber> others;
  if (shared_.empty() || index_of(host) >= of_host_.size()) {
    return others;
  }
  for (const std::string& uuid : of_host_[index_of(host)]) {
    others.insert(several(uuid).begin(), several(uuid).end());
  }
  others.erase(host);
  return others;
}

const std::set<HostNumber>& GpuOffers::several(const std::string& uuid) const {
  static const std::set<HostNumber> kNone;
  const auto shared = shared_.find(uuid);
  return shared == shared_.end() ? kNone : shared->second;
}

}  // namespace muster::scheduler
