#include "scheduler/state/gpu_book.h"

#include "gossip/base/check.h"
#include "scheduler/protocol/mutants.h"

namespace muster::scheduler {

std::vector<Token> GpuBook::tokens_on(const HostId& host) const {
  const auto found = live_on_.find(host);
  if (found == live_on_.end()) {
    return {};
  }
  return {found->second.tokens.begin(), found->second.tokens.end()};
}

HeldAmounts GpuBook::held_on(const HostId& host) const {
  const auto found = live_on_.find(host);
  return found == live_on_.end() ? HeldAmounts() : found->second.amounts;
}

std::vector<std::string> GpuBook::free_on(const HostRecord& host) const {
  std::vector<std::string> free;
  for (const std::string& uuid : host.gpus) {
    if (!is_held(uuid) && host.offers(uuid)) {
      free.push_back(uuid);
    }
  }
  return free;
}

bool GpuBook::is_free_at(const GpuSlot& gpu) const {
  const auto slots = grants_.find(gpu.uuid);
  if (slots == grants_.end()) {
    return true;
  }
  return gpu.slot != 0 && !slots->second.contains(0) && !slots->second.contains(gpu.slot);
}

void GpuBook::grant(const Token& token, const Member& member) {
  OnHost& there = live_on_[member.host];
  if (there.tokens.insert(token).second && !mutant(SchedulerMutant::kAmountsForgotten)) {
    ++there.amounts.grants;
    there.amounts.cpus += member.cpus;
    there.amounts.memory_mb += member.memory_mb;
  }
  for (const GpuSlot& gpu : member.gpus) {
    grants_[gpu.uuid][gpu.slot] = Grant{token, member.host};
  }
}

void GpuBook::free(const Token& token, const Member& member) {
  for (const GpuSlot& gpu : member.gpus) {
    const auto slots = grants_.find(gpu.uuid);
    if (slots != grants_.end()) {
      slots->second.erase(gpu.slot);
      if (slots->second.empty()) {
        grants_.erase(slots);
      }
    }
  }
  const auto there = live_on_.find(member.host);
  if (there != live_on_.end() && there->second.tokens.erase(token) != 0) {
    if (!mutant(SchedulerMutant::kAmountsForgotten)) {
      --there->second.amounts.grants;
      there->second.amounts.cpus -= member.cpus;
      there->second.amounts.memory_mb -= member.memory_mb;
    }
    if (there->second.tokens.empty()) {
      live_on_.erase(there);
    }
  }
}

void GpuBook::check() const {
  for (const auto& [uuid, slots] : grants_) {
    CHECK(!slots.empty());
    CHECK(!slots.contains(0) || slots.size() == 1);
  }
}

}  // namespace muster::scheduler
