#include "tests/fakes/nvml/fake_machine.h"

#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace muster::fakes {
namespace {

void replace_file(const std::string& path, const std::map<std::string, std::string>& values) {
  const std::string beside = path + ".new";
  {
    std::ofstream out(beside, std::ios::binary);
    for (const auto& [key, value] : values) {
      out << key << '=' << value << '\n';
    }
  }
  std::rename(beside.c_str(), path.c_str());
}

std::string file_of(const std::string& folder, std::size_t gpu) {
  return folder + "/gpu" + std::to_string(gpu);
}

void relate(FakeMachine& machine, const char* within, const char* beyond, std::size_t size) {
  for (std::size_t a = 0; a < machine.gpus.size(); ++a) {
    for (std::size_t b = 0; b < machine.gpus.size(); ++b) {
      if (a != b) {
        machine.gpus[a]["ancestor" + std::to_string(b)] = a / size == b / size ? within : beyond;
      }
    }
  }
}

}  // namespace

void FakeMachine::write(const std::string& folder) const {
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    write_gpu(folder, i);
  }
  for (std::size_t i = gpus.size(); std::remove(file_of(folder, i).c_str()) == 0; ++i) {
  }
  std::map<std::string, std::string> all = values;
  all.try_emplace("count", std::to_string(gpus.size()));
  replace_file(folder + "/machine", all);
}

void FakeMachine::write_gpu(const std::string& folder, std::size_t index) const {
  replace_file(file_of(folder, index), gpus.at(index).values);
}

void raise_xid(const std::string& folder, std::size_t gpu, std::uint32_t code) {
  std::ofstream(folder + "/events", std::ios::app) << gpu << ' ' << code << '\n';
}

std::string make_folder() {
  char path[] = "/tmp/fake_nvml_XXXXXX";
  if (mkdtemp(path) == nullptr) {
    std::abort();
  }
  chmod(path, 0755);
  return path;
}

std::string long_pci_id(std::size_t gpu) {
  char text[32];
  std::snprintf(text, sizeof text, "00000000:%02zX:00.0", 0x1b + gpu);
  return text;
}

FakeMachine plain(std::size_t count, const std::string& name) {
  FakeMachine machine;
  machine.values = {{"driver", "550.54.15"}, {"cuda", "12040"}};
  for (std::size_t i = 0; i < count; ++i) {
    char uuid[64];
    std::snprintf(uuid, sizeof uuid, "GPU-%08zx-1111-2222-3333-444444444444", i + 1);
    machine.gpus.push_back({{{"uuid", uuid},
                             {"name", name},
                             {"pci", long_pci_id(i)},
                             {"minor", std::to_string(i)},
                             {"numa", std::to_string(2 * i / count)},
                             {"memory_total", "85520809984"},
                             {"memory_reserved", "549453824"},
                             {"memory_used", "4194304"},
                             {"mig", "0"},
                             {"ecc_corrected", "0"},
                             {"ecc_uncorrected", "0"},
                             {"recovery", "0"},
                             {"throttle", "1"},
                             {"utilization", "0"},
                             {"temperature", "35"},
                             {"power", "71000"},
                             {"clock", "345"}}});
  }
  relate(machine, "40", "50", (count + 1) / 2);
  return machine;
}

FakeMachine hgx() {
  FakeMachine machine = plain(8, "NVIDIA H100 80GB HBM3");
  for (FakeGpu& gpu : machine.gpus) {
    for (int link = 0; link < 18; ++link) {
      gpu["link" + std::to_string(link)] = "switch";
    }
  }
  return machine;
}

FakeMachine four_and_four() {
  FakeMachine machine = plain(8, "NVIDIA A100-SXM4-80GB");
  for (std::size_t i = 0; i < 8; ++i) {
    int link = 0;
    for (std::size_t j = i / 4 * 4; j < i / 4 * 4 + 4; ++j) {
      if (j != i) {
        machine.gpus[i]["link" + std::to_string(link++)] = long_pci_id(j);
      }
    }
  }
  return machine;
}

FakeMachine pairs() {
  FakeMachine machine = plain(8, "NVIDIA L40S");
  relate(machine, "10", "50", 2);
  return machine;
}

FakeMachine mig(std::size_t with_mig) {
  FakeMachine machine = plain(4, "NVIDIA A100-SXM4-40GB");
  for (std::size_t i = 0; i < with_mig; ++i) {
    const std::string number = std::to_string(i);
    machine.gpus[i]["mig"] = "1";
    machine.gpus[i]["instance0"] = "MIG-a" + number + ",2,0,3,19968";
    machine.gpus[i]["instance1"] = "MIG-b" + number + ",1,0,4,19968";
  }
  return machine;
}

FakeMachine mixed() {
  FakeMachine machine = plain(4, "NVIDIA H100 PCIe");
  machine.gpus[0]["name"] = "Tesla T4";
  return machine;
}

}  // namespace muster::fakes
