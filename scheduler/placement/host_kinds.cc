#include "scheduler/placement/host_kinds.h"

#include <xxhash.h>

#include <string>

namespace muster::scheduler {
namespace {

std::uint64_t hash_of(const HostKind& kind) {
  std::string text = kind.gpu_type;
  text += '\0';
  for (const std::string& label : kind.labels) {
    text += label;
    text += '\0';
  }
  text += kind.has_namespaces ? '1' : '0';
  text += std::to_string(kind.cpus_a_gpu) + "/" + std::to_string(kind.memory_mb_a_gpu);
  text += "/" + std::to_string(kind.cpus_a_rank) + "/" + std::to_string(kind.memory_mb_a_rank);
  return XXH3_64bits(text.data(), text.size());
}

}  // namespace

KindNumber HostKinds::number_of(const HostKind& kind) {
  const auto [place, is_new] = numbers_.try_emplace(kind, static_cast<KindNumber>(kinds_.size()));
  if (is_new) {
    const auto next_type = static_cast<std::uint32_t>(types_.size());
    const std::uint32_t type = types_.try_emplace(kind.gpu_type, next_type).first->second;
    kinds_.push_back({&place->first, type, hash_of(kind)});
  }
  return place->second;
}

}  // namespace muster::scheduler
