#include "agent/gang/stuck_gpus.h"

#include <utility>

#include "gossip/base/check.h"
#include "scheduler/protocol/mutants.h"

namespace muster::agent {

void StuckGpus::add_orphan(Instant now, Token token, GangOutbox& out) {
  out.command(Terminate{token, Duration(0), "orphan"});
  if (stuck_orphans_.contains(token)) {
    return;
  }
  orphans_.insert(token);
  orphans_until_ = std::min(orphans_until_, now + patience_);
  recheck_at_ = std::min(recheck_at_, now + recheck_);
  out.emit(Severity::kWarn, "orphan_supervisor", token);
}

std::optional<std::vector<std::string>> StuckGpus::forget_orphan(Token token) {
  std::optional<std::vector<std::string>> held;
  if (orphans_.erase(token) > 0) {
    held.emplace();
  }
  if (auto stuck = stuck_orphans_.extract(token)) {
    held = std::move(stuck.mapped());
  }
  return held;
}

bool StuckGpus::is_orphans_gpu(const std::string& uuid) const {
  return std::any_of(stuck_orphans_.begin(), stuck_orphans_.end(), [&](const auto& entry) {
    const std::vector<std::string>& held = entry.second;
    return std::find(held.begin(), held.end(), uuid) != held.end();
  });
}

void StuckGpus::add_dirty(Instant now, const std::string& uuid, Token token, GangOutbox& out) {
  if (mutant(scheduler::SchedulerMutant::kDirtyOffered)) {
    return;
  }
  Dirty& dirty = dirty_[uuid];
  dirty = {token == Token() ? dirty.token : token, false};
  const auto place = std::lower_bound(withheld_.begin(), withheld_.end(), uuid);
  if (place == withheld_.end() || *place != uuid) {
    withheld_.insert(place, uuid);
  }
  recheck_at_ = std::min(recheck_at_, now + recheck_);
  out.clean({uuid, dirty.token});
}

void StuckGpus::on_cleaned(const std::string& uuid) {
  if (const auto found = dirty_.find(uuid); found != dirty_.end()) {
    found->second.is_clean = true;
  }
}

bool StuckGpus::is_dirty(const std::string& uuid) const {
  const auto found = dirty_.find(uuid);
  return found != dirty_.end() && !found->second.is_clean;
}

std::set<std::string> StuckGpus::dirty() const {
  std::set<std::string> uuids;
  for (const auto& [uuid, dirty] : dirty_) {
    if (!dirty.is_clean) {
      uuids.insert(uuid);
    }
  }
  return uuids;
}

void StuckGpus::forget_clean(const Grants& grants) {
  cleaned_.clear();
  std::erase_if(dirty_, [&](const auto& entry) {
    const bool is_over = entry.second.is_clean && grants.find(entry.second.token) == nullptr;
    if (is_over) {
      cleaned_.insert(entry.first);
    }
    return is_over;
  });
}

void StuckGpus::give_up_orphans(Instant now, const Grants& grants,
                                const std::vector<std::string>& all_gpus, GangOutbox& out) {
  if (now < orphans_until_) {
    return;
  }
  orphans_until_ = kNever;
  for (const Token token : std::exchange(orphans_, {})) {
    std::vector<std::string> held = all_gpus;
    if (const Grant* grant = grants.find(token); grant != nullptr) {
      held.clear();
      for (const scheduler::GpuSlot& place : grants.member_of(*grant).gpus) {
        held.push_back(place.uuid.text());
      }
    }
    stuck_orphans_[token] = std::move(held);
    out.emit(Severity::kAlarm, "orphan_stuck", token);
  }
}

/// The look is repeated: a supervisor that was not reached, or an observation that crossed our
/// hello in the leader's log, must not keep GPUs out of use until the next boot.
bool StuckGpus::watch(Instant now, const Grants& grants, GangOutbox& out) {
  forget_clean(grants);
  std::vector<std::string> stuck = uuids(grants);
  if (stuck == withheld_) {
    if (now < recheck_at_) {
      return false;
    }
    kill_again(grants, out);
    const bool is_clean = withheld_.empty() && orphans_.empty();
    recheck_at_ = is_clean ? kNever : now + recheck_;
    return true;
  }
  tell_changes(stuck, out);
  withheld_ = std::move(stuck);
  recheck_at_ = now + recheck_;
  return true;
}

void StuckGpus::check_invariants() const {
  CHECK(orphans_.empty() || orphans_until_ != kNever);
  CHECK(withheld_.empty() || recheck_at_ != kNever);
  for (const auto& [uuid, dirty] : dirty_) {
    CHECK(std::binary_search(withheld_.begin(), withheld_.end(), uuid));
  }
  for (const Token token : orphans_) {
    CHECK(!stuck_orphans_.contains(token));
  }
}

std::vector<std::string> StuckGpus::uuids(const Grants& grants) const {
  std::set<std::string> uuids;
  for (const auto& [token, grant] : grants.all()) {
    if (!grant.is_out_of_hand() || !grant.has_ranks()) {
      continue;
    }
    for (const scheduler::GpuSlot& place : grants.member_of(grant).gpus) {
      uuids.insert(place.uuid.text());
    }
  }
  for (const auto& [token, held] : stuck_orphans_) {
    uuids.insert(held.begin(), held.end());
  }
  for (const auto& [uuid, dirty] : dirty_) {
    uuids.insert(uuid);
  }
  return {uuids.begin(), uuids.end()};
}

/// A GPU after a grant is looked at as a matter of course: Cleanliness tells what it finds.
void StuckGpus::tell_changes(const std::vector<std::string>& stuck, GangOutbox& out) const {
  for (const std::string& uuid : withheld_) {
    const bool is_of_course = cleaned_.contains(uuid);
    if (!is_of_course && !std::binary_search(stuck.begin(), stuck.end(), uuid)) {
      out.emit(Severity::kInfo, "gpu_offered_again", {}, uuid);
    }
  }
  for (const std::string& uuid : stuck) {
    if (!std::binary_search(withheld_.begin(), withheld_.end(), uuid)) {
      out.emit(Severity::kWarn, "gpu_withheld", {}, uuid);
    }
  }
}

void StuckGpus::kill_again(const Grants& grants, GangOutbox& out) const {
  for (const auto& [token, grant] : grants.all()) {
    if (grant.is_stuck && grant.has_ranks()) {
      out.command(Terminate{token, Duration(0), "stuck"});
    }
  }
  for (const Token token : orphans_) {
    out.command(Terminate{token, Duration(0), "orphan"});
  }
  for (const auto& [token, held] : stuck_orphans_) {
    out.command(Terminate{token, Duration(0), "orphan"});
  }
}

}  // namespace muster::agent
