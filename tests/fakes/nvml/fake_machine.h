#pragma once
// FakeMachine writes the folder that the fake library (fake_nvml.cc) reads. Values of a GPU:
//   uuid name pci minor numa, memory_total memory_reserved memory_used (bytes), uuid_unterminated
//   processes=PID:BYTES,... (listed while they live), ghosts=1 (always), processes_count=N (a lie),
//   free_late_ms=N (memory of dead ones stays so long; -1 = for ever)
//   ancestorN=LEVEL (to GPU N), linkN=switch|down|PCI_ID
//   mig=0|1, instanceN=UUID,GPU_INSTANCE,COMPUTE_INSTANCE,SLICES,MEGABYTES
//   ecc_corrected ecc_uncorrected rows rows_pending rows_failed recovery
//   throttle utilization temperature power clock
//   faults: hang=1, hang_FUNCTION=1, crash=1, slow_ms=N, lost=1, error_FUNCTION=CODE; FUNCTION is
//   handle uuid name pci minor numa memory processes nvlink mig ecc rows fields throttle events...
// Values of the machine: driver cuda count, error_init=CODE, error_count=CODE, hang_init=1,
// slow_init_ms=N. A value may be any bytes but a line end.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace muster::fakes {

struct FakeGpu {
  std::map<std::string, std::string> values;
  std::string& operator[](const std::string& key) { return values[key]; }
};

struct FakeMachine {
  std::map<std::string, std::string> values;
  std::vector<FakeGpu> gpus;

  /// Replaces all files of the folder; `count` is that of `gpus`, unless it is given.
  void write(const std::string& folder) const;
  /// Replaces the file of one GPU.
  void write_gpu(const std::string& folder, std::size_t index) const;
};

/// Appends an event to the file of events.
void raise_xid(const std::string& folder, std::size_t gpu, std::uint32_t code);

/// A folder that every user can read.
std::string make_folder();

/// "00000000:1B:00.0"
std::string long_pci_id(std::size_t gpu);

// ---- machines ----

/// GPUs of one model on two NUMA nodes, without links and common switches.
FakeMachine plain(std::size_t count, const std::string& name);
/// Eight H100 behind NVSwitches.
FakeMachine hgx();
/// Two boards of four A100 with links all to all.
FakeMachine four_and_four();
/// Four pairs of L40S, each below a PCI switch.
FakeMachine pairs();
/// Four A100; the first `with_mig` are in MIG mode with two instances each.
FakeMachine mig(std::size_t with_mig);
/// Three H100 and a T4 that comes first.
FakeMachine mixed();

}  // namespace muster::fakes
