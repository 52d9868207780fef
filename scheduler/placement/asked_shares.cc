#include "scheduler/placement/asked_shares.h"

#include <algorithm>
#include <utility>

namespace muster::scheduler {

void AskedShares::add(JobId job, std::vector<AskedShare> shares) {
  for (const AskedShare& share : shares) {
    for (const GpuNumber gpu : share.gpus) {
      gpus_.resize(std::max<std::size_t>(gpus_.size(), index_of(gpu) + 1));
      gpus_[index_of(gpu)] = true;
    }
    hosts_.resize(std::max<std::size_t>(hosts_.size(), index_of(share.host) + 1));
    HeldAmounts& amounts = hosts_[index_of(share.host)];
    ++amounts.members;
    amounts.cpus += share.cpus;
    amounts.memory_mb += share.memory_mb;
  }
  shares_.emplace(job, std::move(shares));
}

std::vector<AskedShare> AskedShares::remove(JobId job) {
  auto asked = shares_.extract(job);
  if (asked.empty()) {
    return {};
  }
  for (const AskedShare& share : asked.mapped()) {
    for (const GpuNumber gpu : share.gpus) {
      gpus_[index_of(gpu)] = false;
    }
    HeldAmounts& amounts = hosts_[index_of(share.host)];
    --amounts.members;
    amounts.cpus -= share.cpus;
    amounts.memory_mb -= share.memory_mb;
  }
  return std::move(asked.mapped());
}

std::vector<JobId> AskedShares::jobs() const {
  std::vector<JobId> jobs;
  jobs.reserve(shares_.size());
  for (const auto& [job, shares] : shares_) {
    jobs.push_back(job);
  }
  return jobs;
}

}  // namespace muster::scheduler
