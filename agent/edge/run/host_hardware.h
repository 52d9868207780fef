#pragma once
// HostHardware is the hardware that this host offers: simulated, or found and watched by a
// GpuProber. Owned by run_agent(), for the life of the process. All calls belong to the thread of
// the event loop; offer() alone waits.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/edge/gpu/gpu_prober.h"
#include "agent/edge/run/gpu_watch.h"
#include "agent/edge/run/run_agent.h"
#include "agent/hardware/inventory_rules.h"
#include "agent/isolation/room_plan.h"
#include "agent/step/node_interface.h"
#include "gossip/base/ids.h"
#include "gossip/base/result.h"

namespace muster::agent {

class HostHardware {
 public:
  /// offer() waits so long for the first reading. Without one the host offers nothing yet.
  static constexpr Duration kFirstLook = std::chrono::seconds(3);

  /// `gpus` is "auto" or "" (the GPUs that the machine has), "none", "nvml:PATH" (through the
  /// library at PATH), or as read_inventory() takes it. `traits` are those of the host beside its
  /// GPUs, and `room` is what rooms are made from beside their nodes.
  HostHardware(std::string gpus, scheduler::HostTraits traits,
               std::string executable = "/proc/self/exe", RoomHost room = {},
               HardwareSettings settings = {});

  /// The offer as it is now. Looks for GPUs at the first call. kInvalid: `gpus` is not understood.
  Result<HardwareChanged> offer(HostId host);

  /// Reads the kernel's log from here on, if there is a GPU to watch. `is_from_now`: see
  /// KernelLog::open().
  void open_kernel_log(bool is_from_now);

  /// Changes with every call of this class; poll for POLLIN.
  std::vector<int> fds() const;
  void on_readable(int fd);
  Instant next_deadline() const;
  /// Obeys the clock. The offer, if it differs from the one that was told last.
  std::optional<HardwareChanged> take_change(Instant now);
  /// For HostGpus, which answers by commands.
  std::vector<gpus::Input> take_facts();
  void obey(const gpus::Command& command);
  std::vector<Event> take_events();
  /// With the nodes of the GPUs as they were read last.
  const RoomHost& room() const { return room_; }
  /// Whether room() differs from that of the last call.
  bool take_new_room();

 private:
  /// A GPU that was offered once. It stays in the offer until the agent starts again.
  struct Listed {
    crdt::Gpu gpu;
    std::uint32_t island = 0;
  };

  void find_gpus();
  void wait_for_first_look();
  void take_view();
  void tell_notes(const std::vector<std::string>& notes);
  void list(const HardwareOffer& offer);
  void note_nodes(const MachineReading& machine);
  HardwareChanged found() const;

  std::string gpus_;
  scheduler::HostTraits traits_;
  std::string executable_;
  RoomHost room_;
  bool has_new_room_ = false;
  bool is_started_ = false;
  std::unique_ptr<GpuProber> prober_;  ///< nullptr = there is nothing to watch.
  GpuWatch watch_;
  HardwareOffer offer_;   ///< The last one of any reading.
  std::string gpu_type_;  ///< Of all that are listed.
  std::vector<Listed> listed_;
  std::optional<HardwareChanged> told_;
  std::vector<std::string> told_notes_;
  std::vector<Event> events_;
};

}  // namespace muster::agent
