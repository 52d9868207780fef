#include "scheduler/state/host_lists.h"

#include <algorithm>

#include "gossip/base/check.h"

namespace muster::scheduler {
namespace {

bool counts(const HostRecord& host) {
  return host.verdict != Verdict::kLeft && !host.is_removed;
}

bool is_awaited(const HostRecord& host) {
  return host.is_reachable() && (host.awaits_hello || !host.unadopted.empty());
}

}  // namespace

void HostLists::put(const HostRecord& host) {
  if (!host.is_reachable()) {
    unreachable_.insert(host.id);
  } else {
    ++names_[host.name];
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
  if (counts(host)) {
    const auto gpus = static_cast<std::uint32_t>(host.gpus.size());
    Gpus& sum = gpus_[host.gpu_type];
    sum.all += gpus;
    sum.with_namespaces += host.has_namespaces ? gpus : 0;
    ++sum.hosts;
  }
}

void HostLists::take(const HostRecord& host) {
  unreachable_.erase(host.id);
  degraded_.erase(host.id);
  drained_.erase(host.id);
  awaited_.erase(host.id);
  if (host.is_reachable()) {
    const auto name = names_.find(host.name);
    CHECK(name != names_.end());
    if (--name->second == 0) {
      names_.erase(name);
    }
  }
  if (counts(host)) {
    const auto gpus = static_cast<std::uint32_t>(host.gpus.size());
    const auto sum = gpus_.find(host.gpu_type);
    CHECK(sum != gpus_.end());
    sum->second.all -= gpus;
    sum->second.with_namespaces -= host.has_namespaces ? gpus : 0;
    if (--sum->second.hosts == 0) {
      gpus_.erase(sum);
    }
  }
}

bool HostLists::is_taken(const std::string& name) const {
  return !name.empty() && names_.contains(name);
}

std::uint32_t HostLists::largest(const std::string& gpu_type, bool is_kept) const {
  std::uint32_t largest = 0;
  for (const auto& [type, gpus] : gpus_) {
    if (gpu_type.empty() || gpu_type == type) {
      largest = std::max(largest, is_kept ? gpus.all : gpus.with_namespaces);
    }
  }
  return largest;
}

std::set<std::string> HostLists::gpu_types() const {
  std::set<std::string> types;
  for (const auto& [type, gpus] : gpus_) {
    if (gpus.all != 0) {
      types.insert(type);
    }
  }
  return types;
}

}  // namespace muster::scheduler
