#include "scheduler/state/charge.h"

#include <algorithm>
#include <limits>

namespace muster::scheduler {
namespace {

__extension__ using WideCharge = unsigned __int128;

/// Thousandths of a GPU or of a CPU.
constexpr std::uint64_t kOneUnit = 1000;

/// `amount` * `units` / `whole`, rounded up; 0 if the host has nothing of it.
std::uint64_t part_of(std::uint64_t amount, std::uint64_t units, std::uint64_t whole) {
  if (whole == 0) {
    return 0;
  }
  const WideCharge part = (WideCharge{amount} * units + whole - 1) / whole;
  return static_cast<std::uint64_t>(
      std::min<WideCharge>(part, std::numeric_limits<std::uint32_t>::max()));
}

}  // namespace

std::uint64_t charge_of(const HostRecord& host, const Member& member) {
  if (member.gpus.empty()) {
    // Memory that belongs to a CPU: all of it / CPUs.
    const std::uint64_t by_memory = part_of(member.memory_mb, kOneUnit * host.cpus, host.memory_mb);
    return std::max({std::uint64_t{1}, std::uint64_t{member.cpus}, by_memory});
  }
  const std::uint64_t gpus = host.gpus.size();
  // The CPUs of a member are thousandths already.
  return std::max({kOneUnit * member.gpus.size(), part_of(member.cpus, gpus, host.cpus),
                   part_of(member.memory_mb, kOneUnit * gpus, host.memory_mb)});
}

std::string pool_on(const HostRecord& host, const JobSpec& spec) {
  return spec.request.gpus == 0 ? std::string(kCpuPool) : folded(host.gpu_type);
}

std::uint64_t least_charge_of(const JobSpec& spec) {
  const Request& request = spec.request;
  if (request.gpus != 0) {
    return kOneUnit * request.gpus;
  }
  return std::max<std::uint64_t>(1, std::uint64_t{request.ranks} * request.cpus.value_or(kOneCpu));
}

}  // namespace muster::scheduler
