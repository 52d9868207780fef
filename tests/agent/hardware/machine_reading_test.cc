#include "agent/hardware/machine_reading.h"

#include <gtest/gtest.h>

#include "agent/hardware/probe_frame.h"
#include "gossip/base/rng.h"

namespace muster::agent {
namespace {

MachineReading full_reading() {
  GpuReading gpu;
  gpu.uuid = "GPU-1";
  gpu.name = "NVIDIA H100 80GB HBM3";
  gpu.pci_id = "0000:1b:00.0";
  gpu.minor = 3;
  gpu.numa_node = 1;
  gpu.memory = GpuMemory{80, 2, 10};
  gpu.mig = {{"MIG-1", 7, 0, 3, 40}};
  gpu.peers = {{1, PciAncestor::kSwitches, 18}};
  gpu.switch_nvlinks = 18;
  gpu.inactive_nvlinks = 1;
  gpu.errors = GpuErrors{5, 6, 7, true, false};
  gpu.recovery = RecoveryAction::kDrain;
  gpu.use = {50, 60, 700000, 1980, 4};
  gpu.processes = std::vector<GpuProcess>{{4711, 1024}, {4712, std::nullopt}};
  GpuReading lost;
  lost.pci_id = "0000:1c:00.0";
  lost.error = "GPU is lost";
  return {"550.54.15", "12.4", {gpu, lost}, {"nvmlDeviceGetMemoryInfo_v2"}};
}

TEST(MachineReading, IsTheSameAfterItsBytes) {
  EXPECT_EQ(decode_machine_reading(encode(full_reading())), full_reading());
  EXPECT_EQ(decode_machine_reading(encode(MachineReading{})), MachineReading{});
}

TEST(MachineReading, IsRefusedWhenItNamesAPeerThatIsNotThere) {
  MachineReading reading = full_reading();
  reading.gpus[0].peers[0].index = 2;
  EXPECT_EQ(decode_machine_reading(encode(reading)), std::nullopt);
}

TEST(MachineReading, IsRefusedBeyondItsLimits) {
  MachineReading reading = full_reading();
  reading.gpus[0].mig = std::vector<MigInstance>(kMigInstancesMax + 1);
  EXPECT_EQ(decode_machine_reading(encode(reading)), std::nullopt);
  reading = full_reading();
  reading.gpus.resize(kGpusReadMax + 1);
  EXPECT_EQ(decode_machine_reading(encode(reading)), std::nullopt);
}

TEST(MachineReading, OfTheLargestMachineFitsIntoAFrame) {
  MachineReading reading = full_reading();
  reading.gpus.resize(kGpusReadMax, reading.gpus[0]);
  for (GpuReading& gpu : reading.gpus) {
    gpu.processes.emplace(kGpuProcessesMax, GpuProcess{UINT32_MAX, UINT64_MAX});
    gpu.peers.assign(kGpusReadMax - 1, GpuPeer{1, PciAncestor::kMachine, 18});
    gpu.error = std::string(kReadingTextBytesMax + 1, 'x');
  }
  std::string bytes = encode_frame(reading);
  EXPECT_LE(bytes.size(), kProbeFrameBytesMax);
  const auto frame = take_probe_frame(bytes);
  ASSERT_TRUE(frame);
  ASSERT_TRUE(frame->has_value());
  EXPECT_EQ(std::get<MachineReading>(**frame).gpus.size(), kGpusReadMax);
}

TEST(ProbeFrame, ComesOutAsItWentIn) {
  const std::vector<ProbeFrame> frames = {full_reading(), ProbeFailure{"no library"},
                                          EventsReady{8},
                                          XidEvent{"GPU-1", "0000:1b:00.0", 79, 1, std::nullopt}};
  std::string bytes;
  for (const ProbeFrame& frame : frames) {
    bytes += encode_frame(frame);
  }
  std::string buffer;
  std::vector<ProbeFrame> taken;
  for (const char byte : bytes) {
    buffer += byte;
    auto frame = take_probe_frame(buffer);
    ASSERT_TRUE(frame);
    if (frame->has_value()) {
      taken.push_back(std::move(**frame));
    }
  }
  EXPECT_EQ(taken, frames);
}

TEST(ProbeFrame, OfBrokenBytesIsRefusedOrHarmless) {
  const std::string whole = encode_frame(full_reading());
  Rng rng(1);
  for (int round = 0; round < 5000; ++round) {
    std::string bytes = whole;
    for (std::uint64_t i = rng.below(4) + 1; i > 0; --i) {
      bytes[rng.below(bytes.size())] = static_cast<char>(rng.below(256));
    }
    const auto frame = take_probe_frame(bytes);
    if (frame && frame->has_value() && std::holds_alternative<MachineReading>(**frame)) {
      EXPECT_LE(std::get<MachineReading>(**frame).gpus.size(), kGpusReadMax);
    }
  }
  std::string huge("\xff\xff\xff\xff", 4);
  EXPECT_FALSE(take_probe_frame(huge));
}

}  // namespace
}  // namespace muster::agent
