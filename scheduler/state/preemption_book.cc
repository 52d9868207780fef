#include "scheduler/state/preemption_book.h"

#include <utility>

#include "gossip/base/check.h"

namespace muster::scheduler {

const Preemption* PreemptionBook::find(JobId job) const {
  const auto found = preemptions_.find(job);
  return found == preemptions_.end() ? nullptr : &found->second;
}

const Preemption* PreemptionBook::of_victim(const Token& token) const {
  const auto found = victims_.find(token);
  return found == victims_.end() ? nullptr : &preemptions_.at(found->second);
}

const std::set<JobId>& PreemptionBook::on(const HostId& host) const {
  static const std::set<JobId> kNobody;
  const auto found = hosts_.find(host);
  return found == hosts_.end() ? kNobody : found->second;
}

void PreemptionBook::add(Preemption preemption) {
  for (const Token& victim : preemption.victims) {
    const bool is_new = victims_.emplace(victim, preemption.job).second;
    CHECK(is_new);
  }
  for (const Member& member : preemption.members) {
    hosts_[member.host].insert(preemption.job);
  }
  const JobId job = preemption.job;
  const bool is_new = preemptions_.emplace(job, std::move(preemption)).second;
  CHECK(is_new);
}

Preemption PreemptionBook::take(JobId job) {
  const auto found = preemptions_.find(job);
  CHECK(found != preemptions_.end());
  Preemption taken = std::move(found->second);
  preemptions_.erase(found);
  for (const Token& victim : taken.victims) {
    victims_.erase(victim);
  }
  for (const Member& member : taken.members) {
    const auto there = hosts_.find(member.host);
    there->second.erase(job);
    if (there->second.empty()) {
      hosts_.erase(there);
    }
  }
  return taken;
}

void PreemptionBook::victim_over(const Token& token) {
  if (const auto found = victims_.find(token); found != victims_.end()) {
    preemptions_.at(found->second).victims.erase(token);
    victims_.erase(found);
  }
}

}  // namespace muster::scheduler
