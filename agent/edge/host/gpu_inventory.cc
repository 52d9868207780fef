#include "agent/edge/host/gpu_inventory.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "gossip/base/rng.h"
#include "scheduler/protocol/request.h"

namespace muster::agent {
namespace {

constexpr std::array<std::string_view, 8> kTypes = {"H100", "H200", "A100", "L40S",
                                                    "B200", "V100", "T4",   "GH200"};

std::string uuid_of(HostId host, std::uint64_t position) {
  const std::uint64_t high = mix64(host.prefix() ^ mix64(position + 1));
  std::uint64_t rest = 0;
  for (const char byte : host.bytes().substr(8)) {
    rest = rest << 8 | static_cast<std::uint8_t>(byte);
  }
  char text[64];
  std::snprintf(text, sizeof text, "GPU-%016llx%016llx", static_cast<unsigned long long>(high),
                static_cast<unsigned long long>(mix64(high ^ rest)));
  return text;
}

Error wrong(std::string_view spec, const std::string& why) {
  std::string text = "--gpus " + std::string(spec) + ": " + why +
                     "; use sim:COUNTxTYPE[,cpus=N][,mem=SIZE][,island=N+N] with 1 to " +
                     std::to_string(kGpusPerHostMax) + " GPUs of";
  for (const std::string_view type : kTypes) {
    text += " " + std::string(type);
  }
  return {ErrorCode::kInvalid, text + "; or cpus=N[,mem=SIZE] for a host without GPUs"};
}

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && at == end && !text.empty() ? std::optional(number) : std::nullopt;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(at, start), text.size());
    parts.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

/// "" = it was read.
std::string read_gpus(std::string_view part, HostId host, Inventory& inventory) {
  const std::size_t x = part.find('x');
  const auto count = number_of(part.substr(0, x));
  if (!count.has_value() || x == std::string_view::npos) {
    return "no count";
  }
  if (*count == 0 || *count > kGpusPerHostMax) {
    return std::to_string(*count) + " is not a possible count";
  }
  inventory.gpu_type = std::string(part.substr(x + 1));
  if (std::find(kTypes.begin(), kTypes.end(), inventory.gpu_type) == kTypes.end()) {
    return "unknown type '" + inventory.gpu_type + "'";
  }
  for (std::uint32_t i = 0; i < *count; ++i) {
    inventory.gpus.push_back(uuid_of(host, i));
  }
  return "";
}

/// 512M, 4G, 1T in MB; a number alone is in MB.
std::optional<std::uint64_t> memory_mb_of(std::string_view text) {
  const char unit = text.empty() ? '\0' : text.back();
  const int bits = unit == 'M' ? 0 : unit == 'G' ? 10 : unit == 'T' ? 20 : -1;
  const auto number = number_of(bits < 0 ? text : text.substr(0, text.size() - 1));
  if (!number.has_value() || *number > scheduler::kMemoryMbMax >> std::max(bits, 0)) {
    return std::nullopt;
  }
  return *number << std::max(bits, 0);
}

std::string read_islands(std::string_view text, Inventory& inventory) {
  std::uint32_t island = 0;
  for (const std::string_view part : split(text, '+')) {
    const auto size = number_of(part);
    if (!size.has_value() || *size == 0 || *size > inventory.gpus.size()) {
      return "island=" + std::string(text) + " is not a list of counts";
    }
    inventory.traits.islands.insert(inventory.traits.islands.end(), *size, island++);
  }
  if (inventory.traits.islands.size() != inventory.gpus.size()) {
    return "the islands have " + std::to_string(inventory.traits.islands.size()) + " GPUs of " +
           std::to_string(inventory.gpus.size());
  }
  return island > kIslandsMax ? "more than " + std::to_string(kIslandsMax) + " islands" : "";
}

/// cpus=N, mem=SIZE or island=N+N.
std::string read_more(std::string_view part, Inventory& inventory) {
  const std::size_t equals = std::min(part.find('='), part.size());
  const std::string_view name = part.substr(0, equals);
  const std::string_view value = part.substr(std::min(equals + 1, part.size()));
  if (name == "cpus") {
    const auto cpus = number_of(value);
    if (!cpus.has_value() || *cpus == 0 || *cpus > kCpusPerHostMax) {
      return "'" + std::string(value) + "' is not a number of CPUs";
    }
    inventory.cpus = static_cast<std::uint32_t>(*cpus);
    return "";
  }
  if (name == "mem") {
    const auto memory_mb = memory_mb_of(value);
    if (!memory_mb.has_value() || *memory_mb == 0) {
      return "'" + std::string(value) + "' is not a size: write 512M, 4G or 1T";
    }
    inventory.memory_mb = *memory_mb;
    return "";
  }
  if (name == "island" && inventory.traits.islands.empty()) {
    return read_islands(value, inventory);
  }
  return "'" + std::string(part) + "' is not known here";
}

}  // namespace

Result<Inventory> read_inventory(std::string_view spec, HostId host) {
  static constexpr std::string_view kPrefix = "sim:";
  static constexpr std::uint64_t kMegabyte = 1 << 20;
  Inventory inventory;
  inventory.cpus = static_cast<std::uint32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  inventory.memory_mb = static_cast<std::uint64_t>(std::max(0L, sysconf(_SC_PHYS_PAGES))) *
                        static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) / kMegabyte;
  bool is_first = true;
  for (const std::string_view part : split(spec, ',')) {
    const bool has_gpus = is_first && part.starts_with(kPrefix);
    const bool is_bare = is_first && part.starts_with("cpus=");
    if (is_first && !has_gpus && !is_bare) {
      return wrong(spec, "unknown kind of inventory");
    }
    const std::string why = has_gpus ? read_gpus(part.substr(kPrefix.size()), host, inventory)
                                     : read_more(part, inventory);
    if (!why.empty()) {
      return wrong(spec, why);
    }
    is_first = false;
  }
  return inventory;
}

}  // namespace muster::agent
