#include "agent/node/gpu_board.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace muster::agent {
namespace {

struct ThrottleWord {
  std::uint64_t bit = 0;
  std::string_view word;
};
/// nvmlClocksThrottleReason*, in the order of the bits.
constexpr ThrottleWord kThrottleWords[] = {
    {0x002, "app_clocks"}, {0x004, "power_cap"},  {0x008, "hw_slowdown"}, {0x010, "sync_boost"},
    {0x020, "sw_thermal"}, {0x040, "hw_thermal"}, {0x080, "power_brake"}, {0x100, "display"},
};
constexpr std::uint64_t kIdleBit = 0x001;

std::int64_t number(const std::optional<std::uint32_t>& value) {
  return value.has_value() ? std::int64_t{*value} : kNotRead;
}

std::int64_t number(std::uint64_t bytes) {
  return static_cast<std::int64_t>(std::min<std::uint64_t>(bytes, INT64_MAX));
}

void add_reading(GpuOnBoard& gpu, const GpuReading& reading) {
  gpu.name = reading.name;
  if (!reading.error.empty()) {
    gpu.evidence.push_back("not read: " + reading.error);
  }
  gpu.use_percent = number(reading.use.gpu_percent);
  gpu.celsius = number(reading.use.celsius);
  gpu.milliwatts = number(reading.use.milliwatts);
  gpu.throttle = throttle_words(reading.use.throttle_reasons);
  if (reading.memory.has_value()) {
    gpu.memory_used_bytes = number(reading.memory->used_bytes);
    gpu.memory_bytes = number(reading.memory->total_bytes);
  }
  if (!reading.processes.has_value()) {
    return;
  }
  for (const GpuProcess& process : *reading.processes) {
    if (gpu.processes.size() == kBoardProcessesMax) {
      gpu.processes_left_out = reading.processes->size() - kBoardProcessesMax;
      break;
    }
    gpu.processes.push_back(
        {process.pid, process.used_bytes.has_value() ? number(*process.used_bytes) : kNotRead});
  }
}

void add_health(GpuOnBoard& gpu, Instant now, const GpuHealthInfo& health) {
  gpu.health = gpu_state_word(health.state);
  gpu.why = health.why;
  gpu.since_ms =
      health.state == GpuState::kOk
          ? 0
          : static_cast<std::uint64_t>(std::max<std::int64_t>(0, to_ms(now - health.since)));
  gpu.evidence.insert(gpu.evidence.end(), health.evidence.begin(), health.evidence.end());
}

}  // namespace

std::vector<std::string> throttle_words(std::uint64_t reasons) {
  std::vector<std::string> words;
  std::uint64_t left = reasons & ~kIdleBit;
  for (const ThrottleWord& each : kThrottleWords) {
    if ((left & each.bit) != 0) {
      words.emplace_back(each.word);
      left &= ~each.bit;
    }
  }
  if (left != 0) {
    words.push_back("reasons " + std::to_string(left));
  }
  return words;
}

GpuBoard gpu_board(Instant now, const GpusSeen& seen, const std::vector<std::string>& offered) {
  std::map<std::string, GpuOnBoard> gpus;
  for (const std::string& uuid : offered) {
    gpus[uuid];
  }
  for (const GpuReading& reading : seen.reading.gpus) {
    if (!reading.uuid.empty()) {
      add_reading(gpus[reading.uuid], reading);
    }
  }
  for (const GpuHealthInfo& health : seen.health) {
    add_health(gpus[health.uuid], now, health);
  }
  for (const auto& [uuid, why] : seen.dirty) {
    GpuOnBoard& gpu = gpus[uuid];
    gpu.why = gpu.why.empty() ? why : gpu.why;
    gpu.evidence.push_back(why);
  }
  GpuBoard board{HostId(), seen.reading.driver, !seen.reading.gpus.empty(), {}};
  for (auto& [uuid, gpu] : gpus) {
    gpu.uuid = uuid;
    board.gpus.push_back(std::move(gpu));
  }
  return board;
}

GpuBoard without_processes(GpuBoard board) {
  for (GpuOnBoard& gpu : board.gpus) {
    gpu.processes_left_out += gpu.processes.size();
    gpu.processes.clear();
    gpu.why.clear();
    gpu.evidence.clear();
  }
  return board;
}

}  // namespace muster::agent
