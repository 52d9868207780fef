#include "agent/edge/host/gpu_inventory.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <string>

#include "gossip/base/rng.h"

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
                     "; use sim:COUNTxTYPE with 1 to " + std::to_string(kGpusPerHostMax) +
                     " GPUs of";
  for (const std::string_view type : kTypes) {
    text += " " + std::string(type);
  }
  return {ErrorCode::kInvalid, text};
}

}  // namespace

Result<Inventory> read_inventory(std::string_view spec, HostId host) {
  static constexpr std::string_view kPrefix = "sim:";
  static constexpr std::uint64_t kMegabyte = 1 << 20;
  if (!spec.starts_with(kPrefix)) {
    return wrong(spec, "unknown kind of inventory");
  }
  const std::string_view body = spec.substr(kPrefix.size());
  const char* end = body.data() + body.size();
  std::uint32_t count = 0;
  const auto [at, error] = std::from_chars(body.data(), end, count);
  if (error != std::errc() || at == end || *at != 'x') {
    return wrong(spec, "no count");
  }
  if (count == 0 || count > kGpusPerHostMax) {
    return wrong(spec, std::to_string(count) + " is no possible count");
  }
  Inventory inventory;
  inventory.gpu_type = std::string(at + 1, end);
  if (std::find(kTypes.begin(), kTypes.end(), inventory.gpu_type) == kTypes.end()) {
    return wrong(spec, "unknown type '" + inventory.gpu_type + "'");
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    inventory.gpus.push_back(uuid_of(host, i));
  }
  inventory.cpus = static_cast<std::uint32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  inventory.memory_mb = static_cast<std::uint64_t>(std::max(0L, sysconf(_SC_PHYS_PAGES))) *
                        static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) / kMegabyte;
  return inventory;
}

}  // namespace muster::agent
