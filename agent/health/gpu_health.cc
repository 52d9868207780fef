#include "agent/health/gpu_health.h"

#include <algorithm>
#include <set>
#include <utility>

#include "gossip/base/check.h"

namespace muster::agent {
namespace {

/// Codes that say something by their number a day.
constexpr std::uint32_t kTrendCodes[] = {63, 92};

bool has_trend(std::uint32_t code) {
  return std::find(std::begin(kTrendCodes), std::end(kTrendCodes), code) != std::end(kTrendCodes);
}

/// The part of the causes that is worth a write to disk. A cause that is seen again is not.
std::vector<std::uint32_t> shape_of(const GpuCauses& causes, const LookMemory& memory) {
  std::vector<std::uint32_t> shape{static_cast<std::uint32_t>(causes.needs().size()),
                                   memory.links_most, memory.links_down_least.value_or(UINT32_MAX),
                                   memory.is_remap_failure_told ? 1U : 0U};
  for (const auto& [cause, open] : causes.open()) {
    shape.push_back(static_cast<std::uint32_t>(cause) * 4 + (open.is_done ? 2 : 0) +
                    (open.is_present ? 1 : 0));
  }
  return shape;
}

std::string told(std::uint32_t code, const std::string& text) {
  return text.empty() ? xid_text(code) : xid_text(code) + ": " + text;
}

Severity severity_of(XidAction action, XidClass kind) {
  if (kind == XidClass::kUnknown) {
    return Severity::kWarn;
  }
  return action == XidAction::kCount || action == XidAction::kFailAttempt ? Severity::kInfo
                                                                          : Severity::kWarn;
}

bool is_reboot_due(const GpuCauses& causes) {
  const auto found = causes.open().find(HealthCause::kRebootDue);
  return found != causes.open().end() && !found->second.is_done;
}

}  // namespace

GpuHealth::GpuHealth(Instant now, std::string boot_id, XidPolicy policy, HealthRecord record)
    : boot_id_(std::move(boot_id)), policy_(std::move(policy)), host_(std::move(record.host)) {
  const bool is_other_boot = !boot_id_.empty() && boot_id_ != record.boot_id;
  for (auto& [uuid, kept] : record.gpus) {
    Gpu& gpu = gpus_[uuid];
    gpu.pci_id = std::move(kept.pci_id);
    gpu.causes = GpuCauses(std::move(kept.open), std::move(kept.needs));
    gpu.facts = LookFacts(kept.memory);
    gpu.told_state = gpu.causes.state();
    gpu.told_shape = shape_of(gpu.causes, kept.memory);
    if (is_other_boot) {
      gpu.causes.booted(now);
    }
  }
  for (auto& [cause, open] : host_) {
    open.is_booted = open.is_booted || (is_other_boot && host_cause_rule(cause).needs_boot);
  }
  kernel_sequence_ = is_other_boot || boot_id_.empty() ? 0 : record.kernel_sequence;
  is_record_due_ = is_other_boot;
  settle(now);
}

void GpuHealth::step(Instant now, Input input) {
  std::visit([&](auto&& one) { hear(now, std::forward<decltype(one)>(one)); }, std::move(input));
  settle(now);
}

void GpuHealth::tick(Instant now) {
  merge_.forget(now);
  settle(now);
}

Instant GpuHealth::next_deadline() const {
  Instant deadline = merge_.next_deadline();
  for (const auto& [uuid, gpu] : gpus_) {
    if (gpu.causes.wants_reset() && !gpu.is_resetting) {
      deadline = std::min(deadline, gpu.reset_again_at);
    }
  }
  return deadline;
}

GpuHealth::Output GpuHealth::take_output() {
  return std::exchange(out_, {});
}

bool GpuHealth::is_unheard(std::uint64_t kernel_sequence) {
  if (kernel_sequence == 0) {
    return true;
  }
  if (kernel_sequence <= kernel_sequence_) {
    return false;
  }
  kernel_sequence_ = kernel_sequence;
  return true;
}

std::pair<const std::string, GpuHealth::Gpu>* GpuHealth::find(const std::string& uuid,
                                                              const std::string& pci_id) {
  const auto by_uuid = gpus_.find(uuid);
  if (by_uuid != gpus_.end()) {
    return &*by_uuid;
  }
  if (pci_id.empty()) {
    return nullptr;
  }
  // Of an exchanged GPU and its successor at one address, the registered one is meant.
  std::pair<const std::string, Gpu>* found = nullptr;
  for (auto& each : gpus_) {
    if (each.second.pci_id == pci_id && (found == nullptr || each.second.is_registered)) {
      found = &each;
    }
  }
  return found;
}

GpuHealth::Gpu* GpuHealth::know(const std::string& uuid) {
  const auto found = gpus_.find(uuid);
  if (found != gpus_.end()) {
    return &found->second;
  }
  return gpus_.size() < kGpusKnownMax ? &gpus_[uuid] : nullptr;
}

void GpuHealth::hear(Instant now, health::XidSeen seen) {
  if (seen.code == 0 || seen.code > kXidCodeMax || !is_unheard(seen.kernel_sequence)) {
    return;
  }
  seen.text.resize(std::min(seen.text.size(), kKernelTextBytesMax));
  if (find(seen.uuid, seen.pci_id) == nullptr && !has_looked_) {
    unplaced_.push_back(std::move(seen));
    if (unplaced_.size() > kUnplacedXidsMax) {
      unplaced_.pop_front();
    }
    return;
  }
  place(now, seen);
}

void GpuHealth::place(Instant now, const health::XidSeen& seen) {
  if (auto* const found = find(seen.uuid, seen.pci_id)) {
    if (merge_.is_new(now, seen.source, found->first, seen.code)) {
      act(now, found->first, found->second, seen);
    }
    return;
  }
  out_.events.push_back({Severity::kWarn,
                         "xid_of_unknown_gpu",
                         {{"gpu", seen.uuid.empty() ? seen.pci_id : seen.uuid},
                          {"code", std::to_string(seen.code)},
                          {"text", seen.text}}});
  if (policy_.action(seen.code) == XidAction::kCordon) {
    cordon(now, HostCause::kXid, told(seen.code, seen.text));
  }
}

void GpuHealth::act(Instant now, const std::string& uuid, Gpu& gpu, const health::XidSeen& seen) {
  const XidAction action = policy_.action(seen.code);
  const CataloguedXid row = catalogued_xid(seen.code);
  CodeCount& count = gpu.codes[seen.code];
  ++count.total;
  ++count.untold;
  if (count.total == 1 || now - count.told_at >= kXidTellEvery) {
    out_.events.push_back({severity_of(action, row.kind),
                           "xid",
                           {{"gpu", uuid},
                            {"code", std::to_string(seen.code)},
                            {"times", std::to_string(count.untold)},
                            {"action", std::string(xid_action_word(action))},
                            {"text", told(seen.code, seen.text)}}});
    count.untold = 0;
    count.told_at = now;
  }
  out_.look_now = out_.look_now || row.kind == XidClass::kWorkflow;
  switch (action) {
    case XidAction::kCount:
      if (has_trend(seen.code)) {
        std::erase_if(count.trend, [&](Instant at) { return now - at >= kTrendWindow; });
        count.trend.push_back(now);
        if (count.trend.size() >= kTrendXids) {
          gpu.causes.see(
              now, HealthCause::kXidTrend,
              xid_text(seen.code) + " came " + std::to_string(kTrendXids) + " times within a day");
          count.trend.clear();
        }
      }
      return;
    case XidAction::kFailAttempt:
      out_.app_faults.push_back({uuid, seen.code, told(seen.code, seen.text)});
      return;
    case XidAction::kSuspect:
      gpu.causes.see(now, HealthCause::kXidSuspect, told(seen.code, seen.text));
      return;
    case XidAction::kMask:
      gpu.causes.see(now, HealthCause::kXidMask, told(seen.code, seen.text));
      return;
    case XidAction::kCordon:
      gpu.causes.see(now, HealthCause::kXidCordon, told(seen.code, seen.text));
      cordon(now, HostCause::kXid, told(seen.code, seen.text) + " on " + uuid);
      return;
    case XidAction::kFail:
      gpu.causes.see(now, HealthCause::kXidFail, told(seen.code, seen.text));
      return;
  }
}

void GpuHealth::hear(Instant now, const health::SwitchXidSeen& seen) {
  if (!is_unheard(seen.kernel_sequence)) {
    return;
  }
  const std::string text = "error " + std::to_string(seen.xid.code) + " of the NVSwitch at " +
                           seen.xid.pci_id + ": " + seen.xid.text;
  out_.events.push_back({seen.xid.is_fatal ? Severity::kAlarm : Severity::kInfo,
                         "switch_xid",
                         {{"code", std::to_string(seen.xid.code)}, {"text", text}}});
  out_.look_now = true;
  if (seen.xid.is_fatal) {
    cordon(now, HostCause::kSwitchXid, text);
  }
}

void GpuHealth::hear(Instant, const health::Registered& registered) {
  for (auto& [uuid, gpu] : gpus_) {
    gpu.is_registered = false;
  }
  for (const std::string& uuid : registered.uuids) {
    if (Gpu* const gpu = know(uuid)) {
      gpu->is_registered = true;
    }
  }
}

void GpuHealth::hear(Instant now, const health::Look& look) {
  is_answered_ = true;
  has_looked_ = has_looked_ || look.is_whole;
  std::set<std::string> found;
  for (const GpuReading& reading : look.reading.gpus) {
    std::string uuid = reading.uuid;
    if (uuid.empty()) {
      const auto* const by_address = find("", reading.pci_id);
      uuid = by_address == nullptr ? "" : by_address->first;
    }
    Gpu* const gpu = uuid.empty() ? nullptr : know(uuid);
    if (gpu == nullptr) {
      continue;
    }
    found.insert(uuid);
    gpu->pci_id = reading.pci_id.empty() ? gpu->pci_id : reading.pci_id;
    look_at(now, look.began, *gpu, &reading, uuid);
  }
  if (look.is_whole) {
    for (auto& [uuid, gpu] : gpus_) {
      if (gpu.is_registered && !found.contains(uuid)) {
        look_at(now, look.began, gpu, nullptr, uuid);
      }
    }
    std::erase_if(gpus_, [&](const auto& each) {
      return !each.second.is_registered && !found.contains(each.first) &&
             each.second.causes.open().empty();
    });
    for (health::XidSeen& seen : std::exchange(unplaced_, {})) {
      place(now, seen);
    }
  }
  const std::size_t lifted =
      std::erase_if(host_, [](const auto& each) { return each.second.is_booted; });
  is_record_due_ = is_record_due_ || lifted > 0;
  if (lifted > 0 && host_.empty()) {
    out_.has_host_changed = true;
    out_.events.push_back({Severity::kInfo, "host_uncordoned", {{"why", "it booted"}}});
  }
}

void GpuHealth::look_at(Instant now, Instant began, Gpu& gpu, const GpuReading* reading,
                        const std::string& uuid) {
  if (gpu.is_resetting) {
    return;
  }
  const bool was_due = is_reboot_due(gpu.causes);
  std::vector<LookFacts::Fact> facts =
      reading != nullptr ? gpu.facts.look(now, *reading) : gpu.facts.look_in_vain();
  if (reading != nullptr && reading->error.empty()) {
    facts.push_back({HealthCause::kHanging, ""});
  }
  for (LookFacts::Fact& fact : facts) {
    if (cause_rule(fact.cause).is_fact) {
      gpu.causes.tell_fact(now, began, fact.cause, std::move(fact.why));
    } else {
      gpu.causes.see(now, fact.cause, std::move(fact.why));
    }
  }
  if (!was_due && is_reboot_due(gpu.causes)) {
    cordon(now, HostCause::kRebootDue, "the driver asks for a reboot because of " + uuid);
  }
}

void GpuHealth::hear(Instant, const health::NoAnswer&) {
  is_answered_ = false;
}

void GpuHealth::hear(Instant now, const health::GpuHangs& hangs) {
  Gpu* const gpu = know(hangs.uuid);
  if (gpu != nullptr && !gpu->is_resetting) {
    gpu->causes.tell_fact(now, now, HealthCause::kHanging, "queries to it alone do not come back");
  }
}

void GpuHealth::hear(Instant now, const health::GpuAnswers& answers) {
  const auto found = gpus_.find(answers.uuid);
  if (found != gpus_.end()) {
    found->second.causes.tell_fact(now, answers.began, HealthCause::kHanging, "");
  }
}

void GpuHealth::hear(Instant, const health::ResetBegan& began) {
  const auto found = gpus_.find(began.uuid);
  if (found != gpus_.end()) {
    found->second.is_resetting = true;
  }
}

void GpuHealth::hear(Instant now, const health::ResetEnded& ended) {
  const auto found = gpus_.find(ended.uuid);
  if (found == gpus_.end()) {
    return;
  }
  Gpu& gpu = found->second;
  gpu.is_resetting = false;
  gpu.is_check_asked = false;
  gpu.facts.forget_counters();
  if (ended.failure.empty()) {
    gpu.causes.reset_done(now);
    gpu.reset_again_at = kLongAgo;
    out_.look_now = true;
    out_.events.push_back({Severity::kInfo, "gpu_reset", {{"gpu", ended.uuid}}});
  } else {
    gpu.reset_again_at = now + kResetAgain;
    out_.events.push_back(
        {Severity::kWarn, "gpu_reset_failed", {{"gpu", ended.uuid}, {"why", ended.failure}}});
  }
}

void GpuHealth::hear(Instant now, const health::CheckEnded& ended) {
  const auto found = gpus_.find(ended.uuid);
  if (found == gpus_.end()) {
    return;
  }
  Gpu& gpu = found->second;
  gpu.is_check_asked = false;
  if (ended.failure.empty()) {
    gpu.causes.check_passed(ended.began);
  } else {
    gpu.causes.check_failed(now, ended.failure);
  }
}

void GpuHealth::hear(Instant now, const health::EpilogFailed& failed) {
  if (Gpu* const gpu = know(failed.uuid)) {
    gpu->causes.see(now, HealthCause::kEpilogFailed, failed.why);
  }
}

void GpuHealth::hear(Instant, const health::UnmaskOrder& order) {
  const auto found = gpus_.find(order.uuid);
  if (found == gpus_.end()) {
    return;
  }
  found->second.causes.unmask();
  found->second.facts.accept_links();
  out_.events.push_back(
      {Severity::kInfo, "gpu_unmasked", {{"gpu", order.uuid}, {"why", order.why}}});
}

void GpuHealth::hear(Instant, const health::UncordonOrder& order) {
  if (host_.empty()) {
    return;
  }
  host_.clear();
  out_.has_host_changed = true;
  is_record_due_ = true;
  out_.events.push_back({Severity::kInfo, "host_uncordoned", {{"why", order.why}}});
}

void GpuHealth::hear(Instant now, const health::HostFact& fact) {
  if (!fact.why.empty()) {
    if (!host_.contains(fact.cause)) {
      cordon(now, fact.cause, fact.why);
    }
    return;
  }
  if (host_cause_rule(fact.cause).needs_boot || host_.erase(fact.cause) == 0) {
    return;
  }
  out_.has_host_changed = true;
  if (host_.empty()) {
    out_.events.push_back({Severity::kInfo,
                           "host_uncordoned",
                           {{"why", std::string(host_cause_rule(fact.cause).word) + " is over"}}});
  }
}

void GpuHealth::cordon(Instant now, HostCause cause, std::string why) {
  why.resize(std::min(why.size(), kCauseTextBytesMax));
  const auto [at, is_new] = host_.try_emplace(cause);
  if (!is_new && !at->second.is_booted) {
    return;
  }
  at->second = {now, why, false};
  // The others are found again at each start: a disk that is read-only takes no record of that.
  is_record_due_ = is_record_due_ || host_cause_rule(cause).needs_boot;
  out_.has_host_changed = true;
  out_.events.push_back(
      {Severity::kAlarm,
       "host_cordoned",
       {{"cause", std::string(host_cause_rule(cause).word)}, {"why", std::move(why)}}});
}

void GpuHealth::settle(Instant now) {
  for (auto& [uuid, gpu] : gpus_) {
    const GpuState state = gpu.causes.state();
    if (state != gpu.told_state) {
      out_.changes.push_back({uuid, gpu.told_state, state, gpu.causes.why()});
      out_.events.push_back({state == GpuState::kOk ? Severity::kInfo : Severity::kAlarm,
                             "gpu_health",
                             {{"gpu", uuid},
                              {"from", std::string(gpu_state_word(gpu.told_state))},
                              {"to", std::string(gpu_state_word(state))},
                              {"why", gpu.causes.why()}}});
      gpu.told_state = state;
    }
    std::vector<std::uint32_t> shape = shape_of(gpu.causes, gpu.facts.memory());
    if (shape != gpu.told_shape) {
      gpu.told_shape = std::move(shape);
      is_record_due_ = true;
    }
    if (!gpu.causes.wants_reset()) {
      gpu.reset_again_at = kLongAgo;
    } else if (!gpu.is_resetting && now >= gpu.reset_again_at) {
      gpu.reset_again_at = kNever;
      out_.resets.push_back(uuid);
    }
    const bool wants_check = gpu.causes.wants_check();
    if (wants_check && !gpu.is_check_asked) {
      out_.checks.push_back(uuid);
    }
    gpu.is_check_asked = wants_check;
  }
  if (std::exchange(is_record_due_, false)) {
    out_.record = record();
  }
}

HealthRecord GpuHealth::record() const {
  HealthRecord record{boot_id_, kernel_sequence_, {}, {}};
  for (const auto& [cause, open] : host_) {
    if (host_cause_rule(cause).needs_boot) {
      record.host.emplace(cause, open);
    }
  }
  for (const auto& [uuid, gpu] : gpus_) {
    record.gpus[uuid] = {gpu.pci_id, gpu.facts.memory(), gpu.causes.open(), gpu.causes.needs()};
  }
  return record;
}

std::vector<GpuHealthInfo> GpuHealth::gpus() const {
  std::vector<GpuHealthInfo> infos;
  for (const auto& [uuid, gpu] : gpus_) {
    GpuHealthInfo info{.uuid = uuid,
                       .pci_id = gpu.pci_id,
                       .state = gpu.causes.state(),
                       .why = gpu.causes.why(),
                       .since = gpu.causes.since(),
                       .evidence = {},
                       .xids = 0,
                       .wants_reset = gpu.causes.wants_reset(),
                       .wants_check = gpu.causes.wants_check()};
    for (const auto& [cause, open] : gpu.causes.open()) {
      info.evidence.push_back(std::string(cause_rule(cause).word) + ": " + open.why);
    }
    for (const auto& [code, count] : gpu.codes) {
      info.xids += count.total;
    }
    infos.push_back(std::move(info));
  }
  return infos;
}

GpuState GpuHealth::state(const std::string& uuid) const {
  const auto found = gpus_.find(uuid);
  return found == gpus_.end() ? GpuState::kOk : found->second.causes.state();
}

HostHealthInfo GpuHealth::host() const {
  HostHealthInfo info{!host_.empty(), "", is_answered_};
  for (const auto& [cause, open] : host_) {
    info.why += info.why.empty() ? open.why : "; " + open.why;
  }
  return info;
}

void GpuHealth::check_invariants() const {
  CHECK(gpus_.size() <= kGpusKnownMax);
  CHECK(unplaced_.size() <= kUnplacedXidsMax);
  CHECK(merge_.size() <= kTellingsMax);
  for (const auto& [uuid, gpu] : gpus_) {
    CHECK(!uuid.empty());
    CHECK(gpu.told_state == gpu.causes.state());
    CHECK(gpu.codes.size() <= kXidCodeMax);
    gpu.causes.check_invariants();
  }
}

}  // namespace muster::agent
