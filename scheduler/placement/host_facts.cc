#include "scheduler/placement/host_facts.h"

#include <algorithm>
#include <functional>

namespace muster::scheduler {

HostFacts facts_of(const HostRecord& record) {
  HostFacts facts;
  facts.id = record.id;
  facts.rack = {record.traits.spine, record.traits.rack};
  facts.cpus = std::uint64_t{record.cpus} * kOneCpu;
  facts.memory_mb = record.memory_mb;
  facts.takes_work = record.takes_work();
  facts.is_up = record.is_up();
  facts.is_gone = record.verdict == Verdict::kLeft || record.is_removed;
  const bool are_all =
      record.unhealthy_gpus.empty() && record.quarantined.empty() && record.gpu_orders.empty();
  facts.gpus.reserve(record.gpus.size());
  for (std::size_t i = 0; i < record.gpus.size(); ++i) {
    const std::uint32_t island = record.traits.islands.empty() ? 0 : record.traits.islands[i];
    facts.gpus.push_back(
        {static_cast<std::uint8_t>(island), are_all || record.is_usable(record.gpus[i])});
  }
  return facts;
}

HostKind kind_of(const HostRecord& record) {
  HostKind kind;
  kind.gpu_type = folded(record.gpu_type);
  kind.labels = record.traits.labels;
  kind.has_namespaces = record.has_namespaces;
  if (const std::size_t gpus = record.gpus.size(); gpus != 0) {
    kind.cpus_a_gpu = static_cast<std::uint32_t>(std::uint64_t{record.cpus} * kOneCpu / gpus);
    kind.memory_mb_a_gpu = record.memory_mb / gpus;
  }
  if (record.cpus != 0) {
    kind.cpus_a_rank = kOneCpu;
    kind.memory_mb_a_rank = record.memory_mb / record.cpus;
  }
  return kind;
}

HostSpace whole_space(const HostFacts& facts, KindNumber kind, bool is_ever) {
  HostSpace space;
  space.kind = kind;
  for (const HostFacts::Gpu& gpu : facts.gpus) {
    if (is_ever || gpu.is_usable) {
      ++space.islands[gpu.island];
    }
  }
  std::sort(space.islands.begin(), space.islands.end(), std::greater<>());
  space.cpus = static_cast<std::uint32_t>(facts.cpus);
  space.memory_mb = facts.memory_mb;
  return space;
}

}  // namespace muster::scheduler
