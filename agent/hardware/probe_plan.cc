#include "agent/hardware/probe_plan.h"

#include <algorithm>
#include <utility>

#include "gossip/base/check.h"

namespace muster::agent {
namespace {

constexpr std::string_view kNoAnswer = "the driver gives no answer";
constexpr std::string_view kEnded = "the process that asks the driver ends by itself";
constexpr std::string_view kHangs = "it hangs: the driver gives no answer about it";

bool reads(ProberKind kind) {
  return kind != ProberKind::kEvents;
}

bool has(const std::vector<std::string>& ids, const std::string& id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

}  // namespace

void ProbePlan::step(Instant now, Input input) {
  now_ = now;
  std::visit([&](auto& fact) { on(fact); }, input);
  tick(now);
}

void ProbePlan::tick(Instant now) {
  now_ = now;
  for (auto& [id, prober] : probers_) {
    if (prober.doubt_at <= now) {
      doubt(prober);
    }
    if (prober.give_up_at <= now) {
      give_up(id, prober);
    }
  }
  for (const Gpu& gpu : gpus_) {
    const std::string& id = gpu.reading.pci_id;
    if (gpu.retry_at <= now &&
        std::find(to_search_.begin(), to_search_.end(), id) == to_search_.end()) {
      to_search_.push_back(id);
    }
  }
  count_abandoned();
  start_singles();
  keep_all();
  keep_events();
}

void ProbePlan::on(const GpusListed& listed) {
  for (const std::string& id : listed.pci_ids) {
    if (gpus_.size() < kGpusReadMax && find(id) == nullptr) {
      gpus_.emplace_back();
      gpus_.back().reading.pci_id = id;
    }
  }
  output_.has_changed = true;
}

void ProbePlan::on(ProberAnswered& answered) {
  const auto found = probers_.find(answered.prober);
  if (found == probers_.end() || found->second.killed_at != kNever) {
    return;
  }
  Prober& prober = found->second;
  prober.doubt_at = kNever;
  prober.give_up_at = kNever;
  failure_.clear();
  has_answered_ = true;
  take(prober.asked_at, std::move(answered.reading),
       prober.kind == ProberKind::kAll && prober.pci_ids.empty());
  if (prober.kind == ProberKind::kOne) {
    kill(found->first, prober);
    return;
  }
  next_look_ = now_ + (now_ < hurry_until_ ? options_.hurried_pause : options_.look_pause);
  all_.good_since = std::min(all_.good_since, now_);
  if (now_ - all_.good_since >= options_.steady) {
    all_.pause = Duration(0);
  }
}

void ProbePlan::on(const ProberReady& ready) {
  const auto found = probers_.find(ready.prober);
  if (found != probers_.end()) {
    found->second.is_ready = true;
    events_.good_since = now_;
  }
}

void ProbePlan::on(const ProberFailed& failed) {
  const auto found = probers_.find(failed.prober);
  if (found == probers_.end() || found->second.killed_at != kNever) {
    return;
  }
  Prober& prober = found->second;
  switch (prober.kind) {
    case ProberKind::kAll:
      if (failure_ != failed.text) {
        output_.has_changed = true;
        emit(Severity::kWarn, "gpus_unreadable", failed.text);
      }
      failure_ = failed.text;
      doubt(prober);
      fail(all_);
      break;
    case ProberKind::kOne:
      // Not the GPU's fault: the common prober meets the same failure, and says so.
      for (const std::string& id : prober.pci_ids) {
        Gpu* gpu = find(id);
        if (gpu != nullptr && gpu->sight == GpuSight::kHanging) {
          gpu->retry_at = now_ + options_.hang_retry;
        }
      }
      break;
    case ProberKind::kEvents:
      fail(events_);
      break;
  }
  kill(found->first, prober);
}

void ProbePlan::on(const ProberEnded& ended) {
  const auto found = probers_.find(ended.prober);
  if (found == probers_.end()) {
    return;
  }
  const Prober prober = found->second;
  if (prober.killed_at == kNever) {
    Prober last = prober;
    emit(Severity::kWarn, "prober_ended", std::string(kEnded));
    switch (prober.kind) {
      case ProberKind::kAll:
        failure_ = kEnded;
        output_.has_changed = true;
        doubt(last);
        search();
        fail(all_);
        break;
      case ProberKind::kOne:
        doubt(last);
        break;
      case ProberKind::kEvents:
        fail(events_);
        break;
    }
  }
  probers_.erase(found);
}

/// The peers of a GPU that was read alone stay as they were.
void ProbePlan::take(Instant began, MachineReading reading, bool is_whole) {
  static constexpr std::uint32_t kNoPlace = UINT32_MAX;
  std::vector<std::uint32_t> places;
  if (is_whole) {
    gpus_.clear();
  }
  for (const GpuReading& gpu : reading.gpus) {
    if (is_whole) {
      gpus_.emplace_back();
    }
    const Gpu* known = is_whole ? &gpus_.back() : find(gpu.pci_id);
    places.push_back(known == nullptr ? kNoPlace
                                      : static_cast<std::uint32_t>(known - gpus_.data()));
  }
  for (std::size_t i = 0; i < reading.gpus.size(); ++i) {
    if (places[i] == kNoPlace) {
      continue;
    }
    Gpu& gpu = gpus_[places[i]];
    std::vector<GpuPeer> peers;
    for (const GpuPeer& peer : gpu.reading.peers) {
      if (std::find(places.begin(), places.end(), peer.index) == places.end()) {
        peers.push_back(peer);
      }
    }
    for (GpuPeer peer : reading.gpus[i].peers) {
      peer.index = places[peer.index];
      if (peer.index != kNoPlace) {
        peers.push_back(peer);
      }
    }
    std::sort(peers.begin(), peers.end(),
              [](const GpuPeer& a, const GpuPeer& b) { return a.index < b.index; });
    gpu.reading = std::move(reading.gpus[i]);
    gpu.reading.peers = std::move(peers);
    gpu.began = began;
    gpu.retry_at = kNever;
    see(gpu, GpuSight::kRead);
  }
  whole_began_ = is_whole ? began : whole_began_;
  reading.gpus.clear();
  head_ = std::move(reading);
  output_.has_changed = true;
}

/// The GPUs that the prober was asked about are not known any more.
void ProbePlan::doubt(Prober& prober) {
  prober.doubt_at = kNever;
  if (prober.kind == ProberKind::kAll) {
    for (Gpu& gpu : gpus_) {
      if (gpu.sight == GpuSight::kRead) {
        see(gpu, GpuSight::kUnknown);
      }
    }
    return;
  }
  for (const std::string& id : prober.pci_ids) {
    Gpu* gpu = find(id);
    if (gpu != nullptr) {
      if (gpu->sight != GpuSight::kHanging) {
        emit(Severity::kAlarm, "gpu_hangs", id);
      }
      see(*gpu, GpuSight::kHanging);
      gpu->retry_at = now_ + options_.hang_retry;
    }
  }
}

void ProbePlan::give_up(std::uint64_t id, Prober& prober) {
  emit(Severity::kWarn, "prober_silent", std::string(kNoAnswer));
  kill(id, prober);
  if (prober.kind == ProberKind::kAll) {
    search();
    fail(all_);
  }
}

void ProbePlan::search() {
  to_search_.clear();
  for (const Gpu& gpu : gpus_) {
    if (gpu.sight != GpuSight::kHanging && !gpu.reading.pci_id.empty()) {
      to_search_.push_back(gpu.reading.pci_id);
    }
  }
}

void ProbePlan::count_abandoned() {
  const auto abandoned = std::count_if(probers_.begin(), probers_.end(), [&](const auto& entry) {
    const Prober& prober = entry.second;
    return reads(prober.kind) && prober.killed_at != kNever &&
           now_ - prober.killed_at >= options_.death_patience;
  });
  const bool is_stuck = static_cast<std::size_t>(abandoned) >= options_.abandoned_max;
  if (is_stuck != is_stuck_) {
    is_stuck_ = is_stuck;
    output_.has_changed = true;
    emit(is_stuck ? Severity::kAlarm : Severity::kInfo,
         is_stuck ? "driver_stuck" : "driver_not_stuck",
         std::to_string(abandoned) + " probers hang and cannot be killed");
  }
}

void ProbePlan::start_singles() {
  while (!to_search_.empty() && free_places() > 0) {
    // GPUs that may be well come first.
    auto next = std::find_if(to_search_.begin(), to_search_.end(), [&](const std::string& id) {
      const Gpu* gpu = find(id);
      return gpu != nullptr && gpu->sight != GpuSight::kHanging;
    });
    next = next == to_search_.end() ? to_search_.begin() : next;
    std::string id = std::move(*next);
    to_search_.erase(next);
    Gpu* gpu = find(id);
    if (gpu != nullptr) {
      gpu->retry_at = kNever;
      start(ProberKind::kOne, {std::move(id)});
    }
  }
}

void ProbePlan::keep_all() {
  const auto found = living(ProberKind::kAll);
  const std::vector<std::string> ids = seen_ids();
  if (found != probers_.end()) {
    Prober& prober = found->second;
    if (prober.give_up_at != kNever) {
      return;
    }
    if (prober.pci_ids != ids) {
      kill(found->first, prober);
    } else if (next_look_ <= now_) {
      prober.asked_at = now_;
      prober.doubt_at = now_ + options_.patience;
      prober.give_up_at = prober.doubt_at;
      output_.orders.push_back(AskProber{found->first});
      return;
    } else {
      return;
    }
  }
  const bool do_all_hang =
      ids.empty() && std::any_of(gpus_.begin(), gpus_.end(),
                                 [](const Gpu& gpu) { return gpu.sight == GpuSight::kHanging; });
  if (all_.due <= now_ && !do_all_hang && !is_searching() && free_places() > 0) {
    start(ProberKind::kAll, ids);
  }
}

void ProbePlan::keep_events() {
  if (!options_.has_events || !has_answered_ || is_searching()) {
    return;
  }
  const std::vector<std::string> ids = seen_ids();
  const bool is_any_seen = std::any_of(gpus_.begin(), gpus_.end(),
                                       [](const Gpu& gpu) { return gpu.sight == GpuSight::kRead; });
  const auto found = living(ProberKind::kEvents);
  if (found != probers_.end()) {
    if (!found->second.is_ready || found->second.pci_ids == ids) {
      return;
    }
    kill(found->first, found->second);
  }
  if (is_any_seen && events_.due <= now_) {
    fail(events_);
    start(ProberKind::kEvents, ids);
  }
}

void ProbePlan::start(ProberKind kind, std::vector<std::string> pci_ids) {
  Prober prober;
  prober.kind = kind;
  prober.pci_ids = pci_ids;
  prober.asked_at = now_;
  if (reads(kind)) {
    prober.doubt_at = now_ + options_.patience;
    prober.give_up_at = now_ + std::max(options_.patience, options_.start_patience);
  }
  probers_.emplace(++last_id_, std::move(prober));
  output_.orders.push_back(StartProber{last_id_, kind, std::move(pci_ids)});
}

void ProbePlan::kill(std::uint64_t id, Prober& prober) {
  prober.killed_at = now_;
  prober.doubt_at = kNever;
  prober.give_up_at = kNever;
  output_.orders.push_back(KillProber{id});
}

void ProbePlan::see(Gpu& gpu, GpuSight sight) {
  output_.has_changed = output_.has_changed || gpu.sight != sight;
  gpu.sight = sight;
}

/// The first repeat comes at once.
void ProbePlan::fail(Backoff& backoff) const {
  if (backoff.good_since != kNever && now_ - backoff.good_since >= options_.steady) {
    backoff.pause = Duration(0);
  }
  backoff.good_since = kNever;
  backoff.due = now_ + backoff.pause;
  backoff.pause = std::clamp(2 * backoff.pause, options_.retry_first, options_.retry_max);
}

/// GPUs that may be well wait for their own look.
bool ProbePlan::is_searching() const {
  std::vector<std::string> waiting(to_search_.begin(), to_search_.end());
  for (const auto& [id, prober] : probers_) {
    if (prober.kind == ProberKind::kOne && prober.killed_at == kNever) {
      waiting.insert(waiting.end(), prober.pci_ids.begin(), prober.pci_ids.end());
    }
  }
  return std::any_of(gpus_.begin(), gpus_.end(), [&](const Gpu& gpu) {
    return gpu.sight != GpuSight::kHanging && has(waiting, gpu.reading.pci_id);
  });
}

std::size_t ProbePlan::free_places() const {
  const auto taken = std::count_if(probers_.begin(), probers_.end(),
                                   [](const auto& entry) { return reads(entry.second.kind); });
  return options_.abandoned_max -
         std::min<std::size_t>(options_.abandoned_max, static_cast<std::size_t>(taken));
}

/// Empty = all; else all that do not hang.
std::vector<std::string> ProbePlan::seen_ids() const {
  std::vector<std::string> ids;
  bool is_any_left_out = false;
  for (const Gpu& gpu : gpus_) {
    is_any_left_out = is_any_left_out || gpu.sight == GpuSight::kHanging;
    if (gpu.sight != GpuSight::kHanging && !gpu.reading.pci_id.empty()) {
      ids.push_back(gpu.reading.pci_id);
    }
  }
  return is_any_left_out ? ids : std::vector<std::string>{};
}

ProbePlan::Gpu* ProbePlan::find(const std::string& pci_id) {
  const auto found = std::find_if(gpus_.begin(), gpus_.end(), [&](const Gpu& gpu) {
    return !pci_id.empty() && gpu.reading.pci_id == pci_id;
  });
  return found == gpus_.end() ? nullptr : &*found;
}

std::map<std::uint64_t, ProbePlan::Prober>::iterator ProbePlan::living(ProberKind kind) {
  return std::find_if(probers_.begin(), probers_.end(), [&](const auto& entry) {
    return entry.second.kind == kind && entry.second.killed_at == kNever;
  });
}

Instant ProbePlan::next_deadline() const {
  Instant next = kNever;
  const auto consider = [&](Instant at) {
    // An earlier one has been met, or waits for an input.
    next = at > now_ ? std::min(next, at) : next;
  };
  for (const auto& [id, prober] : probers_) {
    consider(prober.doubt_at);
    consider(prober.give_up_at);
    if (prober.killed_at != kNever) {
      consider(prober.killed_at + options_.death_patience);
    }
  }
  for (const Gpu& gpu : gpus_) {
    consider(gpu.retry_at);
  }
  consider(next_look_);
  consider(all_.due);
  consider(events_.due);
  return next;
}

ProbePlan::Output ProbePlan::take_output() {
  return std::exchange(output_, {});
}

void ProbePlan::hurry(Instant until) {
  hurry_until_ = std::max(hurry_until_, until);
  next_look_ = std::min(next_look_, now_ + options_.hurried_pause);
}

ProbeView ProbePlan::view() const {
  ProbeView view;
  view.machine = head_;
  for (const Gpu& gpu : gpus_) {
    view.machine.gpus.push_back(gpu.reading);
    view.sights.push_back(gpu.sight);
    view.began.push_back(gpu.began);
    std::string& error = view.machine.gpus.back().error;
    if (gpu.sight == GpuSight::kHanging) {
      error = kHangs;
    } else if (gpu.sight == GpuSight::kUnknown) {
      error = failure_.empty() ? kNoAnswer : failure_;
    }
  }
  view.whole_began = whole_began_;
  view.has_answered = has_answered_;
  view.is_driver_stuck = is_stuck_;
  view.failure = failure_;
  return view;
}

std::size_t ProbePlan::dying() const {
  return static_cast<std::size_t>(
      std::count_if(probers_.begin(), probers_.end(), [](const auto& entry) {
        return reads(entry.second.kind) && entry.second.killed_at != kNever;
      }));
}

void ProbePlan::check_invariants() const {
  std::size_t reading = 0;
  std::size_t all = 0;
  for (const auto& [id, prober] : probers_) {
    reading += reads(prober.kind) ? 1 : 0;
    all += prober.kind == ProberKind::kAll && prober.killed_at == kNever ? 1 : 0;
  }
  CHECK(reading <= options_.abandoned_max);
  CHECK(all <= 1);
  CHECK(gpus_.size() <= kGpusReadMax);
}

void ProbePlan::emit(Severity severity, std::string_view name, const std::string& detail) {
  output_.events.push_back({severity, name, {{"detail", detail}}});
}

}  // namespace muster::agent
