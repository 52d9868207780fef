// The cores of a machine, as the kernel's folders show them.

#include "agent/edge/isolation/machine_cores.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace muster::agent {
namespace {

class MachineCores : public testing::Test {
 protected:
  MachineCores() {
    char path[] = "/tmp/muster-cores-XXXXXX";
    base_ = mkdtemp(path);
  }
  ~MachineCores() override { std::filesystem::remove_all(base_); }

  void say(const std::string& file, const std::string& text) const {
    const std::filesystem::path path = base_ + "/" + file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }

  /// "0,4@0 1,5@1": CPUs of each core, and its node.
  std::string cores(const CpuList& allowed) const {
    std::string text;
    for (const Core& core : cores_of_machine(base_, allowed)) {
      text += (text.empty() ? "" : " ") +
              encode_cpu_list(CpuList(core.cpus.begin(), core.cpus.end())) + "@" +
              std::to_string(core.numa_node);
    }
    return text;
  }

  std::string base_;
};

TEST_F(MachineCores, HaveTheirThreadsAndNodes) {
  say("cpu/online", "0-3,5");
  for (const char* cpu : {"0", "2"}) {
    say("cpu/cpu" + std::string(cpu) + "/topology/thread_siblings_list", "0,2");
  }
  for (const char* cpu : {"1", "3"}) {
    say("cpu/cpu" + std::string(cpu) + "/topology/thread_siblings_list", "1,3");
  }
  say("node/node0/cpulist", "0,2");
  say("node/node1/cpulist", "1,3,5");
  say("node/possible", "0-1");
  EXPECT_EQ(cores({0, 1, 2, 3, 4, 5}), "0,2@0 1,3@1 5@1") << "5 has no folder: a core alone";
  EXPECT_EQ(cores({1, 2}), "2@0 1@1") << "the parts that this process may use";
}

TEST_F(MachineCores, AreUnknownWithoutTheFolder) {
  EXPECT_EQ(cores({0, 1}), "");
}

TEST_F(MachineCores, OfThisMachineAreThere) {
  EXPECT_FALSE(cores_of_machine().empty());
}

}  // namespace
}  // namespace muster::agent
