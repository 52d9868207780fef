#include "agent/isolation/cpu_choice.h"

#include <algorithm>
#include <map>
#include <utility>

namespace muster::agent {
namespace {

constexpr std::uint64_t kMilli = 1000;

/// The free cores of a node, by their lowest CPU; those chosen are gone.
struct FreeNode {
  std::vector<const Core*> cores;
  std::uint64_t gpus = 0;
  std::uint64_t given = 0;  ///< CPUs.

  std::uint64_t free_cpus() const {
    std::uint64_t sum = 0;
    for (const Core* core : cores) {
      sum += core->cpus.size();
    }
    return sum;
  }
};
using FreeNodes = std::map<std::uint32_t, FreeNode>;

std::uint32_t lowest_cpu(const Core& core) {
  return *std::min_element(core.cpus.begin(), core.cpus.end());
}

/// True if every core has a CPU and no CPU is in two of them.
bool is_usable(const std::vector<Core>& cores) {
  CpuList seen;
  for (const Core& core : cores) {
    for (const std::uint32_t cpu : core.cpus) {
      if (cpu >= kCpusMax || !seen.insert(cpu).second) {
        return false;
      }
    }
    if (core.cpus.empty()) {
      return false;
    }
  }
  return !cores.empty() && cores.size() <= kCoresMax;
}

FreeNodes free_nodes(const CpuQuestion& question) {
  FreeNodes nodes;
  for (const Core& core : question.cores) {
    const bool is_free = std::none_of(core.cpus.begin(), core.cpus.end(), [&](std::uint32_t cpu) {
      return question.taken.contains(cpu);
    });
    if (is_free) {
      nodes[core.numa_node].cores.push_back(&core);
    }
  }
  for (auto& [number, node] : nodes) {
    std::sort(node.cores.begin(), node.cores.end(),
              [](const Core* a, const Core* b) { return lowest_cpu(*a) < lowest_cpu(*b); });
  }
  for (const std::uint32_t number : question.gpu_nodes) {
    const auto found = nodes.find(number);
    if (found != nodes.end()) {
      ++found->second.gpus;
    }
  }
  return nodes;
}

/// Takes the first core that is not too big for what is left. False if there is no such core.
bool take_core(FreeNode& node, std::uint64_t& left, CpuList& cpus) {
  const auto found = std::find_if(node.cores.begin(), node.cores.end(),
                                  [&](const Core* core) { return core->cpus.size() <= left; });
  if (found == node.cores.end()) {
    return false;
  }
  cpus.insert((*found)->cpus.begin(), (*found)->cpus.end());
  left -= (*found)->cpus.size();
  node.given += (*found)->cpus.size();
  node.cores.erase(found);
  return true;
}

void take_all(FreeNode& node, std::uint64_t& left, CpuList& cpus) {
  while (left > 0 && take_core(node, left, cpus)) {
  }
}

/// Step 1: each core goes to the node that has most GPUs for each CPU it has been given.
void take_near_gpus(FreeNodes& nodes, std::uint64_t& left, CpuList& cpus) {
  std::vector<FreeNode*> open;
  for (auto& [number, node] : nodes) {
    if (node.gpus > 0) {
      open.push_back(&node);
    }
  }
  while (left > 0 && !open.empty()) {
    const auto next =
        std::max_element(open.begin(), open.end(), [](const FreeNode* a, const FreeNode* b) {
          return a->gpus * (b->given + 1) < b->gpus * (a->given + 1);
        });
    if (!take_core(**next, left, cpus)) {
      open.erase(next);
    }
  }
}

/// Steps 2 and 3.
void take_elsewhere(FreeNodes& nodes, std::uint64_t& left, CpuList& cpus) {
  std::vector<FreeNode*> open;
  for (auto& [number, node] : nodes) {
    open.push_back(&node);
  }
  while (left > 0 && !open.empty()) {
    const auto is_better = [&](const FreeNode* a, const FreeNode* b) {
      const bool fits = a->free_cpus() >= left;
      if (fits != (b->free_cpus() >= left)) {
        return fits;
      }
      return fits ? a->free_cpus() < b->free_cpus() : a->free_cpus() > b->free_cpus();
    };
    const auto next = std::min_element(open.begin(), open.end(), is_better);
    take_all(**next, left, cpus);
    open.erase(next);
  }
}

CpuAnswer shared(std::string why) {
  return {{}, std::move(why)};
}

}  // namespace

CpuAnswer choose_cpus(const CpuQuestion& question) {
  if (!is_usable(question.cores)) {
    return shared("the cores of this machine could not be read");
  }
  if (question.milli_cpus == 0 || question.milli_cpus % kMilli != 0) {
    return shared("it does not want whole CPUs");
  }
  std::uint64_t left = question.milli_cpus / kMilli;
  FreeNodes nodes = free_nodes(question);
  CpuList cpus;
  take_near_gpus(nodes, left, cpus);
  take_elsewhere(nodes, left, cpus);
  if (left > 0) {
    return shared("there are no whole free cores that make " +
                  std::to_string(question.milli_cpus / kMilli) + " CPUs");
  }
  return {std::move(cpus), ""};
}

}  // namespace muster::agent
