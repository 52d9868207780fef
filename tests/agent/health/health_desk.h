#pragma once
// HealthDesk is a GpuHealth of eight GPUs with the words that its tests need.

#include <string>
#include <utility>
#include <vector>

#include "agent/health/gpu_health.h"

namespace muster::agent {

inline constexpr int kDeskGpus = 8;

inline std::string desk_uuid(int gpu) {
  return "GPU-" + std::to_string(gpu);
}
inline std::string desk_pci(int gpu) {
  return "0000:" + std::to_string(10 + gpu) + ":00.0";
}

/// A reading of eight well GPUs.
inline MachineReading desk_reading() {
  MachineReading reading;
  for (int gpu = 0; gpu < kDeskGpus; ++gpu) {
    GpuReading one;
    one.uuid = desk_uuid(gpu);
    one.pci_id = desk_pci(gpu);
    one.errors = GpuErrors{.ecc_corrected = 0, .ecc_uncorrected = 0, .rows_remapped = 0};
    one.recovery = RecoveryAction::kNothing;
    reading.gpus.push_back(one);
  }
  return reading;
}

class HealthDesk {
 public:
  explicit HealthDesk(XidPolicy policy = {}) : policy_(std::move(policy)) {
    start("boot-1");
    std::vector<std::string> uuids;
    for (int gpu = 0; gpu < kDeskGpus; ++gpu) {
      uuids.push_back(desk_uuid(gpu));
    }
    say(health::Registered{uuids});
    look(desk_reading());
  }

  /// The agent starts again, with what is on disk.
  void start(const std::string& boot_id) {
    health = GpuHealth(now, boot_id, policy_, disk);
    take();
    std::vector<std::string> uuids;
    for (int gpu = 0; gpu < kDeskGpus; ++gpu) {
      uuids.push_back(desk_uuid(gpu));
    }
    say(health::Registered{uuids});
  }

  /// The output of this input.
  health::Output say(health::Input input) {
    now += std::chrono::milliseconds(1);
    health.step(now, std::move(input));
    health.check_invariants();
    return take();
  }
  health::Output event(int gpu, std::uint32_t code) {
    return say(health::XidSeen{XidSource::kEvent, desk_uuid(gpu), "", code, "by event", 0});
  }
  health::Output kernel(int gpu, std::uint32_t code) {
    return say(health::XidSeen{XidSource::kKernelLog, "", desk_pci(gpu), code, "by log",
                               ++kernel_sequence});
  }
  health::Output look(MachineReading reading) {
    const Instant began = now;
    return say(health::Look{began, true, std::move(reading)});
  }
  health::Output reset(int gpu, const std::string& failure = "") {
    say(health::ResetBegan{desk_uuid(gpu)});
    return say(health::ResetEnded{desk_uuid(gpu), failure});
  }
  health::Output check(int gpu, const std::string& failure = "") {
    return say(health::CheckEnded{desk_uuid(gpu), now, failure});
  }
  GpuState state(int gpu) const { return health.state(desk_uuid(gpu)); }

  Instant now{};
  HealthRecord disk;
  GpuHealth health{now, "", {}};
  std::uint64_t kernel_sequence = 0;

 private:
  health::Output take() {
    health::Output out = health.take_output();
    if (out.record.has_value()) {
      disk = *out.record;
    }
    return out;
  }

  XidPolicy policy_;
};

}  // namespace muster::agent
