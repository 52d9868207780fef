#include "agent/edge/isolation/machine_cores.h"

#include <dirent.h>
#include <sched.h>

#include <charconv>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "agent/edge/grant/supervise_protocol.h"

namespace muster::agent {
namespace {

CpuList allowed_cpus() {
  const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(kCpusMax),
                                                             [](cpu_set_t* one) { CPU_FREE(one); });
  const std::size_t size = CPU_ALLOC_SIZE(kCpusMax);
  CpuList allowed;
  if (set == nullptr || sched_getaffinity(0, size, set.get()) != 0) {
    return allowed;
  }
  for (std::uint32_t cpu = 0; cpu < kCpusMax; ++cpu) {
    if (CPU_ISSET_S(cpu, size, set.get())) {
      allowed.insert(cpu);
    }
  }
  return allowed;
}

std::optional<CpuList> list_in(const std::string& path) {
  const std::optional<std::string> text = read_file(path);
  return text.has_value() ? parse_cpu_list(*text) : std::nullopt;
}

/// The node of each CPU. A machine without NUMA has no folder of nodes: all are of node 0.
std::map<std::uint32_t, std::uint32_t> nodes_of(const std::string& system) {
  static constexpr char kPrefix[] = "node";
  std::map<std::uint32_t, std::uint32_t> nodes;
  DIR* const folder = opendir((system + "/node").c_str());
  if (folder == nullptr) {
    return nodes;
  }
  for (const dirent* entry = readdir(folder); entry != nullptr; entry = readdir(folder)) {
    const std::string name = entry->d_name;
    std::uint32_t number = 0;
    const char* const end = name.data() + name.size();
    if (!name.starts_with(kPrefix) ||
        std::from_chars(name.data() + std::strlen(kPrefix), end, number).ptr != end) {
      continue;
    }
    for (const std::uint32_t cpu :
         list_in(system + "/node/" + name + "/cpulist").value_or(CpuList())) {
      nodes[cpu] = number;
    }
  }
  closedir(folder);
  return nodes;
}

}  // namespace

std::vector<Core> cores_of_machine(const std::string& system, CpuList allowed) {
  allowed = allowed.empty() ? allowed_cpus() : std::move(allowed);
  const CpuList online = list_in(system + "/cpu/online").value_or(CpuList());
  const std::map<std::uint32_t, std::uint32_t> nodes = nodes_of(system);
  std::vector<Core> cores;
  CpuList seen;
  for (const std::uint32_t cpu : online) {
    if (seen.contains(cpu)) {
      continue;
    }
    const std::string topology = system + "/cpu/cpu" + std::to_string(cpu) + "/topology";
    const CpuList threads = list_in(topology + "/thread_siblings_list").value_or(CpuList{cpu});
    Core core;
    for (const std::uint32_t thread : threads) {
      // A core of which this process may use a part is that part.
      if (online.contains(thread) && allowed.contains(thread) && !seen.contains(thread)) {
        core.cpus.push_back(thread);
      }
      seen.insert(thread);
    }
    if (!core.cpus.empty()) {
      const auto node = nodes.find(cpu);
      core.numa_node = node == nodes.end() ? 0 : node->second;
      cores.push_back(std::move(core));
    }
  }
  return cores;
}

}  // namespace muster::agent
