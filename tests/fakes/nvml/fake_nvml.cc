// A management library of GPUs that are files: libnvidia-ml.so.1 with the binary interface of
// agent/edge/gpu/nvml_api.h, for tests. The folder MUSTER_FAKE_NVML holds `machine`, `gpu0`,
// `gpu1`... and `events`, each of key=value lines; fake_machine.h writes them and lists the keys.
// Each call reads them again. FAKE_NVML_OLD leaves out the younger functions.

#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "agent/edge/gpu/nvml_api.h"

namespace {

using namespace muster::agent::nvml;  // NOLINT: the whole file is about them.

using Values = std::map<std::string, std::string>;

std::string folder() {
  const char* path = std::getenv("MUSTER_FAKE_NVML");
  return path == nullptr ? "/nonexistent" : path;
}

struct CachedFile {
  struct stat facts {};
  Values values;
};

/// Of a file that is always replaced, never changed.
const Values& values_of(const std::string& name) {
  static std::map<std::string, CachedFile> cache;
  const std::string path = folder() + "/" + name;
  CachedFile& file = cache[path];
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0) {
    file = {};
    return file.values;
  }
  if (facts.st_ino == file.facts.st_ino && facts.st_size == file.facts.st_size &&
      std::memcmp(&facts.st_mtim, &file.facts.st_mtim, sizeof facts.st_mtim) == 0) {
    return file.values;
  }
  file.values.clear();
  file.facts = facts;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    const std::size_t equals = line.find('=');
    if (equals != std::string::npos) {
      file.values[line.substr(0, equals)] = line.substr(equals + 1);
    }
  }
  return file.values;
}

const std::string* text(const Values& values, const std::string& key) {
  const auto found = values.find(key);
  return found == values.end() ? nullptr : &found->second;
}

unsigned long long number(const Values& values, const std::string& key,
                          unsigned long long otherwise = 0) {
  const std::string* found = text(values, key);
  return found == nullptr ? otherwise : std::strtoull(found->c_str(), nullptr, 0);
}

bool is_set(const Values& values, const std::string& key) {
  return text(values, key) != nullptr;
}

void sleep_ms(unsigned long long milliseconds) {
  if (milliseconds == 0) {
    return;  // Even the shortest sleep takes the slack of a timer.
  }
  const timespec time{static_cast<time_t>(milliseconds / 1000),
                      static_cast<long>(milliseconds % 1000 * 1000000)};
  nanosleep(&time, nullptr);
}

[[noreturn]] void hang() {
  while (true) {
    sleep_ms(1000000);
  }
}

/// Handles are numbers: 1000 + GPU, or 2000 + 100 x GPU + instance.
constexpr std::size_t kGpuHandles = 1000;
constexpr std::size_t kInstanceHandles = 2000;
constexpr std::size_t kGpusMax = 256;

Device handle_of(std::size_t gpu) {
  return reinterpret_cast<Device>(kGpuHandles + gpu);
}

std::size_t gpu_of(Device device) {
  const auto handle = reinterpret_cast<std::size_t>(device);
  return handle >= kInstanceHandles ? (handle - kInstanceHandles) / 100 : handle - kGpuHandles;
}

/// The part of `instanceN`=uuid,gpu instance,compute instance,slices,megabytes; "" = a whole GPU.
std::string instance_part(Device device, std::size_t part) {
  const auto handle = reinterpret_cast<std::size_t>(device);
  if (handle < kInstanceHandles) {
    return "";
  }
  const Values& gpu = values_of("gpu" + std::to_string(gpu_of(device)));
  const std::string* found = text(gpu, "instance" + std::to_string(handle % 100));
  std::istringstream in(found == nullptr ? "" : *found);
  std::string value;
  for (std::size_t i = 0; i <= part; ++i) {
    std::getline(in, value, ',');
  }
  return value;
}

struct Call {
  const Values& gpu;
  Return result;
};

/// Each function about a GPU comes by here: its faults work the same in all of them.
Call enter(Device device, const std::string& function) {
  const Values& gpu = values_of("gpu" + std::to_string(gpu_of(device)));
  if (is_set(gpu, "hang") || is_set(gpu, "hang_" + function)) {
    hang();
  }
  if (is_set(gpu, "crash")) {
    std::abort();
  }
  sleep_ms(number(gpu, "slow_ms"));
  if (is_set(gpu, "lost") && function != "handle") {
    return {gpu, Return::kGpuIsLost};
  }
  return {gpu, static_cast<Return>(number(gpu, "error_" + function, 0))};
}

bool failed(const Call& call) {
  return call.result != Return::kSuccess;
}

Return copy_text(const std::string& from, char* to, unsigned size, bool is_unterminated = false) {
  if (is_unterminated) {
    std::memset(to, 'A', size);
    return Return::kSuccess;
  }
  if (from.size() >= size) {
    return Return::kInsufficientSize;
  }
  std::memcpy(to, from.c_str(), from.size() + 1);
  return Return::kSuccess;
}

void copy_pci(const std::string& id, PciInfo* info) {
  *info = {};
  std::snprintf(info->id, sizeof info->id, "%s", id.c_str());
}

template <class T>
Return tell(Device device, const std::string& function, const std::string& key, T* value) {
  const Call call = enter(device, function);
  if (failed(call)) {
    return call.result;
  }
  if (!is_set(call.gpu, key)) {
    return Return::kNotSupported;
  }
  *value = static_cast<T>(number(call.gpu, key));
  return Return::kSuccess;
}

long long now_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

bool lives(unsigned pid) {
  return kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM;
}

/// `processes`=PID:BYTES,... A process that has ended is not listed, unless `ghosts` is set.
std::vector<Process> processes_of(const Values& gpu, bool with_dead) {
  std::vector<Process> found;
  const std::string* list = text(gpu, "processes");
  std::istringstream in(list == nullptr ? "" : *list);
  for (std::string entry; std::getline(in, entry, ',');) {
    Process process{};
    process.pid = static_cast<unsigned>(std::strtoul(entry.c_str(), nullptr, 10));
    const std::size_t colon = entry.find(':');
    process.used_bytes = colon == std::string::npos
                             ? kNotAvailable
                             : std::strtoull(entry.c_str() + colon + 1, nullptr, 10);
    process.gpu_instance = kNoInstance;
    process.compute_instance = kNoInstance;
    if (with_dead || is_set(gpu, "ghosts") || lives(process.pid)) {
      found.push_back(process);
    }
  }
  return found;
}

/// Memory of processes. That of dead ones stays `free_late_ms` longer; for ever if that is -1.
unsigned long long held_bytes(const Values& gpu) {
  // By GPU. One that is not listed any more is forgotten, for the kernel gives its number again.
  static std::map<std::string, std::map<unsigned, long long>> seen_dead;
  const std::string* uuid = text(gpu, "uuid");
  std::map<unsigned, long long>& before = seen_dead[uuid == nullptr ? "" : *uuid];
  std::map<unsigned, long long> dead;
  const std::string* late = text(gpu, "free_late_ms");
  const long long late_ms = late == nullptr ? 0 : std::atoll(late->c_str());
  unsigned long long held = 0;
  for (const Process& process : processes_of(gpu, true)) {
    const bool is_dead = !is_set(gpu, "ghosts") && !lives(process.pid);
    const auto earlier = before.find(process.pid);
    const long long since = earlier == before.end() ? now_ms() : earlier->second;
    if (is_dead) {
      dead.emplace(process.pid, since);
    }
    if (process.used_bytes != kNotAvailable &&
        (!is_dead || late_ms < 0 || now_ms() - since < late_ms)) {
      held += process.used_bytes;
    }
  }
  before = std::move(dead);
  return held;
}

Return list_processes(Device device, const std::string& function, unsigned* count, Process* to) {
  const Call call = enter(device, function);
  if (failed(call)) {
    return call.result;
  }
  const std::vector<Process> found = processes_of(call.gpu, false);
  const auto room = std::exchange(*count, static_cast<unsigned>(found.size()));
  if (is_set(call.gpu, "processes_count")) {
    *count = static_cast<unsigned>(number(call.gpu, "processes_count"));
  }
  if (found.size() > room) {
    return Return::kInsufficientSize;
  }
  std::copy(found.begin(), found.end(), to);
  return Return::kSuccess;
}

Return start() {
  const Values& machine = values_of("machine");
  if (is_set(machine, "hang_init")) {
    hang();
  }
  sleep_ms(number(machine, "slow_init_ms"));
  return machine.empty() ? Return::kDriverNotLoaded
                         : static_cast<Return>(number(machine, "error_init"));
}

struct FakeEvents {
  std::size_t lines_seen = 0;
  unsigned long long enrolled[kGpusMax] = {};
};

std::vector<std::string> event_lines() {
  std::ifstream in(folder() + "/events");
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line) && !in.eof();) {
    lines.push_back(line);
  }
  return lines;
}

}  // namespace

// NOLINTBEGIN: the real library has these names.
extern "C" {

Return nvmlInit_v2() {
  return start();
}
Return nvmlShutdown() {
  return Return::kSuccess;
}

const char* nvmlErrorString(Return code) {
  switch (static_cast<int>(code)) {
    case 3:
      return "Not Supported";
    case 9:
      return "Driver Not Loaded";
    case 15:
      return "GPU is lost";
    case 16:
      return "GPU requires reset";
    default:
      return "Unknown Error";
  }
}

Return nvmlSystemGetDriverVersion(char* to, unsigned size) {
  const std::string* driver = text(values_of("machine"), "driver");
  return driver == nullptr ? Return::kNotSupported : copy_text(*driver, to, size);
}

Return nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = static_cast<int>(number(values_of("machine"), "cuda"));
  return *version == 0 ? Return::kNotSupported : Return::kSuccess;
}

Return nvmlDeviceGetCount_v2(unsigned* count) {
  const Values& machine = values_of("machine");
  *count = static_cast<unsigned>(number(machine, "count"));
  return static_cast<Return>(number(machine, "error_count"));
}

Return nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* device) {
  if (index >= kGpusMax || values_of("gpu" + std::to_string(index)).empty()) {
    return Return::kInvalidArgument;
  }
  *device = handle_of(index);
  return enter(*device, "handle").result;
}

Return nvmlDeviceGetHandleByPciBusId_v2(const char* id, Device* device) {
  for (std::size_t gpu = 0; gpu < kGpusMax; ++gpu) {
    const Values& values = values_of("gpu" + std::to_string(gpu));
    if (values.empty()) {
      break;
    }
    const std::string* pci = text(values, "pci");
    if (pci != nullptr && pci->size() >= std::strlen(id) &&
        strcasecmp(pci->c_str() + pci->size() - std::strlen(id), id) == 0) {
      *device = handle_of(gpu);
      return enter(*device, "handle").result;
    }
  }
  return Return::kNotFound;
}

Return nvmlDeviceGetUUID(Device device, char* to, unsigned size) {
  const Call call = enter(device, "uuid");
  if (failed(call)) {
    return call.result;
  }
  const std::string instance = instance_part(device, 0);
  const std::string* uuid = text(call.gpu, "uuid");
  return !instance.empty() ? copy_text(instance, to, size)
         : uuid == nullptr ? Return::kNotSupported
                           : copy_text(*uuid, to, size, is_set(call.gpu, "uuid_unterminated"));
}

Return nvmlDeviceGetName(Device device, char* to, unsigned size) {
  const Call call = enter(device, "name");
  const std::string* name = text(call.gpu, "name");
  return failed(call)      ? call.result
         : name == nullptr ? Return::kNotSupported
                           : copy_text(*name, to, size);
}

Return nvmlDeviceGetPciInfo_v3(Device device, PciInfo* info) {
  const Call call = enter(device, "pci");
  const std::string* pci = text(call.gpu, "pci");
  if (failed(call) || pci == nullptr) {
    return failed(call) ? call.result : Return::kNotSupported;
  }
  copy_pci(*pci, info);
  return Return::kSuccess;
}

Return nvmlDeviceGetMinorNumber(Device device, unsigned* minor) {
  return tell(device, "minor", "minor", minor);
}

Return nvmlDeviceGetMemoryAffinity(Device device, unsigned size, unsigned long* nodes, unsigned) {
  unsigned node = 0;
  const Return told = tell(device, "numa", "numa", &node);
  std::fill(nodes, nodes + size, 0UL);
  if (told == Return::kSuccess && node < 64 * size) {
    nodes[node / 64] = 1UL << (node % 64);
  }
  return told;
}

Return nvmlDeviceGetTopologyCommonAncestor(Device device, Device other, int* level) {
  return tell(device, "ancestor", "ancestor" + std::to_string(gpu_of(other)), level);
}

// `linkN` = switch, down, or the PCI id of the GPU at the other end.
Return nvmlDeviceGetNvLinkState(Device device, unsigned link, int* is_active) {
  const Call call = enter(device, "nvlink");
  const std::string* end = text(call.gpu, "link" + std::to_string(link));
  if (failed(call) || end == nullptr) {
    return failed(call) ? call.result
           : link < 18  ? Return::kNotSupported
                        : Return::kInvalidArgument;
  }
  *is_active = *end == "down" ? 0 : 1;
  return Return::kSuccess;
}

Return nvmlDeviceGetNvLinkRemotePciInfo_v2(Device device, unsigned link, PciInfo* info) {
  const Call call = enter(device, "nvlink");
  const std::string* end = text(call.gpu, "link" + std::to_string(link));
  if (failed(call) || end == nullptr || *end == "down") {
    return failed(call) ? call.result : Return::kNotSupported;
  }
  copy_pci(*end == "switch" ? "00000000:C0:00.0" : *end, info);
  return Return::kSuccess;
}

Return nvmlDeviceGetMigMode(Device device, unsigned* now, unsigned* pending) {
  *pending = 0;
  return tell(device, "mig", "mig", now);
}

Return nvmlDeviceGetMaxMigDeviceCount(Device device, unsigned* count) {
  *count = 7;
  return enter(device, "mig").result;
}

Return nvmlDeviceGetMigDeviceHandleByIndex(Device device, unsigned index, Device* instance) {
  const Call call = enter(device, "mig");
  if (failed(call) || !is_set(call.gpu, "instance" + std::to_string(index))) {
    return failed(call) ? call.result : Return::kNotFound;
  }
  *instance = reinterpret_cast<Device>(kInstanceHandles + 100 * gpu_of(device) + index);
  return Return::kSuccess;
}

Return nvmlDeviceGetGpuInstanceId(Device instance, unsigned* id) {
  *id = static_cast<unsigned>(std::atoi(instance_part(instance, 1).c_str()));
  return enter(instance, "mig").result;
}

Return nvmlDeviceGetComputeInstanceId(Device instance, unsigned* id) {
  *id = static_cast<unsigned>(std::atoi(instance_part(instance, 2).c_str()));
  return enter(instance, "mig").result;
}

Return nvmlDeviceGetAttributes_v2(Device instance, MigAttributes* attributes) {
  *attributes = {};
  attributes->compute_slices = static_cast<unsigned>(std::atoi(instance_part(instance, 3).c_str()));
  attributes->memory_mb = std::strtoull(instance_part(instance, 4).c_str(), nullptr, 10);
  return enter(instance, "mig").result;
}

Return nvmlDeviceGetTotalEccErrors(Device device, int severity, int, unsigned long long* count) {
  return tell(device, "ecc", severity == kCorrected ? "ecc_corrected" : "ecc_uncorrected", count);
}

Return nvmlDeviceGetCurrentClocksThrottleReasons(Device device, unsigned long long* reasons) {
  return tell(device, "throttle", "throttle", reasons);
}

Return nvmlDeviceGetUtilizationRates(Device device, Utilization* use) {
  use->memory = 0;
  return tell(device, "utilization", "utilization", &use->gpu);
}

Return nvmlDeviceGetTemperature(Device device, int, unsigned* celsius) {
  return tell(device, "temperature", "temperature", celsius);
}

Return nvmlDeviceGetPowerUsage(Device device, unsigned* milliwatts) {
  return tell(device, "power", "power", milliwatts);
}

Return nvmlDeviceGetClockInfo(Device device, int, unsigned* mhz) {
  return tell(device, "clock", "clock", mhz);
}

#ifndef FAKE_NVML_OLD
Return nvmlInitWithFlags(unsigned) {
  return start();
}

Return nvmlDeviceGetMemoryInfo_v2(Device device, Memory* memory) {
  const Call call = enter(device, "memory");
  if (failed(call)) {
    return call.result;
  }
  if (memory->version != kMemoryVersion) {
    return static_cast<Return>(25);
  }
  memory->total = number(call.gpu, "memory_total");
  memory->reserved = number(call.gpu, "memory_reserved");
  memory->used = number(call.gpu, "memory_used") + held_bytes(call.gpu);
  memory->free = memory->total - memory->reserved - memory->used;
  return Return::kSuccess;
}

Return nvmlDeviceGetComputeRunningProcesses_v3(Device device, unsigned* count, Process* processes) {
  return list_processes(device, "processes", count, processes);
}

Return nvmlDeviceGetGraphicsRunningProcesses_v3(Device, unsigned* count, Process*) {
  *count = 0;
  return Return::kSuccess;
}

Return nvmlDeviceGetNvLinkRemoteDeviceType(Device device, unsigned link, int* type) {
  const Call call = enter(device, "nvlink");
  const std::string* end = text(call.gpu, "link" + std::to_string(link));
  *type = end != nullptr && *end == "switch" ? kRemoteSwitch : kRemoteGpu;
  return end == nullptr ? Return::kNotSupported : call.result;
}

Return nvmlDeviceGetRemappedRows(Device device, unsigned* corrected, unsigned* uncorrected,
                                 unsigned* is_pending, unsigned* has_failed) {
  const Call call = enter(device, "rows");
  *corrected = 0;
  *uncorrected = static_cast<unsigned>(number(call.gpu, "rows"));
  *is_pending = static_cast<unsigned>(number(call.gpu, "rows_pending"));
  *has_failed = static_cast<unsigned>(number(call.gpu, "rows_failed"));
  return call.result;
}

Return nvmlDeviceGetFieldValues(Device device, int count, FieldValue* values) {
  const Call call = enter(device, "fields");
  for (int i = 0; i < count; ++i) {
    const bool is_known = values[i].field == kFieldRecoveryAction && is_set(call.gpu, "recovery");
    values[i].result = is_known ? Return::kSuccess : Return::kNotSupported;
    values[i].value_type = kValueUnsigned;
    values[i].value.number = static_cast<unsigned>(number(call.gpu, "recovery"));
  }
  return call.result;
}

Return nvmlEventSetCreate(EventSet* set) {
  auto* events = new FakeEvents;
  events->lines_seen = event_lines().size();
  *set = reinterpret_cast<EventSet>(events);
  return Return::kSuccess;
}

Return nvmlDeviceRegisterEvents(Device device, unsigned long long types, EventSet set) {
  reinterpret_cast<FakeEvents*>(set)->enrolled[gpu_of(device) % kGpusMax] = types;
  return enter(device, "events").result;
}

// `events` = lines of "GPU CODE [GPU_INSTANCE COMPUTE_INSTANCE]", appended whole.
Return nvmlEventSetWait_v2(EventSet set, EventData* data, unsigned timeout_ms) {
  auto* events = reinterpret_cast<FakeEvents*>(set);
  static constexpr unsigned kLookMs = 5;
  for (unsigned waited = 0; waited <= timeout_ms; waited += kLookMs) {
    const std::vector<std::string> lines = event_lines();
    while (events->lines_seen < lines.size()) {
      std::istringstream in(lines[events->lines_seen++]);
      std::size_t gpu = 0;
      *data = {};
      data->gpu_instance = kNoInstance;
      data->compute_instance = kNoInstance;
      in >> gpu >> data->data;
      if (unsigned instance = 0; in >> instance) {
        data->gpu_instance = instance;
        in >> data->compute_instance;
      }
      if (gpu < kGpusMax && (events->enrolled[gpu] & kEventXid) != 0) {
        data->device = handle_of(gpu);
        data->type = kEventXid;
        return Return::kSuccess;
      }
    }
    sleep_ms(kLookMs);
  }
  return Return::kTimeout;
}

Return nvmlEventSetFree(EventSet set) {
  delete reinterpret_cast<FakeEvents*>(set);
  return Return::kSuccess;
}
#endif

}  // extern "C"
// NOLINTEND
