// Fake machines, changed at random, read through the fake library: `inventory_wrong` counts those
// whose inventory differs from the one that is worked out here, from the values of the fake alone.
// Arguments: mutations of each machine, seed.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "agent/edge/gpu/nvml_reader.h"
#include "agent/hardware/inventory_rules.h"
#include "agent/hardware/reading_text.h"
#include "gossip/base/rng.h"
#include "tests/fakes/nvml/fake_machine.h"

namespace {

using muster::Rng;
using muster::agent::HardwareOffer;
using muster::agent::MachineReading;
using muster::agent::MachineSize;
using muster::fakes::FakeGpu;
using muster::fakes::FakeMachine;

std::string value(const FakeGpu& gpu, const std::string& key) {
  const auto found = gpu.values.find(key);
  return found == gpu.values.end() ? "" : found->second;
}

std::uint64_t number(const FakeGpu& gpu, const std::string& key) {
  return std::strtoull(value(gpu, key).c_str(), nullptr, 10);
}

std::string decimal(std::uint64_t of) {
  return std::to_string(of);
}

FakeMachine named(FakeMachine machine, const std::string& name) {
  for (FakeGpu& gpu : machine.gpus) {
    gpu["name"] = name;
  }
  return machine;
}

FakeMachine halves() {
  FakeMachine machine = muster::fakes::plain(4, "NVIDIA A10");
  machine.gpus[2]["name"] = "NVIDIA L4";
  machine.gpus[3]["name"] = "NVIDIA L4";
  return machine;
}

std::vector<FakeMachine> machines() {
  namespace fakes = muster::fakes;
  return {fakes::plain(0, ""),
          fakes::plain(1, "NVIDIA GH200 480GB"),
          fakes::plain(8, "Tesla T4"),
          fakes::plain(10, "Tesla V100-SXM2-32GB"),
          fakes::plain(18, "NVIDIA A100-SXM4-80GB"),
          fakes::hgx(),
          named(fakes::hgx(), "NVIDIA H200"),
          fakes::four_and_four(),
          fakes::pairs(),
          fakes::mig(1),
          fakes::mig(2),
          fakes::mig(4),
          fakes::mixed(),
          halves()};
}

constexpr const char* kNames[] = {"NVIDIA H100 80GB HBM3", "NVIDIA H200", "NVIDIA L40S",
                                  "NVIDIA GeForce RTX 4090"};
constexpr const char* kAncestors[] = {"0", "10", "20", "30", "40", "50"};
constexpr const char* kErrors[] = {"error_handle", "error_uuid", "error_memory", "error_power"};

/// Blocks of some size, nearer within than beyond, with a random relation here and there.
void change_ancestors(Rng& rng, FakeMachine& machine) {
  const std::uint64_t block = rng.below(4) + 1;
  const char* within = kAncestors[rng.below(6)];
  const char* beyond = kAncestors[rng.below(6)];
  for (std::size_t a = 0; a < machine.gpus.size(); ++a) {
    for (std::size_t b = 0; b < machine.gpus.size(); ++b) {
      machine.gpus[a]["ancestor" + decimal(b)] = rng.chance(50000)        ? kAncestors[rng.below(6)]
                                                 : a / block == b / block ? within
                                                                          : beyond;
    }
  }
}

void change_place(Rng& rng, FakeMachine& machine, FakeGpu& gpu) {
  switch (rng.below(5)) {
    case 0:
      gpu["numa"] = decimal(rng.below(4));
      return;
    case 1:
      gpu.values.erase("numa");
      return;
    case 2:
      change_ancestors(rng, machine);
      return;
    case 3:
      gpu["link" + decimal(rng.below(18))] =
          muster::fakes::long_pci_id(rng.below(machine.gpus.size()));
      return;
    default:
      gpu["link" + decimal(rng.below(18))] = rng.chance(500000) ? "down" : "switch";
  }
}

void change_links(Rng& rng, FakeMachine& machine) {
  const bool all_down = rng.chance(500000);
  for (FakeGpu& gpu : machine.gpus) {
    for (int link = 0; link < 18; ++link) {
      const std::string key = "link" + decimal(static_cast<std::uint64_t>(link));
      if (gpu.values.contains(key) && (all_down || rng.chance(300000))) {
        gpu[key] = "down";
      }
    }
  }
}

void change_mig(Rng& rng, FakeGpu& gpu) {
  gpu["mig"] = decimal(rng.below(2));
  for (std::uint64_t i = 0; i < 7; ++i) {
    gpu.values.erase("instance" + decimal(i));
  }
  const std::uint64_t count = rng.below(8);
  for (std::uint64_t i = 0; i < count; ++i) {
    // Numbers of instances in no order, each once.
    gpu["instance" + decimal(i)] = "MIG-" + decimal(rng.below(1000000)) + "," +
                                   decimal((i * 5 + 3) % 7) + "," + decimal(rng.below(2)) + ",1," +
                                   decimal(rng.below(40000));
  }
}

void change(Rng& rng, FakeMachine& machine) {
  if (machine.gpus.empty()) {
    return;
  }
  FakeGpu& gpu = machine.gpus[rng.below(machine.gpus.size())];
  switch (rng.below(12)) {
    case 0:
      machine.gpus.erase(machine.gpus.begin() +
                         static_cast<std::ptrdiff_t>(rng.below(machine.gpus.size())));
      return;
    case 1:
      gpu["name"] = kNames[rng.below(4)];
      return;
    case 2:
      gpu["uuid"] = "GPU-" + decimal(rng.below(1000000));
      return;
    case 3:
      gpu["uuid"] = value(machine.gpus[rng.below(machine.gpus.size())], "uuid");
      return;
    case 4:
      gpu["uuid"] = "GPU \x7f!";
      return;
    case 5:
      gpu["minor"] = decimal(rng.below(64));
      return;
    case 6:
      gpu["memory_total"] = decimal((rng.below(160) + 8) << 30);
      gpu["memory_used"] = decimal(rng.below(1 << 20));
      return;
    case 7:
      gpu["memory_used"] = "18446744073709551615";
      return;
    case 8:
      gpu[rng.chance(300000) ? "lost" : kErrors[rng.below(4)]] = "999";
      return;
    case 9:
      change_mig(rng, gpu);
      return;
    case 10:
      change_links(rng, machine);
      return;
    default:
      change_place(rng, machine, gpu);
  }
}

// ---- the inventory, worked out by looking at everything ----

bool has_readable_uuid(const FakeGpu& gpu) {
  return value(gpu, "lost").empty() && value(gpu, "error_handle").empty() &&
         value(gpu, "error_uuid").empty() && value(gpu, "uuid").find(' ') == std::string::npos;
}

bool is_sound(const FakeGpu& gpu) {
  const std::uint64_t total = number(gpu, "memory_total");
  const std::uint64_t reserved = number(gpu, "memory_reserved");
  return value(gpu, "error_memory").empty() && reserved <= total &&
         number(gpu, "memory_used") <= total - reserved;
}

std::string type_of(const FakeGpu& gpu) {
  const std::string name = value(gpu, "name");
  for (const char* type : {"GH200", "H200", "H100", "A100", "L40S", "L4", "A10", "V100", "T4"}) {
    if ((" " + name + " ").find(" " + std::string(type) + " ") != std::string::npos ||
        name.find(std::string(type) + "-") != std::string::npos) {
      return type;
    }
  }
  return "RTX-4090";
}

std::vector<std::size_t> chosen_of(const FakeMachine& machine, std::string& type) {
  std::vector<std::size_t> whole;
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    const FakeGpu& gpu = machine.gpus[i];
    std::size_t same = 0;
    for (const FakeGpu& other : machine.gpus) {
      same += has_readable_uuid(other) && value(other, "uuid") == value(gpu, "uuid") ? 1 : 0;
    }
    if (has_readable_uuid(gpu) && same == 1 && value(gpu, "mig") == "0") {
      whole.push_back(i);
    }
  }
  std::size_t most = 0;
  for (const std::size_t i : whole) {
    const auto count =
        static_cast<std::size_t>(std::count_if(whole.begin(), whole.end(), [&](std::size_t j) {
          return type_of(machine.gpus[j]) == type_of(machine.gpus[i]);
        }));
    if (count > most) {
      most = count;
      type = type_of(machine.gpus[i]);
    }
  }
  std::erase_if(whole, [&](std::size_t i) { return type_of(machine.gpus[i]) != type; });
  whole.resize(std::min<std::size_t>(whole.size(), 16));
  return whole;
}

using Matrix = std::vector<std::vector<bool>>;

/// Numbers of the classes of the closure; empty if all are of one.
std::vector<std::uint32_t> classes_of(Matrix near) {
  const std::size_t size = near.size();
  for (std::size_t k = 0; k < size; ++k) {
    for (std::size_t a = 0; a < size; ++a) {
      for (std::size_t b = 0; b < size; ++b) {
        near[a][b] = near[a][b] || a == b || near[b][a] || (near[a][k] && near[k][b]);
      }
    }
  }
  std::vector<std::uint32_t> classes;
  std::uint32_t next = 0;
  for (std::size_t a = 0; a < size; ++a) {
    std::size_t first = 0;
    while (!near[first][a] && first != a) {
      ++first;
    }
    classes.push_back(first == a ? next++ : classes[first]);
  }
  return next > 1 && next <= 8 ? classes : std::vector<std::uint32_t>{};
}

std::vector<std::uint32_t> islands_of(const FakeMachine& machine,
                                      const std::vector<std::size_t>& chosen) {
  const std::size_t size = chosen.size();
  Matrix linked(size, std::vector<bool>(size, false));
  Matrix switched = linked;
  Matrix on_node = linked;
  bool has_link = false;
  bool has_switch = false;
  bool has_nodes = true;
  for (std::size_t a = 0; a < size; ++a) {
    const FakeGpu& gpu = machine.gpus[chosen[a]];
    // An error that is met before the places are read leaves them unknown.
    has_nodes = has_nodes && gpu.values.contains("numa");
    for (std::size_t b = 0; b < size; ++b) {
      const FakeGpu& other = machine.gpus[chosen[b]];
      bool to_switch = false;
      bool from_switch = false;
      for (std::uint64_t link = 0; link < 18; ++link) {
        const std::string end = value(gpu, "link" + decimal(link));
        linked[a][b] = linked[a][b] || (a != b && end == value(other, "pci"));
        to_switch = to_switch || end == "switch";
        from_switch = from_switch || value(other, "link" + decimal(link)) == "switch";
      }
      linked[a][b] = linked[a][b] || (a != b && to_switch && from_switch);
      const std::string level = value(gpu, "ancestor" + decimal(chosen[b]));
      switched[a][b] = a != b && (level == "0" || level == "10");
      on_node[a][b] = value(gpu, "numa") == value(other, "numa");
      has_link = has_link || linked[a][b];
      has_switch = has_switch || switched[a][b];
    }
  }
  return has_link     ? classes_of(linked)
         : has_switch ? classes_of(switched)
         : has_nodes  ? classes_of(on_node)
                      : std::vector<std::uint32_t>{};
}

struct ExpectedSlot {
  std::uint64_t gpu_instance = 0;
  std::uint64_t compute_instance = 0;
  std::string text;
};

/// "GPU slot MIG-..." of all slots.
std::vector<std::string> slots_of(const FakeMachine& machine) {
  std::vector<std::string> all;
  for (const FakeGpu& gpu : machine.gpus) {
    std::vector<ExpectedSlot> slots;
    for (std::uint64_t i = 0; has_readable_uuid(gpu) && value(gpu, "mig") == "1" && i < 7; ++i) {
      const std::string line = value(gpu, "instance" + decimal(i));
      const std::size_t comma = line.find(',');
      if (comma != std::string::npos) {
        unsigned gpu_instance = 0;
        unsigned compute_instance = 0;
        std::sscanf(line.c_str() + comma + 1, "%u,%u", &gpu_instance, &compute_instance);
        slots.push_back({gpu_instance, compute_instance, line.substr(0, comma)});
      }
    }
    std::sort(slots.begin(), slots.end(), [](const ExpectedSlot& a, const ExpectedSlot& b) {
      return a.gpu_instance != b.gpu_instance ? a.gpu_instance < b.gpu_instance
                                              : a.compute_instance < b.compute_instance;
    });
    for (std::size_t i = 0; i < slots.size(); ++i) {
      all.push_back(value(gpu, "uuid") + " " + decimal(i + 1) + " " + slots[i].text);
    }
  }
  return all;
}

/// "" = the inventory is right.
std::string difference(const FakeMachine& machine, const MachineSize& size,
                       const MachineReading& reading, const HardwareOffer& offer) {
  std::string type;
  const std::vector<std::size_t> chosen = chosen_of(machine, type);
  if (offer.gpu_type != type || offer.gpus.size() != chosen.size()) {
    return "type or count: " + type + " " + decimal(chosen.size());
  }
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const FakeGpu& gpu = machine.gpus[chosen[i]];
    const auto& read = reading.gpus[offer.gpus[i].index];
    const bool has_numa = gpu.values.contains("numa");
    if (offer.gpus[i].uuid != value(gpu, "uuid") ||
        offer.gpus[i].why_not.empty() != is_sound(gpu) || read.minor != number(gpu, "minor") ||
        read.numa_node.has_value() != has_numa ||
        (has_numa && read.numa_node != number(gpu, "numa")) ||
        (is_sound(gpu) && read.memory->total_bytes != number(gpu, "memory_total"))) {
      return "GPU " + decimal(chosen[i]);
    }
  }
  if (offer.islands != islands_of(machine, chosen)) {
    return "islands";
  }
  std::vector<std::string> slots;
  for (const auto& slot : offer.slots) {
    slots.push_back(slot.gpu + " " + decimal(slot.slot) + " " + slot.instance.uuid);
  }
  if (slots != slots_of(machine)) {
    return "slots";
  }
  const std::uint64_t cores = size.cores - std::max<std::uint64_t>(1, (size.cores + 49) / 50);
  const std::uint64_t memory =
      size.memory_mb - std::max<std::uint64_t>(4096, (size.memory_mb + 49) / 50);
  return offer.cpus != cores || offer.memory_mb != memory ? "CPUs or memory" : "";
}

}  // namespace

int main(int argc, char** argv) {
  const int mutations = argc > 1 ? std::atoi(argv[1]) : 200;
  const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  const std::string folder = muster::fakes::make_folder();
  setenv("MUSTER_FAKE_NVML", folder.c_str(), 1);
  muster::fakes::hgx().write(folder);
  const auto library = muster::agent::load_nvml(MUSTER_FAKE_NVML_NEW);
  if (!library) {
    std::fprintf(stderr, "%s\n", library.error().text.c_str());
    return 1;
  }
  Rng rng(seed);
  int wrong = 0;
  int looked = 0;
  const std::vector<FakeMachine> all = machines();
  for (std::size_t kind = 0; kind < all.size(); ++kind) {
    for (int round = 0; round < mutations; ++round) {
      FakeMachine machine = all[kind];
      for (std::uint64_t i = round == 0 ? 0 : rng.below(5) + 1; i > 0; --i) {
        change(rng, machine);
      }
      machine.write(folder);
      const MachineSize size{static_cast<std::uint32_t>(rng.below(250) + 8),
                             rng.below(1 << 21) + 16384};
      const auto reading = muster::agent::read_machine(*library, {});
      const HardwareOffer offer =
          reading ? muster::agent::offer_of(*reading, size) : HardwareOffer{};
      const std::string why =
          reading ? difference(machine, size, *reading, offer) : reading.error().text;
      ++looked;
      if (!why.empty()) {
        ++wrong;
        std::fprintf(stderr, "machine %zu, mutation %d of seed %llu: %s\n%s%s", kind, round,
                     static_cast<unsigned long long>(seed), why.c_str(),
                     reading ? text_of(*reading).c_str() : "", text_of(offer).c_str());
      }
    }
  }
  std::filesystem::remove_all(folder);
  std::printf("figure inventory_looks %d count\n", looked);
  std::printf("figure inventory_wrong %d count\n", wrong);
  return wrong == 0 ? 0 : 1;
}
