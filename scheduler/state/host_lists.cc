#include "scheduler/state/host_lists.h"

#include <algorithm>

#include "gossip/base/check.h"

namespace muster::scheduler {
namespace {

bool is_awaited(const HostRecord& host) {
  return host.is_reachable() && (host.recovery.awaits_hello || !host.recovery.unadopted.empty());
}

void drop_one(std::map<std::string, std::uint32_t>& counts, const std::string& key) {
  const auto known = counts.find(key);
  CHECK(known != counts.end());
  if (--known->second == 0) {
    counts.erase(known);
  }
}

std::set<std::string> keys_of(const std::map<std::string, std::uint32_t>& counts) {
  std::set<std::string> keys;
  for (const auto& [key, count] : counts) {
    keys.insert(key);
  }
  return keys;
}

}  // namespace

void HostLists::put(const HostRecord& host) {
  if (!host.is_reachable()) {
    unreachable_.insert(host.id);
  }
  if (host.health == Health::kDegraded) {
    degraded_.insert(host.id);
  }
  if (host.drain.has_value()) {
    drained_.insert(host.id);
  }
  if (is_awaited(host)) {
    awaited_.insert(host.id);
  }
  if (host.keeps_name()) {
    ++names_[host.name];
    if (!host.gpus.empty()) {
      ++types_[host.gpu_type];
    }
    for (const std::string& label : host.traits.labels) {
      ++labels_[label];
    }
  }
}

void HostLists::take(const HostRecord& host) {
  unreachable_.erase(host.id);
  degraded_.erase(host.id);
  drained_.erase(host.id);
  awaited_.erase(host.id);
  if (host.keeps_name()) {
    drop_one(names_, host.name);
    if (!host.gpus.empty()) {
      drop_one(types_, host.gpu_type);
    }
    for (const std::string& label : host.traits.labels) {
      drop_one(labels_, label);
    }
  }
}

std::uint32_t HostLists::bearers(const std::string& name) const {
  const auto known = names_.find(name);
  return name.empty() || known == names_.end() ? 0 : known->second;
}

std::set<std::string> HostLists::gpu_types() const {
  return keys_of(types_);
}

std::set<std::string> HostLists::labels() const {
  return keys_of(labels_);
}

}  // namespace muster::scheduler
