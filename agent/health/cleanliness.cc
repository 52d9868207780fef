#include "agent/health/cleanliness.h"

#include <algorithm>
#include <utility>

#include "gossip/base/check.h"

namespace muster::agent {
namespace {

constexpr std::string_view kNotLooked = "no look at it was answered yet";

void join(std::string& text, std::string_view more, std::string_view mark) {
  text += text.empty() ? "" : mark;
  text += more;
}

std::string holder_text(const clean::Holder& holder) {
  std::string text = "pid " + std::to_string(holder.pid);
  if (!holder.program.empty() || !holder.user.empty()) {
    text += " (" + (holder.program.empty() ? "a program" : holder.program);
    text += holder.user.empty() ? ")" : " of " + holder.user + ")";
  }
  return text + (holder.is_ours ? ", left by the grant, uses it" : " uses it");
}

std::string holders_text(const std::vector<clean::Holder>& holders) {
  std::string text;
  for (std::size_t i = 0; i < std::min(holders.size(), kHoldersNamedMax); ++i) {
    join(text, holder_text(holders[i]), "; ");
  }
  if (holders.size() > kHoldersNamedMax) {
    join(text, std::to_string(holders.size() - kHoldersNamedMax) + " more processes use it", "; ");
  }
  return text;
}

std::string unchecked_text(const clean::Seen& seen, bool has_lowest) {
  std::string text;
  if (!seen.is_cgroup_empty.has_value()) {
    join(text, "cgroup", ", ");
  }
  if (!seen.holders.has_value()) {
    join(text, "processes", ", ");
  }
  if (!seen.used_bytes.has_value() || !has_lowest) {
    join(text, "memory", ", ");
  }
  if (!seen.recovery.has_value()) {
    join(text, "recovery action", ", ");
  }
  return text;
}

}  // namespace

void Cleanliness::step(Instant now, Input input) {
  std::visit([&](const auto& one) { hear(now, one); }, input);
  tick(now);
}

void Cleanliness::tick(Instant now) {
  for (auto& [uuid, watch] : watches_) {
    if (now >= watch.look_at) {
      watch.look_at = kNever;
      out_.looks.push_back(uuid);
    }
    if (!watch.is_leaked && now - watch.since >= kLeakedAfter) {
      watch.is_leaked = true;
      out_.leaked.push_back(uuid);
      out_.events.push_back({Severity::kAlarm, "gpu_leaked", {{"gpu", uuid}, {"why", watch.why}}});
    }
  }
}

Instant Cleanliness::next_deadline() const {
  Instant deadline = kNever;
  for (const auto& [uuid, watch] : watches_) {
    deadline = std::min(deadline, watch.look_at);
    deadline = watch.is_leaked ? deadline : std::min(deadline, watch.since + kLeakedAfter);
  }
  return deadline;
}

Cleanliness::Output Cleanliness::take_output() {
  return std::exchange(out_, {});
}

void Cleanliness::hear(Instant now, const clean::GrantEnded& ended) {
  if (watches_.size() >= kGpusReadMax && !watches_.contains(ended.uuid)) {
    return;
  }
  Watch watch;
  watch.since = now;
  watch.look_at = now;
  watch.why = ended.why.empty() ? kNotLooked : ended.why;
  watches_[ended.uuid] = std::move(watch);
}

void Cleanliness::hear(Instant now, const clean::Seen& seen) {
  const auto found = watches_.find(seen.uuid);
  if (found == watches_.end()) {
    // An idle GPU, outside of any grant, is clean if no process uses it.
    const bool is_idle = seen.holders.has_value() && seen.holders->empty();
    if (is_idle && seen.used_bytes.has_value() &&
        (lowest_.size() < kGpusReadMax || lowest_.contains(seen.uuid))) {
      const auto [at, is_new] = lowest_.try_emplace(seen.uuid, *seen.used_bytes);
      at->second = std::min(at->second, *seen.used_bytes);
    }
    return;
  }
  Watch& watch = found->second;
  if (seen.began < watch.since) {
    plan(now, watch);
    return;
  }
  std::string why = judge(seen);
  if (!why.empty()) {
    if (why != watch.why && watch.is_leaked) {
      out_.events.push_back(
          {Severity::kInfo, "gpu_leak_changed", {{"gpu", seen.uuid}, {"why", why}}});
    }
    watch.why = std::move(why);
    kill(now, watch, seen);
    plan(now, watch);
    return;
  }
  const std::string unchecked = unchecked_text(seen, lowest_.contains(seen.uuid));
  const Duration took = now - watch.since;
  if (seen.used_bytes.has_value() && seen.holders.has_value()) {
    const auto [at, is_new] = lowest_.try_emplace(seen.uuid, *seen.used_bytes);
    at->second = std::min(at->second, *seen.used_bytes);
  }
  out_.cleaned.push_back({seen.uuid, took, unchecked});
  out_.events.push_back(
      {Severity::kInfo,
       "gpu_clean",
       {{"gpu", seen.uuid}, {"took_ms", std::to_string(to_ms(took))}, {"unchecked", unchecked}}});
  watches_.erase(found);
}

void Cleanliness::hear(Instant now, const clean::NotSeen& not_seen) {
  const auto found = watches_.find(not_seen.uuid);
  if (found != watches_.end()) {
    plan(now, found->second);
  }
}

void Cleanliness::hear(Instant, const clean::WasReset& reset) {
  lowest_.erase(reset.uuid);
}

std::string Cleanliness::judge(const clean::Seen& seen) const {
  std::string why;
  if (seen.holders.has_value() && !seen.holders->empty()) {
    join(why, holders_text(*seen.holders), "; ");
  }
  if (seen.is_cgroup_empty.has_value() && !*seen.is_cgroup_empty) {
    join(why, "processes of the grant still run", "; ");
  }
  const auto lowest = lowest_.find(seen.uuid);
  if (seen.used_bytes.has_value() && lowest != lowest_.end() &&
      *seen.used_bytes > lowest->second + kCleanMemoryBytes) {
    const std::uint64_t more = (*seen.used_bytes - lowest->second) >> 20;
    join(why, std::to_string(more) + " MiB more of its memory are used than when it was clean",
         "; ");
  }
  if (seen.recovery.has_value() && *seen.recovery != RecoveryAction::kNothing) {
    join(why, "the driver asks for a recovery of it", "; ");
  }
  return why;
}

void Cleanliness::plan(Instant now, Watch& watch) const {
  watch.look_at = now + (now - watch.since < kCleanSoon ? kCleanLookEvery : kCleanLookLater);
}

void Cleanliness::kill(Instant now, Watch& watch, const clean::Seen& seen) {
  std::map<std::uint32_t, Instant> killed;
  for (const clean::Holder& holder : seen.holders.value_or(std::vector<clean::Holder>{})) {
    if (!holder.is_ours || killed.size() >= kGpuProcessesMax) {
      continue;
    }
    const auto earlier = watch.killed.find(holder.pid);
    const bool is_due = earlier == watch.killed.end() || now - earlier->second >= kKillAgain;
    killed[holder.pid] = is_due ? now : earlier->second;
    if (is_due) {
      out_.kills.push_back({seen.uuid, holder.pid});
    }
  }
  watch.killed = std::move(killed);
}

std::map<std::string, std::string> Cleanliness::dirty() const {
  std::map<std::string, std::string> reasons;
  for (const auto& [uuid, watch] : watches_) {
    reasons[uuid] = watch.is_leaked ? "leaked: " + watch.why : watch.why;
  }
  return reasons;
}

void Cleanliness::check_invariants() const {
  CHECK(watches_.size() <= kGpusReadMax);
  CHECK(lowest_.size() <= 2 * kGpusReadMax);
  for (const auto& [uuid, watch] : watches_) {
    CHECK(!watch.why.empty());
    CHECK(watch.killed.size() <= kGpuProcessesMax);
  }
}

}  // namespace muster::agent
