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

TEST(GpuInventory, RefusesWhatIsNoInventoryAndSaysWhatIs) {
  for (const char* spec :
       {"", "sim:", "sim:0xH100", "sim:17xH100", "sim:8x", "sim:8xh100", "sim:8xH100 ", "sim:xH100",
        "sim:-1xH100", "nvml", "8xH100", "sim:99999999999xH100"}) {
    const Result<Inventory> inventory = read_inventory(spec, kHost);
    ASSERT_FALSE(inventory.has_value()) << spec;
    EXPECT_NE(inventory.error().text.find("GH200"), std::string::npos) << spec;
  }
}

}  // namespace
}  // namespace muster::agent
