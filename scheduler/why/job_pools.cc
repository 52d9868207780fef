#include "scheduler/why/job_pools.h"

#include <algorithm>
#include <set>
#include <utility>

#include "scheduler/state/charge.h"

namespace muster::scheduler {
namespace {

/// Whether no max of its queues is too small for the job in that pool, whatever ends.
bool may_ever(const State& state, const Job& job, const std::string& pool) {
  const std::uint64_t charge = least_charge_of(job.spec);
  const QueueBook& queues = state.queues();
  for (QueueNumber up = queues.number_of(job.spec.queue); up != kRootQueue;
       up = queues.at(up).parent) {
    for (const auto& [key, amount] : queues.at(up).node.max) {
      const bool counts = pool == kCpuPool ? key == kCpus : key == kAllGpus || key == pool;
      if (counts && amount * kOneCpu < charge) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

std::vector<std::string> pools_for(Capacity& capacity, const Job& job) {
  if (job.spec.request.gpus == 0) {
    return capacity.could_hold(job) ? std::vector{std::string(kCpuPool)}
                                    : std::vector<std::string>();
  }
  std::vector<std::string> pools;
  for (const std::string& type : capacity.gpu_types()) {
    if (capacity.could_hold(job, {&type, 1})) {
      pools.push_back(type);
    }
  }
  return pools;
}

Shape allowed_shape(const State& state, const Capacity& capacity, const Job& job) {
  Shape shape = shape_of(job);
  std::vector<std::string> allowed;
  const std::set<std::string, std::less<>>& all = capacity.gpu_types();
  const std::vector<std::string> wanted =
      shape.types.empty() ? std::vector<std::string>(all.begin(), all.end()) : shape.types;
  for (const std::string& type : wanted) {
    if (may_ever(state, job, type)) {
      allowed.push_back(type);
    }
  }
  if (shape.share != 0 && !allowed.empty() && allowed.size() < wanted.size()) {
    shape.types = std::move(allowed);
  }
  return shape;
}

}  // namespace muster::scheduler
