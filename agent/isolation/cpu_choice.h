#pragma once
// choose_cpus() picks the CPUs of a grant: whole cores, nearest to its GPUs. A pure function of
// what it is told: the same question has the same answer on every host and after every restart.
//
// The order of the choice
// 1. Cores of the nodes of the GPUs, to each node in proportion to its GPUs, while it has free
// ones.
// 2. Cores of one other node that has room for all that is left; of several such nodes, of the one
//    that has the fewest cores to spare.
// 3. Cores of the other nodes, those with most free CPUs first, so that few nodes are used.
// Of equal nodes the lowest number goes first, and within a node the core of the lowest CPU.
//
// A grant gets exactly the CPUs that it wants, or shares. More than it wants, by rounding up to a
// core, would take from those that share what they were given.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/isolation/cpu_list.h"

namespace muster::agent {

inline constexpr std::size_t kCoresMax = kCpusMax;

/// A core with its hardware threads.
struct Core {
  std::vector<std::uint32_t> cpus;  ///< Logical CPUs, at least one.
  std::uint32_t numa_node = 0;
};

struct CpuQuestion {
  std::vector<Core> cores;               ///< Of this machine; CPUs of two cores do not overlap.
  std::vector<std::uint32_t> gpu_nodes;  ///< The NUMA node of each GPU of the grant that has one.
  CpuList taken;                         ///< CPUs of other grants, and those kept for the agent.
  std::uint64_t milli_cpus = 0;          ///< Wanted, in thousandths of a logical CPU.
};

struct CpuAnswer {
  /// The exclusive CPUs; empty if the grant shares: then `why_shared` says why.
  CpuList cpus;
  std::string why_shared;
  bool is_shared() const { return cpus.empty(); }
};

/// A core with a taken CPU is not free. The grant shares if it wants a part of a CPU or of a core,
/// if there are not enough free cores, or if the topology is not usable.
CpuAnswer choose_cpus(const CpuQuestion& question);

}  // namespace muster::agent
