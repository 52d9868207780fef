#include "agent/health/gpu_causes.h"

#include <algorithm>
#include <utility>

#include "gossip/base/check.h"

namespace muster::agent {
namespace {

bool waits_for_reset(HealthCause cause, const OpenCause& open) {
  return cause_rule(cause).remedy == Remedy::kReset && !open.is_done;
}

/// True if a check may end it: its action is done, and its fact is over.
bool waits_for_check(HealthCause cause, const OpenCause& open) {
  if (open.is_present) {
    return false;
  }
  switch (cause_rule(cause).remedy) {
    case Remedy::kCheckOnly:
      return true;
    case Remedy::kReset:
    case Remedy::kBoot:
      return open.is_done;
    case Remedy::kCalm:
    case Remedy::kOperator:
      return false;
  }
  CHECK(false);
}

}  // namespace

GpuCauses::GpuCauses(Open open, std::vector<Instant> needs)
    : open_(std::move(open)), needs_(std::move(needs)) {}

void GpuCauses::see(Instant now, HealthCause cause, std::string why) {
  const CauseRule& rule = cause_rule(cause);
  why.resize(std::min(why.size(), kCauseTextBytesMax));
  const bool was_needed = std::any_of(open_.begin(), open_.end(), [](const auto& each) {
    return waits_for_reset(each.first, each.second) && cause_rule(each.first).escalates;
  });
  const auto [at, is_new] = open_.try_emplace(cause);
  OpenCause& open = at->second;
  if (is_new || open.is_done) {
    open.why = std::move(why);
  }
  open.since = is_new ? now : open.since;
  open.times += is_new ? 0 : 1;
  open.is_done = false;
  open.is_present = rule.is_fact;
  open.check_from = now;
  if (rule.escalates && !was_needed) {
    note_need(now);
  }
}

void GpuCauses::note_need(Instant now) {
  std::erase_if(needs_, [&](Instant need) { return now - need >= kNeedsWindow; });
  needs_.push_back(now);
  if (needs_.size() >= kNeedsMax && !is_open(HealthCause::kEscalated)) {
    open_[HealthCause::kEscalated] = {
        now, "needed a reset " + std::to_string(needs_.size()) + " times within a day", now};
  }
  if (needs_.size() > kNeedsMax) {
    needs_.erase(needs_.begin());
  }
}

void GpuCauses::tell_fact(Instant now, Instant began, HealthCause cause, std::string why) {
  const auto found = open_.find(cause);
  const bool is_open_now = found != open_.end();
  if (is_open_now && began < found->second.check_from) {
    return;
  }
  if (!why.empty()) {
    const bool goes_on = is_open_now && found->second.is_present && !found->second.is_done;
    if (!goes_on) {
      see(now, cause, std::move(why));
    }
    return;
  }
  if (!is_open_now) {
    return;
  }
  if (cause_rule(cause).remedy == Remedy::kCalm) {
    open_.erase(found);
  } else if (found->second.is_present) {
    found->second.is_present = false;
    found->second.check_from = now;
  }
}

void GpuCauses::reset_done(Instant now) {
  for (auto& [cause, open] : open_) {
    if (waits_for_reset(cause, open)) {
      open.is_done = true;
      open.check_from = now;
    }
  }
}

void GpuCauses::booted(Instant now) {
  for (auto& [cause, open] : open_) {
    const Remedy remedy = cause_rule(cause).remedy;
    if (remedy == Remedy::kReset || remedy == Remedy::kBoot) {
      open.is_done = true;
      open.check_from = now;
    }
  }
}

void GpuCauses::check_passed(Instant began) {
  std::erase_if(open_, [&](const auto& each) {
    return waits_for_check(each.first, each.second) && began >= each.second.check_from;
  });
}

void GpuCauses::check_failed(Instant now, const std::string& why) {
  see(now, HealthCause::kCheckFailed, "the self-test failed: " + why);
}

void GpuCauses::unmask() {
  open_.clear();
  needs_.clear();
}

const GpuCauses::Open::value_type* GpuCauses::worst() const {
  const Open::value_type* worst = nullptr;
  for (const Open::value_type& each : open_) {
    const GpuState state = cause_rule(each.first).state;
    const bool is_worse =
        worst == nullptr || state > cause_rule(worst->first).state ||
        (state == cause_rule(worst->first).state && each.second.since < worst->second.since);
    worst = is_worse ? &each : worst;
  }
  return worst;
}

GpuState GpuCauses::state() const {
  const Open::value_type* cause = worst();
  return cause == nullptr ? GpuState::kOk : cause_rule(cause->first).state;
}

std::string GpuCauses::why() const {
  const Open::value_type* cause = worst();
  if (cause == nullptr) {
    return "";
  }
  const std::string times =
      cause->second.times > 1 ? " (" + std::to_string(cause->second.times) + " times)" : "";
  return cause->second.why + times + "; " +
         std::string(remedy_text(cause_rule(cause->first).remedy));
}

Instant GpuCauses::since() const {
  const Open::value_type* cause = worst();
  return cause == nullptr ? kLongAgo : cause->second.since;
}

bool GpuCauses::wants_reset() const {
  return state() != GpuState::kFailed &&
         std::any_of(open_.begin(), open_.end(),
                     [](const auto& each) { return waits_for_reset(each.first, each.second); });
}

bool GpuCauses::wants_boot() const {
  return std::any_of(open_.begin(), open_.end(), [](const auto& each) {
    return cause_rule(each.first).remedy == Remedy::kBoot && !each.second.is_done;
  });
}

bool GpuCauses::wants_check() const {
  return state() != GpuState::kFailed && !wants_reset() && !wants_boot() &&
         std::any_of(open_.begin(), open_.end(),
                     [](const auto& each) { return waits_for_check(each.first, each.second); });
}

void GpuCauses::check_invariants() const {
  CHECK(open_.size() <= kHealthCauses);
  CHECK(needs_.size() <= kNeedsMax);
  CHECK(std::is_sorted(needs_.begin(), needs_.end()));
  for (const auto& [cause, open] : open_) {
    CHECK(!open.why.empty() && open.why.size() <= kCauseTextBytesMax);
    CHECK(!open.is_present || cause_rule(cause).is_fact);
  }
}

}  // namespace muster::agent
