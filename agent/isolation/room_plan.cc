#include "agent/isolation/room_plan.h"

#include <algorithm>
#include <set>
#include <utility>

#include "gossip/wire/wire.h"

namespace muster::agent {
namespace {

using Kind = RoomStep::Kind;

constexpr std::uint64_t kVersion = 2;
constexpr char kTmp[] = "/tmp";
constexpr std::uint64_t kMegabyte = 1U << 20;
constexpr std::uint64_t kMilliPerCpu = 1000;
constexpr std::uint64_t kWeightMin = 1;
constexpr std::uint64_t kWeightMax = 10000;
/// Nodes and links of /dev take no pages, and files of it would be a leak.
constexpr std::uint64_t kDevBytes = 64U << 10;
constexpr std::uint32_t kOpenToAll = 01777;
constexpr std::uint32_t kReadable = 0755;

constexpr std::uint32_t kMemoryMajor = 1;
constexpr std::uint32_t kTtyMajor = 5;
constexpr std::uint32_t kPtsMajor = 136;

/// Devices that any program may expect.
const std::vector<DeviceNode>& usual_nodes() {
  static const std::vector<DeviceNode> kNodes = {
      {"/dev/null", {kMemoryMajor, 3}},    {"/dev/zero", {kMemoryMajor, 5}},
      {"/dev/full", {kMemoryMajor, 7}},    {"/dev/random", {kMemoryMajor, 8}},
      {"/dev/urandom", {kMemoryMajor, 9}}, {"/dev/tty", {kTtyMajor, 0}}};
  return kNodes;
}

std::string name_in_dev(const std::string& path) {
  return path.substr(std::min(path.size(), std::string("/dev").size()));
}

std::string size_text(std::uint64_t bytes) {
  return bytes % kMegabyte == 0 ? std::to_string(bytes / kMegabyte) + " MiB"
                                : std::to_string(bytes / 1024) + " KiB";
}

bool is_below(const std::string& path, const std::string& folder) {
  return !folder.empty() && path.size() > folder.size() && path.starts_with(folder) &&
         path[folder.size()] == '/';
}

class Planner {
 public:
  Planner(const RoomRequest& request, const RoomHost& host) : request_(request), host_(host) {}

  RoomPlan make() {
    for (const std::string& uuid : request_.gpus) {
      if (const auto found = host_.gpus.find(uuid); found != host_.gpus.end()) {
        gpus_.push_back(found->second);
      } else if (!host_.are_simulated) {
        add(Kind::kBind, "/dev/node-of-" + uuid, "/dev/node-of-" + uuid);
      }
    }
    add_group();
    add_fallbacks();
    add_mounts();
    say_lacking();
    say_held();
    return std::move(plan_);
  }

 private:
  RoomStep& add(Kind kind, std::string at, std::string what = "") {
    plan_.steps.push_back({kind, std::move(at), std::move(what)});
    return plan_.steps.back();
  }

  void add_group() {
    if (host_.group_root.empty()) {
      return;
    }
    const std::string group = host_.group_root + "/" + request_.token;
    add(Kind::kGroup, group);
    add(Kind::kGroup, group + "/supervisor");
    add(Kind::kGroup, group + "/ranks");
    add(Kind::kJoin, group + "/supervisor");
    if (host_.abilities.has(Ability::kDevices)) {
      add(Kind::kDevices, group + "/ranks").devices = allowed_devices();
    }
    add_limits(group);
    add(Kind::kRanks, group + "/ranks");
  }

  /// The weight counts among grants, and the rest holds ranks alone: a supervisor has to live on.
  void add_limits(const std::string& group) {
    const std::string ranks = group + "/ranks";
    std::string controllers;
    for (const auto& [ability, names] : {std::pair{Ability::kMemory, "+memory"},
                                         {Ability::kCpu, "+cpu +cpuset"},
                                         {Ability::kPids, "+pids"}}) {
      if (is_by_group(ability)) {
        controllers += (controllers.empty() ? "" : " ") + std::string(names);
      }
    }
    if (controllers.empty()) {
      return;
    }
    add(Kind::kControl, group + "/cgroup.subtree_control", controllers);
    if (is_by_group(Ability::kMemory) && request_.memory_mb != 0) {
      add(Kind::kControl, ranks + "/memory.max", std::to_string(memory_bytes()));
      add(Kind::kControl, ranks + "/memory.swap.max", "0").may_lack = true;
      add(Kind::kControl, ranks + "/memory.oom.group", "1");
    }
    if (is_by_group(Ability::kCpu)) {
      if (request_.milli_cpus != 0) {
        add(Kind::kControl, group + "/cpu.weight", std::to_string(weight()));
      }
      if (!request_.cpus.empty()) {
        add(Kind::kControl, ranks + "/cpuset.cpus", encode_cpu_list(request_.cpus));
      }
    }
    if (is_by_group(Ability::kPids)) {
      add(Kind::kControl, ranks + "/pids.max", std::to_string(processes()));
    }
  }

  void add_fallbacks() {
    if (!is_by_group(Ability::kCpu) && !request_.cpus.empty()) {
      add(Kind::kAffinity, "", encode_cpu_list(request_.cpus));
    }
    if (!is_by_group(Ability::kMemory) && request_.memory_mb != 0) {
      add(Kind::kWatchMemory, "").bytes = memory_bytes();
    }
    if (!is_by_group(Ability::kPids)) {
      add(Kind::kWatchProcesses, "").bytes = processes();
    }
  }

  bool is_by_group(Ability ability) const {
    return !host_.group_root.empty() && host_.abilities.has(ability);
  }

  std::uint64_t memory_bytes() const {
    return std::max(request_.memory_mb, kMemoryLimitMinMb) * kMegabyte;
  }

  std::uint64_t processes() const {
    return host_.processes_base + request_.milli_cpus * kProcessesPerCpu / kMilliPerCpu;
  }

  /// The kernel's default of 100 is one CPU.
  std::uint64_t weight() const {
    return std::clamp<std::uint64_t>(request_.milli_cpus / 10, kWeightMin, kWeightMax);
  }

  std::vector<DeviceNumber> allowed_devices() const {
    std::set<DeviceNumber> allowed = {{kTtyMajor, 2}, {kPtsMajor, std::nullopt}};
    for (const auto* nodes : {&usual_nodes(), &host_.shared, &gpus_}) {
      for (const DeviceNode& node : *nodes) {
        allowed.insert(node.number);
      }
    }
    return {allowed.begin(), allowed.end()};
  }

  void add_mounts() {
    if (!host_.abilities.has(Ability::kMounts)) {
      return;
    }
    add_dev();
    const std::uint64_t memory_mb =
        request_.memory_mb != 0 ? request_.memory_mb : host_.memory_mb / 2;
    add_tmpfs("/dev/shm", memory_mb * kMegabyte, kOpenToAll);
    add_tmpfs(kTmp, memory_mb * kMegabyte, kOpenToAll);
    if (!request_.are_agents_own) {
      add_tmpfs("/run/user", kDevBytes, kReadable);
      plan_.steps.back().may_lack = true;
    }
    const std::string shown = shown_directory();
    if (!shown.empty()) {
      add(Kind::kShow, kTmp, shown.substr(std::string(kTmp).size() + 1));
    }
    // It may lie in the directory that is shown.
    const bool is_seen = !is_covered(host_.data_directory) || is_below(host_.data_directory, shown);
    if (is_seen && !host_.data_directory.empty()) {
      add_tmpfs(host_.data_directory, kDevBytes, kReadable);
    }
    if (request_.are_agents_own && is_hidden(host_.agent_socket)) {
      add(Kind::kBind, host_.agent_socket, host_.agent_socket).may_lack = true;
    }
  }

  /// The directory of the job if it is in /tmp, with plain names alone; else "". Not that of the
  /// agent.
  std::string shown_directory() const {
    std::string plain;
    const std::string& said = request_.directory;
    for (std::size_t at = 0; at < said.size();) {
      const std::size_t end = std::min(said.find('/', at), said.size());
      const std::string name = said.substr(at, end - at);
      if (name == "..") {
        return "";
      }
      plain += name.empty() || name == "." ? "" : "/" + name;
      at = end + 1;
    }
    const bool is_data = plain == host_.data_directory || is_below(plain, host_.data_directory);
    return said.starts_with('/') && is_below(plain, kTmp) && !is_data ? plain : "";
  }

  void add_dev() {
    add_tmpfs(kRoomStage, kDevBytes, kReadable);
    const std::string stage = kRoomStage;
    for (const auto* nodes : {&usual_nodes(), &host_.shared, &std::as_const(gpus_)}) {
      for (const DeviceNode& node : *nodes) {
        add(Kind::kBind, stage + name_in_dev(node.path), node.path).may_lack = nodes != &gpus_;
      }
    }
    add(Kind::kTerminals, stage + "/pts");
    const std::pair<const char*, const char*> kLinks[] = {{"/ptmx", "pts/ptmx"},
                                                          {"/fd", "/proc/self/fd"},
                                                          {"/stdin", "/proc/self/fd/0"},
                                                          {"/stdout", "/proc/self/fd/1"},
                                                          {"/stderr", "/proc/self/fd/2"}};
    for (const auto& [name, target] : kLinks) {
      add(Kind::kLink, stage + name, target);
    }
    add(Kind::kMove, "/dev", stage);
  }

  void add_tmpfs(const std::string& at, std::uint64_t bytes, std::uint32_t mode) {
    RoomStep& step = add(Kind::kTmpfs, at);
    step.bytes = bytes;
    step.mode = mode;
  }

  static bool is_covered(const std::string& path) {
    return is_below(path, kTmp) || is_below(path, "/dev/shm");
  }

  bool is_hidden(const std::string& path) const {
    return is_covered(path) || is_below(path, host_.data_directory);
  }

  void say_lacking() {
    for (const Ability ability : kAbilities) {
      if (!host_.abilities.has(ability)) {
        plan_.lacking += (plan_.lacking.empty() ? "" : ", ") + std::string(text_of(ability));
      }
    }
  }

  void say_held() {
    static constexpr char kGroup[] = ", by control group";
    static constexpr char kEachLook[] = " each 250 ms";
    std::string& held = plan_.held;
    held =
        request_.memory_mb == 0
            ? "memory not limited"
            : "memory " + size_text(memory_bytes()) +
                  (is_by_group(Ability::kMemory) ? kGroup : ", watched" + std::string(kEachLook));
    held += request_.cpus.empty() ? "; processors shared"
                                  : "; processors " + encode_cpu_list(request_.cpus) +
                                        (is_by_group(Ability::kCpu) ? kGroup : ", by affinity");
    held += "; processes " + std::to_string(processes()) +
            (is_by_group(Ability::kPids) ? kGroup : ", counted" + std::string(kEachLook));
    held += is_by_group(Ability::kDevices)          ? "; devices by control group"
            : host_.abilities.has(Ability::kMounts) ? "; devices by /dev alone"
                                                    : "; devices not held";
    held += request_.are_ranks_root ? "; ranks are root, who may leave all of it" : "";
  }

  const RoomRequest& request_;
  const RoomHost& host_;
  std::vector<DeviceNode> gpus_;
  RoomPlan plan_;
};

std::string text_of(const DeviceNumber& number) {
  return std::to_string(number.major) + ":" +
         (number.minor.has_value() ? std::to_string(*number.minor) : "*");
}

void write(gossip::Encoder& out, const RoomStep& step) {
  out.array(7).u64(static_cast<std::uint64_t>(step.kind)).text(step.at).text(step.what);
  out.u64(step.bytes).u64(step.mode);
  out.boolean(step.may_lack).array(step.devices.size());
  for (const DeviceNumber& number : step.devices) {
    // 0 = every minor.
    const std::uint64_t minor = number.minor.has_value() ? std::uint64_t{*number.minor} + 1 : 0;
    out.array(2).u64(number.major).u64(minor);
  }
}

RoomStep read_step(gossip::Reader in) {
  RoomStep step;
  step.kind = static_cast<Kind>(in.u64_at_most(static_cast<std::uint64_t>(Kind::kWatchProcesses)));
  step.at = in.text(kRoomPathBytesMax);
  step.what = in.text(kRoomPathBytesMax);
  step.bytes = in.u64();
  step.mode = static_cast<std::uint32_t>(in.u64_at_most(07777));
  step.may_lack = in.boolean();
  gossip::Reader devices = in.array_at_most(kRoomDevicesMax);
  while (devices.ok() && devices.left() > 0) {
    gossip::Reader one = devices.array();
    DeviceNumber number{static_cast<std::uint32_t>(one.u64_at_most(UINT32_MAX))};
    const std::uint64_t minor = one.u64_at_most(UINT32_MAX);
    if (minor > 0) {
      number.minor = static_cast<std::uint32_t>(minor - 1);
    }
    step.devices.push_back(number);
  }
  return step;
}

}  // namespace

RoomPlan plan_of_room(const RoomRequest& request, const RoomHost& host) {
  return Planner(request, host).make();
}

std::string text_of(const RoomStep& step) {
  switch (step.kind) {
    case Kind::kGroup:
      return "make control group " + step.at;
    case Kind::kControl:
      return "write " + step.what + " to " + step.at;
    case Kind::kDevices: {
      std::string text = "of devices allow";
      for (const DeviceNumber& number : step.devices) {
        text += " " + text_of(number);
      }
      return text + " in " + step.at;
    }
    case Kind::kTmpfs:
      return "mount an empty " + step.at + " of " + size_text(step.bytes);
    case Kind::kBind:
      return step.at == step.what ? "show " + step.what : "show " + step.what + " as " + step.at;
    case Kind::kLink:
      return "link " + step.at + " to " + step.what;
    case Kind::kTerminals:
      return "mount terminals at " + step.at;
    case Kind::kMove:
      return "put " + step.what + " at " + step.at;
    case Kind::kJoin:
      return "put the supervisor into " + step.at;
    case Kind::kRanks:
      return "start ranks in " + step.at;
    case Kind::kShow:
      return "show " + step.at + "/" + step.what + " if the user of the ranks reaches it";
    case Kind::kAffinity:
      return "start ranks on processors " + step.what;
    case Kind::kWatchMemory:
      return "end the grant above " + size_text(step.bytes) + " of memory";
    case Kind::kWatchProcesses:
      return "end the grant above " + std::to_string(step.bytes) + " processes";
  }
  return "";
}

std::string encode(const RoomPlan& plan) {
  gossip::Encoder out;
  out.array(4).u64(kVersion).text(plan.lacking).array(plan.steps.size());
  for (const RoomStep& step : plan.steps) {
    write(out, step);
  }
  out.text(plan.held);
  return out.take();
}

std::optional<RoomPlan> decode_room_plan(std::string_view bytes) {
  Result<gossip::Document> document = gossip::Document::parse(std::string(bytes));
  if (!document) {
    return std::nullopt;
  }
  gossip::Reader in = document->root();
  RoomPlan plan;
  const std::uint64_t version = in.u64();
  plan.lacking = in.text();
  gossip::Reader steps = in.array_at_most(kRoomStepsMax);
  while (steps.ok() && steps.left() > 0) {
    plan.steps.push_back(read_step(steps.array()));
  }
  plan.held = in.text();
  return in.ok() && version == kVersion ? std::optional(std::move(plan)) : std::nullopt;
}

}  // namespace muster::agent
