#include "agent/health/host_gpus.h"

#include <algorithm>
#include <utility>

#include "gossip/base/check.h"
#include "gossip/base/state_machine.h"
#include "gossip/wire/wire.h"

namespace muster::agent {

static_assert(StateMachine<HostGpus>);

namespace {

constexpr std::uint64_t kHostGpusVersion = 2;
constexpr std::size_t kElements = 6;
constexpr std::size_t kHealthBytesMax = 1 << 20;
constexpr std::uint64_t kLower = 16ULL << 20;  ///< Bytes.

}  // namespace

HostGpus::HostGpus(Instant now, const WallClock& clock, std::string boot_id,
                   const std::string& record)
    : HostGpus(now, clock, boot_id, recovered(now, clock, boot_id, record)) {}

HostGpus::HostGpus(Instant now, const WallClock& clock, std::string boot_id, Kept kept)
    : clock_(clock),
      boot_id_(boot_id),
      health_(now, std::move(boot_id), XidPolicy(), kept.health),
      cleanliness_(kept.lowest),
      ordered_(kept.ordered),
      kept_(std::move(kept)) {
  if (kept_.is_damaged) {
    out_.events.push_back({Severity::kAlarm,
                           "gpu_record_damaged",
                           {{"hint", "masked GPUs are offered again: see `muster gpus`"}}});
  }
  drain(now);
}

/// [version, health, boot id, [uuid, bytes, ...], epoch and index of the last order]: what a GPU
/// uses when it is clean holds for a boot.
HostGpus::Kept HostGpus::recovered(Instant now, const WallClock& clock, const std::string& boot_id,
                                   const std::string& record) {
  if (record.empty()) {
    return {};
  }
  const Result<gossip::Document> document = gossip::Document::parse(record);
  if (!document) {
    return {{}, {}, Token(), true};
  }
  gossip::Reader from = document->root();
  const bool is_known = from.u64() == kHostGpusVersion;
  auto health = decode_health_record(from.text(kHealthBytesMax), now, clock);
  const bool is_this_boot = from.text(kReadingTextBytesMax) == boot_id && !boot_id.empty();
  gossip::Reader lowest = from.array_at_most(2 * kGpusReadMax);
  Kept recovered;
  while (lowest.ok() && lowest.left() > 0) {
    const std::string uuid = lowest.text(kReadingTextBytesMax);
    recovered.lowest[uuid] = lowest.u64();
  }
  recovered.ordered.epoch = from.u64();
  recovered.ordered.index = from.u64();
  if (!is_known || !from.ok() || !health.has_value()) {
    return {{}, {}, Token(), true};
  }
  recovered.health = *std::move(health);
  if (!is_this_boot) {
    recovered.lowest.clear();
  }
  return recovered;
}

std::string HostGpus::record(Instant now) const {
  gossip::Encoder to;
  to.array(kElements).u64(kHostGpusVersion).text(encode(kept_.health, now, clock_)).text(boot_id_);
  to.array(2 * cleanliness_.lowest().size());
  for (const auto& [uuid, bytes] : cleanliness_.lowest()) {
    to.text(uuid).u64(bytes);
  }
  to.u64(ordered_.epoch).u64(ordered_.index);
  return to.take();
}

void HostGpus::step(Instant now, Input input) {
  std::visit([&](auto& each) { hear(now, each); }, input);
  drain(now);
}

void HostGpus::tick(Instant now) {
  health_.tick(now);
  cleanliness_.tick(now);
  drain(now);
}

Instant HostGpus::next_deadline() const {
  return std::min(health_.next_deadline(), cleanliness_.next_deadline());
}

HostGpus::Output HostGpus::take_output() {
  return std::exchange(out_, {});
}

bool HostGpus::is_well(const std::string& uuid) const {
  const GpuState state = health_.state(uuid);
  return state == GpuState::kOk || state == GpuState::kSuspect;
}

void HostGpus::hear(Instant now, gpus::Viewed& viewed) {
  hear_sights(now, viewed.view);
  hear_look(now, viewed.view);
  for (clean::Seen& seen : viewed.seen) {
    cleanliness_.step(now, std::move(seen));
  }
  for (clean::NotSeen& not_seen : viewed.not_seen) {
    cleanliness_.step(now, std::move(not_seen));
  }
  MachineReading& reading = viewed.view.machine;
  if (!reading_.driver.empty() && !reading.driver.empty() && reading_.driver != reading.driver) {
    // Another driver takes another share for itself.
    for (const auto& [uuid, bytes] : Cleanliness::Lowest(cleanliness_.lowest())) {
      cleanliness_.step(now, clean::WasReset{uuid});
    }
  }
  reading_ = std::move(reading);
}

/// The facts that no reading has: no answer at all, and GPUs that hang.
void HostGpus::hear_sights(Instant now, const ProbeView& view) {
  health_.step(now, health::HostFact{HostCause::kDriverStuck,
                                     view.is_driver_stuck
                                         ? "processes that ask the driver hang and cannot be killed"
                                         : ""});
  bool is_unknown = !view.has_answered;
  for (std::size_t i = 0; i < view.machine.gpus.size(); ++i) {
    const std::string& uuid = view.machine.gpus[i].uuid;
    is_unknown = is_unknown || view.sights[i] == GpuSight::kUnknown;
    if (uuid.empty()) {
      continue;
    }
    const bool hangs = view.sights[i] == GpuSight::kHanging;
    if (hangs && hanging_.insert(uuid).second) {
      health_.step(now, health::GpuHangs{uuid});
    } else if (view.sights[i] == GpuSight::kRead && hanging_.erase(uuid) > 0) {
      health_.step(now, health::GpuAnswers{uuid, view.began[i]});
    }
  }
  if (is_unknown) {
    health_.step(now, health::NoAnswer{});
  }
}

void HostGpus::hear_look(Instant now, const ProbeView& view) {
  health::Look look{kNever, view.whole_began > whole_look_, {}};
  look.reading.driver = view.machine.driver;
  look.reading.cuda = view.machine.cuda;
  for (std::size_t i = 0; i < view.machine.gpus.size(); ++i) {
    const GpuReading& gpu = view.machine.gpus[i];
    Instant& last = looked_at_.try_emplace(gpu.pci_id, kLongAgo).first->second;
    if (view.sights[i] == GpuSight::kRead && view.began[i] > last) {
      last = view.began[i];
      look.began = std::min(look.began, last);
      look.reading.gpus.push_back(gpu);
    }
  }
  if (looked_at_.size() > 2 * kGpusReadMax) {
    looked_at_.clear();  // Addresses come and go: the next look of each counts.
  }
  if (look.is_whole) {
    whole_look_ = view.whole_began;
    look.began = std::min(look.began, whole_look_);
  }
  if (look.is_whole || !look.reading.gpus.empty()) {
    health_.step(now, std::move(look));
  }
}

void HostGpus::hear(Instant now, gpus::ToClean& gpu) {
  if (last_.size() < kGpusReadMax || last_.contains(gpu.uuid)) {
    last_[gpu.uuid] = gpu.token;
  }
  cleanliness_.step(now, clean::GrantEnded{std::move(gpu.uuid), std::move(gpu.why)});
}

void HostGpus::hear(Instant now, gpus::Offered& offered) {
  health_.step(now, health::Registered{std::move(offered.uuids)});
}

/// A grant is never disturbed. Leftovers of a dead one are: that is the purpose.
void HostGpus::hear(Instant, gpus::Held& held) {
  const auto ask = [&](std::set<std::string>& wanted, auto command) {
    for (auto it = wanted.begin(); it != wanted.end();) {
      if (held.uuids.contains(*it)) {
        ++it;
        continue;
      }
      command.uuid = *it;
      out_.commands.push_back(command);
      it = wanted.erase(it);
    }
  };
  ask(resets_, gpus::ResetGpu{});
  ask(checks_, gpus::CheckGpu{});
}

void HostGpus::hear(Instant now, gpus::Ordered& ordered) {
  scheduler::GpuOrder& order = ordered.order;
  if (order.at <= ordered_) {
    return;
  }
  ordered_ = order.at;
  if (!order.is_mask) {
    health::Input fact = health::UnmaskOrder{std::move(order.uuid), std::move(order.why)};
    hear(now, fact);
  }
}

void HostGpus::hear(Instant now, health::Input& fact) {
  if (const auto* ended = std::get_if<health::ResetEnded>(&fact);
      ended != nullptr && ended->failure.empty()) {
    cleanliness_.step(now, clean::WasReset{ended->uuid});
  }
  if (const auto* unmasked = std::get_if<health::UnmaskOrder>(&fact)) {
    cleanliness_.step(now, clean::WasReset{unmasked->uuid});
  }
  health_.step(now, std::move(fact));
}

void HostGpus::drain(Instant now) {
  clean::Output clean = cleanliness_.take_output();
  const auto last_on = [this](const std::string& uuid) {
    const auto last = last_.find(uuid);
    return last == last_.end() ? Token() : last->second;
  };
  for (std::string& uuid : clean.looks) {
    const Token token = last_on(uuid);
    out_.commands.push_back(gpus::CleanLook{std::move(uuid), token});
  }
  for (clean::Kill& kill : clean.kills) {
    const Token token = last_on(kill.uuid);
    out_.commands.push_back(gpus::KillHolder{std::move(kill.uuid), kill.pid, token});
  }
  for (clean::Cleaned& cleaned : clean.cleaned) {
    last_.erase(cleaned.uuid);
    out_.cleaned.push_back(std::move(cleaned.uuid));
  }
  resets_.insert(clean.leaked.begin(), clean.leaked.end());
  std::move(clean.events.begin(), clean.events.end(), std::back_inserter(out_.events));

  health::Output health = health_.take_output();
  out_.has_changed = out_.has_changed || !health.changes.empty() || health.has_host_changed;
  if (health.look_now) {
    out_.commands.push_back(gpus::LookSoon{});
  }
  resets_.insert(health.resets.begin(), health.resets.end());
  checks_.insert(health.checks.begin(), health.checks.end());
  std::move(health.events.begin(), health.events.end(), std::back_inserter(out_.events));
  if (health.record.has_value() || is_news()) {
    kept_.health = health.record.has_value() ? *std::move(health.record) : std::move(kept_.health);
    kept_.lowest = cleanliness_.lowest();
    kept_.ordered = ordered_;
    out_.record = record(now);
  }
}

/// A little less memory is not worth a write.
bool HostGpus::is_news() const {
  const Cleanliness::Lowest& lowest = cleanliness_.lowest();
  return ordered_ != kept_.ordered || lowest.size() != kept_.lowest.size() ||
         std::any_of(lowest.begin(), lowest.end(), [&](const auto& each) {
           const auto known = kept_.lowest.find(each.first);
           return known == kept_.lowest.end() || each.second + kLower < known->second;
         });
}

void HostGpus::check_invariants() const {
  health_.check_invariants();
  cleanliness_.check_invariants();
  CHECK(last_.size() <= kGpusReadMax);
}

}  // namespace muster::agent
