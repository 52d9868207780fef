#include "agent/edge/run/host_hardware.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "agent/edge/gpu/pci_gpus.h"
#include "agent/edge/host/gpu_inventory.h"
#include "agent/edge/isolation/device_nodes.h"
#include "gossip/edge/boot_clock.h"

namespace muster::agent {
namespace {

constexpr std::string_view kLibraryPrefix = "nvml:";

bool is_automatic(const std::string& gpus) {
  return gpus.empty() || gpus == "auto";
}

MachineSize size_of_machine() {
  static constexpr std::uint64_t kMegabyte = 1 << 20;
  return {static_cast<std::uint32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN))),
          static_cast<std::uint64_t>(std::max(0L, sysconf(_SC_PHYS_PAGES))) *
              static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) / kMegabyte};
}

bool is_same(const HardwareChanged& a, const HardwareChanged& b) {
  return a.capacity == b.capacity && a.traits == b.traits && a.are_watched == b.are_watched;
}

Result<HardwareChanged> simulated(const std::string& gpus, HostId host,
                                  scheduler::HostTraits traits) {
  Result<Inventory> inventory = read_inventory(gpus, host);
  if (!inventory) {
    return inventory.error();
  }
  HardwareChanged offer;
  offer.capacity.gpu_type = inventory->gpu_type;
  offer.capacity.cpus = inventory->cpus;
  offer.capacity.memory_mb = inventory->memory_mb;
  for (const std::string& uuid : inventory->gpus) {
    offer.capacity.gpus.push_back({uuid, true});
  }
  offer.traits = std::move(traits);
  offer.traits.islands = std::move(inventory->traits.islands);
  return offer;
}

}  // namespace

HostHardware::HostHardware(std::string gpus, scheduler::HostTraits traits, std::string executable,
                           RoomHost room, HardwareSettings settings)
    : gpus_(std::move(gpus)),
      traits_(std::move(traits)),
      executable_(std::move(executable)),
      room_(std::move(room)),
      watch_(room_.group_root, std::move(settings)) {}

Result<HardwareChanged> HostHardware::offer(HostId host) {
  const bool is_found = is_automatic(gpus_) || gpus_.starts_with(kLibraryPrefix);
  if (!is_found && gpus_ != "none") {
    return simulated(gpus_, host, traits_);
  }
  if (is_found && !std::exchange(is_started_, true)) {
    find_gpus();
  }
  told_ = found();
  return *told_;
}

void HostHardware::find_gpus() {
  GpuProberOptions options;
  options.executable = executable_;
  if (!is_automatic(gpus_)) {
    options.library = gpus_.substr(kLibraryPrefix.size());
  } else if (pci_gpus(options.pci_directory).empty()) {
    events_.push_back({Severity::kInfo,
                       "no_gpus",
                       {{"why", "this machine has no NVIDIA GPU, and offers nothing"}}});
    return;
  }
  prober_ = std::make_unique<GpuProber>(std::move(options));
  prober_->start(boot_now());
  wait_for_first_look();
}

void HostHardware::wait_for_first_look() {
  const Instant end = boot_now() + kFirstLook;
  for (Instant now = boot_now(); now < end; now = boot_now()) {
    std::vector<pollfd> polled;
    for (const int fd : prober_->fds()) {
      polled.push_back({fd, POLLIN, 0});
    }
    const Duration left = std::max(Duration(0), std::min(end, next_deadline()) - now);
    poll(polled.data(), polled.size(), static_cast<int>(to_ms(left)) + 1);
    for (const pollfd& one : polled) {
      if (one.revents != 0) {
        prober_->on_readable(boot_now(), one.fd);
      }
    }
    prober_->on_time(boot_now());
    if (const auto view = prober_->view(); view.has_answered || !view.failure.empty()) {
      break;
    }
  }
  take_view();
  if (listed_.empty()) {
    events_.push_back({Severity::kWarn, "no_gpus_yet", {{"why", prober_->view().failure}}});
  }
}

void HostHardware::open_kernel_log(bool is_from_now) {
  if (prober_ != nullptr) {
    watch_.open_kernel_log(is_from_now);
  }
}

std::vector<int> HostHardware::fds() const {
  if (prober_ == nullptr) {
    return {};
  }
  std::vector<int> fds = prober_->fds();
  const std::vector<int> more = watch_.fds();
  fds.insert(fds.end(), more.begin(), more.end());
  return fds;
}

void HostHardware::on_readable(int fd) {
  if (watch_.owns(fd)) {
    watch_.on_readable(boot_now(), fd);
  } else {
    prober_->on_readable(boot_now(), fd);
  }
}

std::vector<gpus::Input> HostHardware::take_facts() {
  return watch_.take_facts();
}

void HostHardware::obey(const gpus::Command& command) {
  if (prober_ != nullptr) {
    watch_.obey(boot_now(), command, *prober_);
  }
}

Instant HostHardware::next_deadline() const {
  return prober_ == nullptr ? kNever : std::min(prober_->next_deadline(), watch_.next_deadline());
}

std::optional<HardwareChanged> HostHardware::take_change(Instant now) {
  if (prober_ == nullptr) {
    return std::nullopt;
  }
  if (prober_->next_deadline() <= now) {
    prober_->on_time(now);
  }
  if (watch_.next_deadline() <= now) {
    watch_.on_time(now);
  }
  take_view();
  HardwareChanged offer = found();
  if (told_.has_value() && is_same(offer, *told_)) {
    return std::nullopt;
  }
  told_ = offer;
  return offer;
}

std::vector<Event> HostHardware::take_events() {
  return std::exchange(events_, {});
}

void HostHardware::take_view() {
  for (Event& event : prober_->take_events()) {
    events_.push_back(std::move(event));
  }
  for (Event& event : watch_.take_events()) {
    events_.push_back(std::move(event));
  }
  for (const XidEvent& xid : prober_->take_xids()) {
    watch_.hear(xid);
  }
  const std::optional<ProbeView> view = prober_->take_view();
  if (!view.has_value()) {
    return;
  }
  watch_.see(boot_now(), *view, *prober_);
  HardwareOffer offer = offer_of(view->machine, size_of_machine());
  // While GPUs are unknown the event of the prober says enough.
  if (std::count(view->sights.begin(), view->sights.end(), GpuSight::kUnknown) == 0) {
    tell_notes(offer.notes);
  }
  list(offer);
  note_nodes(view->machine);
  offer_ = std::move(offer);
}

/// A node that is not there yet is listed all the same: then the room of a grant fails, and no rank
/// runs without the GPU that it was given.
void HostHardware::note_nodes(const MachineReading& machine) {
  std::map<std::string, DeviceNode> nodes;  // A number may name another GPU by now.
  std::map<std::string, std::uint32_t> numa_nodes;
  for (const GpuReading& gpu : machine.gpus) {
    if (!gpu.uuid.empty() && gpu.minor.has_value()) {
      nodes[gpu.uuid] = gpu_node(*gpu.minor);
    }
    if (!gpu.uuid.empty() && gpu.numa_node.has_value()) {
      numa_nodes[gpu.uuid] = *gpu.numa_node;
    }
  }
  has_new_room_ =
      has_new_room_ || room_.are_simulated || nodes != room_.gpus || numa_nodes != room_.numa_nodes;
  room_.are_simulated = false;
  room_.numa_nodes = std::move(numa_nodes);
  room_.gpus = std::move(nodes);
}

bool HostHardware::take_new_room() {
  return std::exchange(has_new_room_, false);
}

void HostHardware::tell_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) {
    if (std::find(told_notes_.begin(), told_notes_.end(), note) == told_notes_.end()) {
      events_.push_back({Severity::kWarn, "gpu_left_out", {{"why", note}}});
    }
  }
  told_notes_ = notes;
}

/// GPUs that are no longer read stay as they were, and are not healthy.
void HostHardware::list(const HardwareOffer& offer) {
  for (Listed& each : listed_) {
    each.gpu.healthy = false;
  }
  if (listed_.empty()) {
    gpu_type_ = offer.gpu_type;
  } else if (offer.gpu_type != gpu_type_) {
    return;  // Another model became the most frequent one: that is for a new start.
  }
  for (std::size_t i = 0; i < offer.gpus.size(); ++i) {
    const HostGpu& gpu = offer.gpus[i];
    auto known = std::find_if(listed_.begin(), listed_.end(),
                              [&](const Listed& each) { return each.gpu.uuid == gpu.uuid; });
    if (known == listed_.end() && listed_.size() < kGpusOfferedMax) {
      known = listed_.insert(known, Listed{{gpu.uuid, true}, 0});
    }
    if (known != listed_.end()) {
      known->gpu.healthy = gpu.why_not.empty();
      known->island = offer.islands.empty() ? 0 : offer.islands[i];
    }
  }
}

HardwareChanged HostHardware::found() const {
  HardwareChanged found;
  found.traits = traits_;
  found.are_watched = prober_ != nullptr;
  if (listed_.empty()) {
    return found;
  }
  found.capacity.gpu_type = gpu_type_;
  found.capacity.cpus = offer_.cpus;
  found.capacity.memory_mb = offer_.memory_mb;
  bool is_one_island = true;
  for (const Listed& each : listed_) {
    found.capacity.gpus.push_back(each.gpu);
    found.traits.islands.push_back(each.island);
    is_one_island = is_one_island && each.island == listed_.front().island;
  }
  if (is_one_island) {
    found.traits.islands.clear();
  }
  std::vector<std::string>& labels = found.traits.labels;
  labels.insert(labels.end(), offer_.labels.begin(), offer_.labels.end());
  std::sort(labels.begin(), labels.end());
  labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
  return found;
}

}  // namespace muster::agent
