#include "scheduler/placement/placement.h"

#include <algorithm>

namespace muster::scheduler {

FreeGpus::FreeGpus(const State& state, const std::set<HostId>& excluded) {
  std::set<std::string> seen;
  for (const auto& [id, record] : state.hosts()) {
    if (!record.takes_work() || excluded.count(id) != 0) {
      continue;
    }
    if (!record.has_namespaces) {
      without_namespaces_.insert(id);
    }
    Host host{id, record.start, {}};
    for (std::string& uuid : state.free_gpus(record)) {
      if (seen.insert(uuid).second) {
        host.gpus.push_back(std::move(uuid));
      }
    }
    if (!host.gpus.empty()) {
      types_[record.gpu_type][id] = std::move(host);
    }
  }
}

LiveGpus::LiveGpus(const State& state) {
  for (const auto& [id, record] : state.hosts()) {
    if (!record.is_up()) {
      continue;
    }
    const bool is_whole = record.unhealthy_gpus.empty() && record.quarantined.empty();
    const auto gpus = static_cast<std::uint32_t>(
        is_whole ? static_cast<std::ptrdiff_t>(record.gpus.size())
                 : std::count_if(record.gpus.begin(), record.gpus.end(),
                                 [&](const std::string& uuid) { return record.offers(uuid); }));
    Count& count = types_[record.gpu_type];
    count.all += gpus;
    count.with_namespaces += record.has_namespaces ? gpus : 0;
  }
}

std::uint32_t LiveGpus::largest(const JobSpec& spec) const {
  std::uint32_t most = 0;
  for (const auto& [type, count] : types_) {
    if (spec.gpu_type.empty() || spec.gpu_type == type) {
      most = std::max(most, spec.keep_when_isolated ? count.all : count.with_namespaces);
    }
  }
  return most;
}

std::uint32_t FreeGpus::count(const std::string& type, const std::set<HostId>& without) const {
  const auto hosts = types_.find(type);
  std::uint32_t sum = 0;
  if (hosts != types_.end()) {
    for (const auto& [id, host] : hosts->second) {
      sum += without.count(id) == 0 ? static_cast<std::uint32_t>(host.gpus.size()) : 0;
    }
  }
  return sum;
}

std::set<HostId> barred_hosts(const FreeGpus& free, const Job& job) {
  std::set<HostId> hosts;
  if (!job.spec.keep_when_isolated) {
    hosts = free.without_namespaces();
  }
  for (const LeftOut& left_out : job.left_out) {
    hosts.insert(left_out.host);
  }
  return hosts;
}

Duration hold_of(const JobSpec& spec, std::size_t host_count) {
  if (spec.hold > Duration::zero()) {
    return spec.hold;
  }
  return host_count > 1 ? kHoldGang : kHoldOneHost;
}

}  // namespace muster::scheduler
