#include "agent/hardware/reading_text.h"

#include <algorithm>

namespace muster::agent {
namespace {

/// Lines of "  name value".
class Lines {
 public:
  explicit Lines(std::string indent) : indent_(std::move(indent)) {}
  void add(const std::string& name, const std::string& value) {
    if (!value.empty()) {
      text_ += indent_ + name + " " + value + "\n";
    }
  }
  template <class T>
  void add(const std::string& name, const std::optional<T>& value) {
    if (value.has_value()) {
      add(name, std::to_string(*value));
    }
  }
  std::string take() { return std::move(text_); }

 private:
  std::string indent_;
  std::string text_;
};

std::string name_of(PciAncestor ancestor) {
  switch (ancestor) {
    case PciAncestor::kSameBoard:
      return "board";
    case PciAncestor::kOneSwitch:
      return "switch";
    case PciAncestor::kSwitches:
      return "switches";
    case PciAncestor::kHostBridge:
      return "bridge";
    case PciAncestor::kSameNode:
      return "node";
    case PciAncestor::kMachine:
      return "machine";
  }
  return "";
}

std::string name_of(RecoveryAction action) {
  switch (action) {
    case RecoveryAction::kNothing:
      return "nothing";
    case RecoveryAction::kReset:
      return "reset";
    case RecoveryAction::kReboot:
      return "reboot";
    case RecoveryAction::kDrainAndReset:
      return "drain_and_reset";
    case RecoveryAction::kDrain:
      return "drain";
  }
  return "";
}

void add_errors(Lines& lines, const GpuErrors& errors) {
  lines.add("ecc_corrected", errors.ecc_corrected);
  lines.add("ecc_uncorrected", errors.ecc_uncorrected);
  lines.add("rows_remapped", errors.rows_remapped);
  lines.add("remap", std::string(errors.is_remap_pending ? "pending" : "") +
                         (errors.has_remap_failed ? "failed" : ""));
}

void add_use(Lines& lines, const GpuUse& use) {
  lines.add("gpu_percent", use.gpu_percent);
  lines.add("celsius", use.celsius);
  lines.add("milliwatts", use.milliwatts);
  lines.add("sm_mhz", use.sm_mhz);
  lines.add("throttle_reasons", std::to_string(use.throttle_reasons));
}

void add_lists(Lines& lines, const GpuReading& gpu) {
  for (const MigInstance& instance : gpu.mig.value_or(std::vector<MigInstance>{})) {
    lines.add("instance", instance.uuid + " " + std::to_string(instance.gpu_instance) + "/" +
                              std::to_string(instance.compute_instance) + " slices " +
                              std::to_string(instance.slices) + " bytes " +
                              std::to_string(instance.memory_bytes));
  }
  for (const GpuPeer& peer : gpu.peers) {
    lines.add("peer", std::to_string(peer.index) + " " +
                          (peer.ancestor.has_value() ? name_of(*peer.ancestor) : "-") +
                          " nvlinks " + std::to_string(peer.nvlinks));
  }
  for (const GpuProcess& process : gpu.processes.value_or(std::vector<GpuProcess>{})) {
    lines.add("process",
              std::to_string(process.pid) + " bytes " +
                  (process.used_bytes.has_value() ? std::to_string(*process.used_bytes) : "-"));
  }
}

std::string text_of(const GpuReading& gpu) {
  Lines lines("  ");
  lines.add("uuid", gpu.uuid);
  lines.add("name", gpu.name);
  lines.add("pci", gpu.pci_id);
  lines.add("minor", gpu.minor);
  lines.add("numa_node", gpu.numa_node);
  if (gpu.memory.has_value()) {
    lines.add("memory", "total " + std::to_string(gpu.memory->total_bytes) + " reserved " +
                            std::to_string(gpu.memory->reserved_bytes) + " used " +
                            std::to_string(gpu.memory->used_bytes));
  }
  lines.add("mig", gpu.mig.has_value() ? "on" : "");
  lines.add("switch_nvlinks", std::to_string(gpu.switch_nvlinks));
  lines.add("inactive_nvlinks", std::to_string(gpu.inactive_nvlinks));
  if (gpu.errors.has_value()) {
    add_errors(lines, *gpu.errors);
  }
  lines.add("recovery", gpu.recovery.has_value() ? name_of(*gpu.recovery) : "");
  add_use(lines, gpu.use);
  lines.add("processes", gpu.processes.has_value() ? std::to_string(gpu.processes->size()) : "");
  add_lists(lines, gpu);
  lines.add("error", gpu.error);
  return lines.take();
}

}  // namespace

std::string text_of(const MachineReading& reading) {
  Lines lines("");
  lines.add("driver", reading.driver);
  lines.add("cuda", reading.cuda);
  for (const std::string& name : reading.missing) {
    lines.add("missing", name);
  }
  std::string text = lines.take();
  for (std::size_t i = 0; i < reading.gpus.size(); ++i) {
    text += "gpu " + std::to_string(i) + "\n" + text_of(reading.gpus[i]);
  }
  return text;
}

std::string text_of(const HardwareOffer& offer) {
  Lines lines("");
  lines.add("type", offer.gpu_type);
  for (std::size_t i = 0; i < offer.gpus.size(); ++i) {
    const HostGpu& gpu = offer.gpus[i];
    lines.add("offers", gpu.uuid + " island " +
                            std::to_string(offer.islands.empty() ? 0 : offer.islands[i]) +
                            (gpu.why_not.empty() ? "" : " not now: " + gpu.why_not));
  }
  for (const MigSlot& slot : offer.slots) {
    lines.add("slot", slot.gpu + " " + std::to_string(slot.slot) + " " + slot.instance.uuid);
  }
  lines.add("cpus", std::to_string(offer.cpus));
  lines.add("memory_mb", std::to_string(offer.memory_mb));
  for (const std::string& label : offer.labels) {
    lines.add("label", label);
  }
  for (const std::string& note : offer.notes) {
    lines.add("note", note);
  }
  return lines.take();
}

}  // namespace muster::agent
