#include "agent/hardware/inventory_rules.h"

#include <gtest/gtest.h>

#include "agent/hardware/gpu_type.h"

namespace muster::agent {
namespace {

using Islands = std::vector<std::uint32_t>;

constexpr std::uint64_t kGibibyte = std::uint64_t{1} << 30;

MachineReading machine(std::size_t count, const std::string& name = "NVIDIA H100 80GB HBM3") {
  MachineReading reading;
  reading.driver = "550.54.15";
  reading.cuda = "12.4";
  for (std::size_t i = 0; i < count; ++i) {
    GpuReading gpu;
    gpu.uuid = "GPU-" + std::to_string(i);
    gpu.name = name;
    gpu.memory = GpuMemory{80 * kGibibyte, 0, 0};
    reading.gpus.push_back(gpu);
  }
  return reading;
}

HardwareOffer offer(const MachineReading& reading) {
  return offer_of(reading, {96, 1 << 20});
}

void link(MachineReading& reading, std::uint32_t a, std::uint32_t b) {
  reading.gpus[a].peers.push_back({b, PciAncestor::kMachine, 4});
  reading.gpus[b].peers.push_back({a, PciAncestor::kMachine, 4});
}

void put_near(MachineReading& reading, std::uint32_t a, std::uint32_t b, PciAncestor ancestor) {
  reading.gpus[a].peers.push_back({b, ancestor, 0});
  reading.gpus[b].peers.push_back({a, ancestor, 0});
}

TEST(GpuType, IsTheModelInTheDriversName) {
  EXPECT_EQ(gpu_type_of("NVIDIA H100 80GB HBM3"), "H100");
  EXPECT_EQ(gpu_type_of("NVIDIA A100-SXM4-80GB"), "A100");
  EXPECT_EQ(gpu_type_of("NVIDIA GH200 480GB"), "GH200");
  EXPECT_EQ(gpu_type_of("NVIDIA H200"), "H200");
  EXPECT_EQ(gpu_type_of("Tesla V100-SXM2-32GB"), "V100");
  EXPECT_EQ(gpu_type_of("Tesla T4"), "T4");
  EXPECT_EQ(gpu_type_of("NVIDIA L40S"), "L40S");
  EXPECT_EQ(gpu_type_of("NVIDIA B200"), "B200");
}

TEST(GpuType, OfAnUnknownModelIsAWordOfItsName) {
  EXPECT_EQ(gpu_type_of("NVIDIA GeForce RTX 4090"), "RTX-4090");
  EXPECT_EQ(gpu_type_of("NVIDIA X900 96GB"), "X900");
  EXPECT_EQ(gpu_type_of("\x01\xff \n"), "GPU");
  EXPECT_EQ(gpu_type_of(std::string(300, 'x')).size(), 64U);
}

TEST(Inventory, OffersTheMachineLessAReserve) {
  EXPECT_EQ(allocatable({96, 1 << 20}), (MachineSize{94, (1 << 20) - 20972}));
  EXPECT_EQ(allocatable({8, 65536}), (MachineSize{7, 61440}));
  EXPECT_EQ(allocatable({1, 2048}), (MachineSize{1, 1024}));
  EXPECT_EQ(allocatable({0, 0}), (MachineSize{0, 0}));
  EXPECT_EQ(allocatable({2, 8192}), (MachineSize{1, 4096}));
}

TEST(Inventory, TellsDriverCudaAndTheLeastMemoryAsLabels) {
  MachineReading reading = machine(2);
  reading.gpus[1].memory->total_bytes = 81559ULL << 20;
  EXPECT_EQ(offer(reading).labels,
            (std::vector<std::string>{"cuda=12.4", "driver=550.54.15", "gpu-mem=80G"}));
  reading.driver = "5 50";
  reading.gpus.clear();
  EXPECT_EQ(offer(reading).labels, std::vector<std::string>{"cuda=12.4"});
}

TEST(Inventory, OffersTheMostFrequentModelAndNamesTheRest) {
  MachineReading reading = machine(4);
  reading.gpus[0].name = "Tesla T4";
  const HardwareOffer found = offer(reading);
  EXPECT_EQ(found.gpu_type, "H100");
  ASSERT_EQ(found.gpus.size(), 3U);
  EXPECT_EQ(found.gpus[0].uuid, "GPU-1");
  EXPECT_EQ(found.gpus[0].index, 1U);
  EXPECT_EQ(found.notes,
            std::vector<std::string>{"GPU 0 (GPU-0) is not offered: it is of type T4, and a host "
                                     "offers one type, here H100"});
}

TEST(Inventory, OfTwoEquallyFrequentModelsOffersTheFirst) {
  MachineReading reading = machine(2);
  reading.gpus[0].name = "Tesla T4";
  EXPECT_EQ(offer(reading).gpu_type, "T4");
}

TEST(Inventory, KeepsAGpuWithAnErrorInItsPlaceAndDoesNotOfferIt) {
  MachineReading reading = machine(2);
  reading.gpus[0].error = "GPU is lost";
  const HardwareOffer found = offer(reading);
  ASSERT_EQ(found.gpus.size(), 2U);
  EXPECT_EQ(found.gpus[0].why_not, "GPU is lost");
  EXPECT_EQ(found.gpus[1].why_not, "");
  EXPECT_EQ(found.notes, std::vector<std::string>{"GPU 0 (GPU-0) is not offered: GPU is lost"});
}

TEST(Inventory, LeavesOutGpusWithoutAUuidOrWithThatOfAnother) {
  MachineReading reading = machine(5);
  reading.gpus[0].uuid = "";
  reading.gpus[0].error = "it did not tell its uuid";
  reading.gpus[1].uuid = "GPU-2";
  reading.gpus[3].uuid = "GPU 3\n";
  const HardwareOffer found = offer(reading);
  ASSERT_EQ(found.gpus.size(), 1U);
  EXPECT_EQ(found.gpus[0].uuid, "GPU-4");
  EXPECT_EQ(found.notes.size(), 4U);
}

TEST(Inventory, ListsTheInstancesOfAGpuInMigModeAndDoesNotOfferItWhole) {
  MachineReading reading = machine(2);
  reading.gpus[0].mig = {{"MIG-b", 5, 0, 3, 1}, {"MIG-a", 1, 0, 4, 2}};
  const HardwareOffer found = offer(reading);
  ASSERT_EQ(found.gpus.size(), 1U);
  EXPECT_EQ(found.gpus[0].uuid, "GPU-1");
  ASSERT_EQ(found.slots.size(), 2U);
  EXPECT_EQ(found.slots[0], (MigSlot{"GPU-0", 0, 1, {"MIG-a", 1, 0, 4, 2}}));
  EXPECT_EQ(found.slots[1], (MigSlot{"GPU-0", 0, 2, {"MIG-b", 5, 0, 3, 1}}));
}

TEST(Inventory, OffersSixteenGpusAndNamesTheOthers) {
  const HardwareOffer found = offer(machine(18));
  EXPECT_EQ(found.gpus.size(), kGpusOfferedMax);
  EXPECT_EQ(found.notes.size(), 2U);
  EXPECT_EQ(offer(machine(64)).notes.size(), kOfferNotesMax);
}

TEST(Islands, WithLinksToSwitchesAreOne) {
  MachineReading reading = machine(8);
  for (std::uint32_t i = 0; i < 8; ++i) {
    reading.gpus[i].switch_nvlinks = 18;
    reading.gpus[i].numa_node = i / 4;
  }
  EXPECT_EQ(offer(reading).islands, Islands{});
}

TEST(Islands, FollowNvlinksBeforeSwitchesOfPci) {
  MachineReading reading = machine(4);
  put_near(reading, 0, 1, PciAncestor::kOneSwitch);
  put_near(reading, 2, 3, PciAncestor::kOneSwitch);
  EXPECT_EQ(offer(reading).islands, (Islands{0, 0, 1, 1}));
  link(reading, 0, 2);
  link(reading, 1, 3);
  EXPECT_EQ(offer(reading).islands, (Islands{0, 1, 0, 1}));
}

TEST(Islands, OfSwitchesComeBeforeNodes) {
  MachineReading reading = machine(4);
  for (std::uint32_t i = 0; i < 4; ++i) {
    reading.gpus[i].numa_node = i % 2;
  }
  EXPECT_EQ(offer(reading).islands, (Islands{0, 1, 0, 1}));
  put_near(reading, 0, 1, PciAncestor::kSwitches);
  EXPECT_EQ(offer(reading).islands, (Islands{0, 1, 0, 1}));
  put_near(reading, 2, 3, PciAncestor::kSameBoard);
  EXPECT_EQ(offer(reading).islands, (Islands{0, 1, 2, 2}));
}

TEST(Islands, OfAnUnknownNodeAreOne) {
  MachineReading reading = machine(4);
  reading.gpus[0].numa_node = 0;
  EXPECT_EQ(offer(reading).islands, Islands{});
}

TEST(Islands, BeyondTheLimitCountAsOneWithANote) {
  MachineReading reading = machine(10);
  for (std::uint32_t i = 0; i < 10; ++i) {
    reading.gpus[i].numa_node = i;
  }
  const HardwareOffer found = offer(reading);
  EXPECT_EQ(found.islands, Islands{});
  EXPECT_EQ(found.notes.size(), 1U);
}

TEST(Islands, CountOnlyGpusOfTheOfferedModel) {
  MachineReading reading = machine(5);
  reading.gpus[1].name = "Tesla T4";
  link(reading, 0, 1);
  link(reading, 1, 2);
  link(reading, 3, 4);
  EXPECT_EQ(offer(reading).islands, (Islands{0, 1, 2, 2}));
}

}  // namespace
}  // namespace muster::agent
