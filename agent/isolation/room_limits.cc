#include "agent/isolation/room_limits.h"

#include <algorithm>
#include <charconv>

#include "scheduler/protocol/codec.h"

namespace muster::agent {
namespace {

using Kind = RoomStep::Kind;

constexpr std::uint32_t kOpenToAllMode = 01777;
constexpr int kMegabyteShift = 20;
/// Of the kernel's names of processes.
constexpr std::size_t kNameShown = 15;

std::uint64_t number_of(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// Rounded up, so that what is above a limit reads as more than it.
std::string megabytes(std::uint64_t bytes) {
  const std::uint64_t rest = bytes & ((std::uint64_t{1} << kMegabyteShift) - 1);
  return std::to_string((bytes >> kMegabyteShift) + (rest != 0 ? 1 : 0)) + "M";
}

void read_control(const RoomStep& step, RoomLimits& limits) {
  const std::string_view file = std::string_view(step.at).substr(step.at.rfind('/') + 1);
  if (file == "memory.max") {
    limits.memory_bytes = number_of(step.what);
  } else if (file == "pids.max") {
    limits.processes = number_of(step.what);
  } else if (file == "cpuset.cpus") {
    limits.cpus = parse_cpu_list(step.what).value_or(CpuList());
  }
}

void read_one(const RoomStep& step, RoomLimits& limits) {
  switch (step.kind) {
    case Kind::kControl:
      read_control(step, limits);
      return;
    case Kind::kRanks:
      limits.group = step.at;
      return;
    case Kind::kTmpfs:
      if (step.mode == kOpenToAllMode) {
        limits.files.push_back(step.at);
      }
      return;
    case Kind::kAffinity:
      limits.affinity = limits.cpus = parse_cpu_list(step.what).value_or(CpuList());
      return;
    case Kind::kWatchMemory:
      limits.memory_bytes = step.bytes;
      limits.is_memory_watched = true;
      return;
    case Kind::kWatchProcesses:
      limits.processes = step.bytes;
      limits.are_processes_counted = true;
      return;
    case Kind::kGroup:
    case Kind::kDevices:
    case Kind::kBind:
    case Kind::kLink:
    case Kind::kTerminals:
    case Kind::kMove:
    case Kind::kJoin:
    case Kind::kShow:
      return;
  }
}

/// Other programs show it as it is.
std::string plain(const std::string& name) {
  std::string text = name.substr(0, kNameShown);
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c <= ' ' || c >= 0x7f; }, '?');
  return text;
}

}  // namespace

RoomLimits limits_of(const RoomPlan& plan) {
  RoomLimits limits;
  for (const RoomStep& step : plan.steps) {
    read_one(step, limits);
  }
  return limits;
}

std::string text_of(const MemoryEnd& end) {
  std::string text = "out of memory: ";
  text += end.peak_bytes == 0 ? "the limit is " + megabytes(end.limit_bytes)
                              : megabytes(end.peak_bytes) + " of " + megabytes(end.limit_bytes);
  const std::string files =
      end.files_bytes >> kMegabyteShift == 0 ? "" : "files " + megabytes(end.files_bytes);
  std::string mark = "; ";
  for (std::size_t i = 0; i < std::min(end.biggest.size(), kBigProcessesMax); ++i) {
    const BigProcess& one = end.biggest[i];
    const std::string words =
        mark + plain(one.name) + "[" + std::to_string(one.pid) + "] " + megabytes(one.bytes);
    if (text.size() + words.size() + mark.size() + files.size() > scheduler::kDetailBytesMax) {
      break;
    }
    text += words;
    mark = ", ";
  }
  return files.empty() ? text : text + mark + files;
}

std::string processes_end_text(std::uint64_t limit, std::uint64_t peak) {
  return "too many processes: " + (peak == 0
                                       ? "the limit is " + std::to_string(limit)
                                       : std::to_string(peak) + " of " + std::to_string(limit));
}

void RefusedForks::saw(std::uint64_t count, Instant now) {
  if (count > count_) {
    count_ = count;
    rose_at_ = now;
  }
}

std::uint64_t counter_in(std::string_view text, std::string_view name) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    if (line.starts_with(name) && line.size() > name.size() && line[name.size()] == ' ') {
      return number_of(line.substr(name.size() + 1));
    }
    at = end + 1;
  }
  return 0;
}

}  // namespace muster::agent
