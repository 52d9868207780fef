#pragma once
// The room of a grant is the part of the host that its ranks see: a /dev with their own GPUs, a
// /tmp and a /dev/shm of their own, and a control group that keeps them there. This file says which
// steps make it, from what the grant was given and what the host can do. The agent makes the plan
// and leaves it in the directory of the grant; the supervisor carries it out before it says that it
// is prepared (agent/edge/isolation/room_maker). A step that fails is a refusal of the grant, not a
// failed attempt. Pure.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/isolation/abilities.h"
#include "agent/isolation/cpu_list.h"

namespace muster::agent {

inline constexpr std::size_t kRoomStepsMax = 512;
inline constexpr std::size_t kRoomDevicesMax = 256;
inline constexpr std::size_t kRoomPathBytesMax = 4096;
/// In the directory of the grant: the plan, and the place where its /dev grows.
inline constexpr char kRoomFile[] = "room";
inline constexpr char kRoomStage[] = "room.dev";
/// A smaller limit of memory is raised to this: below it no shell starts where the kernel counts
/// its own memory, too.
inline constexpr std::uint64_t kMemoryLimitMinMb = 16;
/// Processes and threads of a grant, by default: so many, and more for each CPU that it was given.
/// Lower: programs of many threads fail. Higher: a program that forks without end takes longer to
/// be stopped, and more of the numbers of the host (pid_max, usually 32,768 or 4 million).
inline constexpr std::uint64_t kProcessesBase = 4096;
inline constexpr std::uint64_t kProcessesPerCpu = 1024;

/// A character device.
struct DeviceNumber {
  std::uint32_t major = 0;
  std::optional<std::uint32_t> minor{};  ///< nullopt: every minor.
  auto operator<=>(const DeviceNumber&) const = default;
};

struct DeviceNode {
  std::string path;  ///< "/dev/nvidia0"
  DeviceNumber number;
  bool operator==(const DeviceNode&) const = default;
};

/// The share of a grant, and the user of its ranks.
struct RoomRequest {
  std::string token;              ///< Its text; a name of a directory.
  std::vector<std::string> gpus;  ///< uuids.
  std::uint64_t memory_mb = 0;    ///< Of all ranks together; 0 = not limited.
  std::string directory;          ///< Where the ranks start.
  bool are_agents_own = false;    ///< They run as the user of the agent.
  std::uint64_t milli_cpus = 0;   ///< Thousandths of a CPU, of all ranks together; 0 = not said.
  CpuList cpus{};                 ///< Theirs alone (choose_cpus()); empty = they share.
  bool are_ranks_root = false;    ///< They leave each group and mount if they want to.
  bool operator==(const RoomRequest&) const = default;
};

/// The abilities of a host, and its places. Changes only with its GPUs.
struct RoomHost {
  AbilitySet abilities;
  std::string group_root;      ///< A directory of control groups (v2) for grants; "" = there is no.
  std::string data_directory;  ///< DATA, which no rank sees.
  std::string agent_socket;    ///< Where ranks may ask the agent.
  std::uint64_t memory_mb = 0;
  std::map<std::string, DeviceNode> gpus;  ///< By uuid.
  bool are_simulated = true;       ///< GPUs have no nodes. Else one that is not in `gpus` is gone.
  std::vector<DeviceNode> shared;  ///< The nodes for all ranks: nvidiactl, RDMA, `room_devices`.
  std::map<std::string, std::uint32_t> numa_nodes{};  ///< Of GPUs that have one, by uuid.
  std::uint64_t processes_base = kProcessesBase;
  bool operator==(const RoomHost&) const = default;
};

struct RoomStep {
  /// The numbers stand in files of grants: never reused.
  enum class Kind : std::uint8_t {
    kGroup = 0,    ///< Make the control group `at`.
    kControl = 1,  ///< Write `what` into the file `at` of a control group; it may lack.
    kDevices = 2,  ///< Ranks of the control group `at` open no character devices but `devices`.
    kTmpfs = 3,    ///< An empty file system at `at`, of at most `bytes`, with `mode`.
    kBind = 4,  ///< The file or folder of `what`, as it was before the first step, appears at `at`.
    kLink = 5,  ///< A symbolic link at `at` to `what`.
    kTerminals = 6,  ///< Pseudo terminals of its own at `at`.
    kMove = 7,       ///< The file system at `what` moves to `at`.
    kJoin = 8,       ///< The supervisor goes into the control group `at`.
    kRanks = 9,      ///< Each rank begins in the control group `at`.
    kShow = 10,      ///< The folder `what` of the host's /tmp appears at its place in the new one.
    // For hosts without such a control group.
    kAffinity = 11,        ///< Each rank begins on the processors `what`.
    kWatchMemory = 12,     ///< The supervisor ends a grant that uses more than `bytes`.
    kWatchProcesses = 13,  ///< The supervisor ends a grant of more than `bytes` processes.
  };
  Kind kind{};
  std::string at{};
  std::string what{};
  std::uint64_t bytes = 0;
  std::uint32_t mode = 0;
  bool may_lack = false;  ///< kBind, kTmpfs, kControl: what is not there is left out.
  std::vector<DeviceNumber> devices{};
  bool operator==(const RoomStep&) const = default;
};

struct RoomPlan {
  std::vector<RoomStep> steps;
  /// The abilities that the host lacks, for people; "" = it has all.
  std::string lacking;
  /// For people, what holds the ranks to each share: "memory 64 MiB, watched each 250 ms; ...".
  std::string held{};
  bool operator==(const RoomPlan&) const = default;
};

/// Steps in their order. A GPU whose node is not known, and that is not simulated, makes a step
/// that fails: no rank runs without a GPU that it was given.
RoomPlan plan_of_room(const RoomRequest& request, const RoomHost& host);

/// A line a step, for `muster show JOB --room`.
std::string text_of(const RoomStep& step);

/// The file "room" of a grant: [version, lacking, [steps], held]. An unknown kind of step refuses
/// the whole plan: a room without it would be another room.
std::string encode(const RoomPlan& plan);
std::optional<RoomPlan> decode_room_plan(std::string_view bytes);

}  // namespace muster::agent
