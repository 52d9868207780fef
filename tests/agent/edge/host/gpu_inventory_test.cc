// Simulated GPUs: what is accepted, and that their uuids are stable and unique.

#include "agent/edge/host/gpu_inventory.h"

#include <gtest/gtest.h>

#include <set>

namespace muster::agent {
namespace {

const HostId kHost = HostId::from_bytes("0123456789abcdef");

TEST(GpuInventory, SimulatedGpusAreStableAndUnique) {
  const Result<Inventory> one = read_inventory("sim:8xH100", kHost);
  const Result<Inventory> again = read_inventory("sim:8xH100", kHost);
  const Result<Inventory> other =
      read_inventory("sim:8xH100", HostId::from_bytes("0123456789abcdeg"));
  ASSERT_TRUE(one && again && other);
  EXPECT_EQ(*one, *again);
  std::set<std::string> uuids(one->gpus.begin(), one->gpus.end());
  uuids.insert(other->gpus.begin(), other->gpus.end());
  EXPECT_EQ(uuids.size(), 16U);
  EXPECT_EQ(one->gpu_type, "H100");
  EXPECT_GE(one->cpus, 1U);
  EXPECT_GT(one->memory_mb, 0U);
}

TEST(GpuInventory, AMachineThatIsNotThisOneIsSaidBehindCommas) {
  const Result<Inventory> all = read_inventory("sim:8xH100,cpus=96,mem=1T,island=4+4", kHost);
  ASSERT_TRUE(all.has_value()) << all.error().text;
  EXPECT_EQ(all->cpus, 96U);
  EXPECT_EQ(all->memory_mb, 1U << 20);
  EXPECT_EQ(all->traits.islands, (std::vector<std::uint32_t>{0, 0, 0, 0, 1, 1, 1, 1}));
  const Result<Inventory> bare = read_inventory("cpus=16,mem=512M", kHost);
  ASSERT_TRUE(bare.has_value()) << bare.error().text;
  EXPECT_TRUE(bare->gpus.empty());
  EXPECT_EQ(bare->gpu_type, "");
  EXPECT_EQ(bare->memory_mb, 512U);
}

TEST(GpuInventory, RefusesWhatIsNoInventoryAndSaysWhatIs) {
  for (const char* spec : {"",
                           "sim:",
                           "sim:0xH100",
                           "sim:17xH100",
                           "sim:8x",
                           "sim:8xh100",
                           "sim:8xH100 ",
                           "sim:xH100",
                           "sim:-1xH100",
                           "nvml",
                           "sim:8xH100,",
                           "sim:8xH100,cpus=0",
                           "sim:8xH100,cpus=9999999",
                           "sim:8xH100,mem=4K",
                           "sim:8xH100,mem=9999999T",
                           "sim:8xH100,island=4",
                           "sim:8xH100,island=4+5",
                           "sim:8xH100,island=4+4,island=8",
                           "sim:8xH100,island=0+8",
                           "sim:8xH100,disks=4",
                           "mem=4G",
                           "cpus=4,sim:8xH100",
                           "8xH100",
                           "sim:99999999999xH100"}) {
    const Result<Inventory> inventory = read_inventory(spec, kHost);
    ASSERT_FALSE(inventory.has_value()) << spec;
    EXPECT_NE(inventory.error().text.find("GH200"), std::string::npos) << spec;
  }
}

}  // namespace
}  // namespace muster::agent
