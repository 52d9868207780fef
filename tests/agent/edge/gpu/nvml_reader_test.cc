#include "agent/edge/gpu/nvml_reader.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "agent/hardware/inventory_rules.h"
#include "tests/fakes/nvml/fake_machine.h"

namespace muster::agent {
namespace {

using fakes::FakeMachine;

class NvmlReaderTest : public testing::Test {
 protected:
  NvmlReaderTest() : folder_(fakes::make_folder()) {
    setenv("MUSTER_FAKE_NVML", folder_.c_str(), 1);
  }
  ~NvmlReaderTest() override { std::filesystem::remove_all(folder_); }

  /// It starts only where a machine is, so it is loaded once the first one is written.
  static const NvmlLibrary& library() {
    static const Result<NvmlLibrary> kLibrary = load_nvml(MUSTER_FAKE_NVML_NEW);
    return *kLibrary;
  }

  MachineReading read(const FakeMachine& machine, const std::vector<std::string>& ids = {}) {
    machine.write(folder_);
    Result<MachineReading> reading = read_machine(library(), ids);
    EXPECT_TRUE(reading);
    return reading ? *reading : MachineReading{};
  }

  std::string folder_;
};

TEST_F(NvmlReaderTest, ReadsWhatTheLibraryTells) {
  FakeMachine machine = fakes::hgx();
  machine.gpus[1]["numa"] = "1";
  machine.gpus[1]["rows"] = "3";
  machine.gpus[1]["rows_pending"] = "1";
  machine.gpus[1]["recovery"] = "4";
  machine.gpus[1]["link17"] = "down";
  machine.gpus[1]["processes"] = std::to_string(getpid()) + ":1000,999999999:5";
  const MachineReading reading = read(machine);
  EXPECT_EQ(reading.driver, "550.54.15");
  EXPECT_EQ(reading.cuda, "12.4");
  ASSERT_EQ(reading.gpus.size(), 8U);
  const GpuReading& gpu = reading.gpus[1];
  EXPECT_EQ(gpu.error, "");
  EXPECT_EQ(gpu.uuid, "GPU-00000002-1111-2222-3333-444444444444");
  EXPECT_EQ(gpu.name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(gpu.pci_id, "0000:1c:00.0");
  EXPECT_EQ(gpu.minor, 1U);
  EXPECT_EQ(gpu.numa_node, 1U);
  EXPECT_EQ(gpu.memory, (GpuMemory{85520809984, 549453824, 4194304 + 1000}));
  EXPECT_EQ(gpu.switch_nvlinks, 17U);
  EXPECT_EQ(gpu.inactive_nvlinks, 1U);
  EXPECT_EQ(gpu.errors, (GpuErrors{0, 0, 3, true, false}));
  EXPECT_EQ(gpu.recovery, RecoveryAction::kDrainAndReset);
  EXPECT_EQ(gpu.processes, (std::vector<GpuProcess>{{static_cast<std::uint32_t>(getpid()), 1000}}));
  EXPECT_EQ(gpu.use, (GpuUse{0, 35, 71000, 345, 1}));
  ASSERT_EQ(gpu.peers.size(), 7U);
  EXPECT_EQ(gpu.peers[0], (GpuPeer{0, PciAncestor::kSameNode, 0}));
  EXPECT_EQ(gpu.peers[6], (GpuPeer{7, PciAncestor::kMachine, 0}));
  EXPECT_FALSE(gpu.mig.has_value());
}

TEST_F(NvmlReaderTest, CountsLinksToEachPeer) {
  const MachineReading reading = read(fakes::four_and_four());
  for (const GpuPeer& peer : reading.gpus[5].peers) {
    EXPECT_EQ(peer.nvlinks, peer.index >= 4 ? 1U : 0U);
  }
  EXPECT_EQ(offer_of(reading, {}).islands, (std::vector<std::uint32_t>{0, 0, 0, 0, 1, 1, 1, 1}));
}

TEST_F(NvmlReaderTest, ListsMigInstances) {
  const MachineReading reading = read(fakes::mig(1));
  ASSERT_TRUE(reading.gpus[0].mig.has_value());
  ASSERT_EQ(reading.gpus[0].mig->size(), 2U);
  EXPECT_EQ((*reading.gpus[0].mig)[0], (MigInstance{"MIG-a0", 2, 0, 3, 19968ULL << 20}));
  EXPECT_FALSE(reading.gpus[1].mig.has_value());
}

TEST_F(NvmlReaderTest, ReadsOnlyTheGpusThatAreNamed) {
  FakeMachine machine = fakes::hgx();
  machine.gpus[0]["hang"] = "1";
  const MachineReading reading = read(machine, {"0000:1e:00.0", "0000:1f:00.0", "0000:99:00.0"});
  ASSERT_EQ(reading.gpus.size(), 3U);
  EXPECT_EQ(reading.gpus[0].uuid, "GPU-00000004-1111-2222-3333-444444444444");
  EXPECT_EQ(reading.gpus[0].peers.size(), 1U);
  EXPECT_NE(reading.gpus[2].error, "");
}

TEST_F(NvmlReaderTest, TheErrorOfOneGpuLosesNoOther) {
  FakeMachine machine = fakes::hgx();
  machine.gpus[0]["lost"] = "1";
  machine.gpus[1]["error_handle"] = "999";
  machine.gpus[2]["error_memory"] = "999";
  machine.gpus[3]["error_ecc"] = "16";
  machine.gpus[4]["error_power"] = "3";
  const MachineReading reading = read(machine);
  EXPECT_EQ(reading.gpus[0].error, "its uuid cannot be read: GPU is lost (15)");
  EXPECT_EQ(reading.gpus[1].error, "it cannot be opened: Unknown Error (999)");
  EXPECT_EQ(reading.gpus[2].error, "its memory cannot be read: Unknown Error (999)");
  EXPECT_EQ(reading.gpus[3].error, "GPU requires reset (16)");
  for (std::size_t i = 4; i < 8; ++i) {
    EXPECT_EQ(reading.gpus[i].error, "");
  }
  EXPECT_FALSE(reading.gpus[4].use.milliwatts.has_value());
}

TEST_F(NvmlReaderTest, TakesNoGarbage) {
  FakeMachine machine = fakes::hgx();
  machine.gpus[0]["uuid_unterminated"] = "1";
  machine.gpus[1]["uuid"] = "GPU-\x01\xff; rm -rf";
  machine.gpus[2]["name"] = "\xff\xfe\x1b[31m";
  machine.gpus[3]["memory_used"] = "18446744073709551615";
  machine.gpus[4]["temperature"] = "4294967295";
  machine.gpus[4]["utilization"] = "4000";
  machine.gpus[4]["recovery"] = "77";
  machine.gpus[5]["processes_count"] = "4294967295";
  machine.gpus[6]["pci"] = "nonsense";
  machine.gpus[7]["ancestor0"] = "35";
  const MachineReading reading = read(machine);
  EXPECT_EQ(reading.gpus[0].error, "its uuid cannot be read: it makes no sense");
  EXPECT_EQ(reading.gpus[1].uuid, "");
  EXPECT_EQ(reading.gpus[2].name, "");
  EXPECT_EQ(reading.gpus[3].error, "its memory makes no sense");
  EXPECT_FALSE(reading.gpus[4].use.celsius.has_value());
  EXPECT_FALSE(reading.gpus[4].use.gpu_percent.has_value());
  EXPECT_FALSE(reading.gpus[4].recovery.has_value());
  EXPECT_LE(reading.gpus[5].processes->size(), kGpuProcessesMax);
  EXPECT_EQ(reading.gpus[6].pci_id, "");
  EXPECT_FALSE(reading.gpus[7].peers[0].ancestor.has_value());
  EXPECT_EQ(decode_machine_reading(encode(reading)), reading);
}

TEST_F(NvmlReaderTest, RefusesACountThatNoMachineHas) {
  FakeMachine machine = fakes::hgx();
  machine.values["count"] = "4294967295";
  machine.write(folder_);
  EXPECT_FALSE(read_machine(library(), {}));
  machine.values["count"] = "9";
  machine.write(folder_);
  const auto reading = read_machine(library(), {});
  ASSERT_TRUE(reading);
  EXPECT_EQ(reading->gpus.size(), 9U);
  EXPECT_NE(reading->gpus[8].error, "");
}

TEST_F(NvmlReaderTest, MemoryOfADeadProcessIsFreedLateOrNever) {
  FakeMachine machine = fakes::hgx();
  machine.gpus[0]["processes"] = "999999999:1000";
  machine.gpus[0]["free_late_ms"] = "-1";
  EXPECT_EQ(read(machine).gpus[0].memory->used_bytes, 4194304U + 1000);
  EXPECT_TRUE(read(machine).gpus[0].processes->empty());
  machine.gpus[0]["free_late_ms"] = "0";
  EXPECT_EQ(read(machine).gpus[0].memory->used_bytes, 4194304U);
}

TEST_F(NvmlReaderTest, AnOldLibraryTurnsOffReadingsNotGpus) {
  fakes::hgx().write(folder_);
  const Result<NvmlLibrary> old = load_nvml(MUSTER_FAKE_NVML_OLD);
  ASSERT_TRUE(old);
  const auto reading = read_machine(*old, {});
  ASSERT_TRUE(reading);
  EXPECT_EQ(reading->gpus[0].error, "");
  EXPECT_FALSE(reading->gpus[0].memory.has_value());
  EXPECT_FALSE(reading->gpus[0].processes.has_value());
  EXPECT_EQ(reading->gpus[0].switch_nvlinks, 18U);
  EXPECT_NE(
      std::find(reading->missing.begin(), reading->missing.end(), "nvmlDeviceGetMemoryInfo_v2"),
      reading->missing.end());
}

TEST_F(NvmlReaderTest, ALibraryThatOthersMayWriteIsRefused) {
  const std::string copy = folder_ + "/libnvidia-ml.so.1";
  std::filesystem::copy_file(MUSTER_FAKE_NVML_NEW, copy);
  chmod(copy.c_str(), 0755);
  EXPECT_TRUE(check_library_path(copy));
  chmod(copy.c_str(), 0775);
  EXPECT_EQ(check_library_path(copy).error().code, ErrorCode::kDenied);
  chmod(copy.c_str(), 0755);
  chmod(folder_.c_str(), 0777);
  EXPECT_EQ(check_library_path(copy).error().code, ErrorCode::kDenied);
  EXPECT_EQ(load_nvml(copy).error().code, ErrorCode::kDenied);
}

TEST_F(NvmlReaderTest, WithoutALibraryOrADriverItSaysSo) {
  EXPECT_EQ(load_nvml("/nonexistent/libnvidia-ml.so.1").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(load_nvml(MUSTER_FAKE_NVML_NEW).error().text,
            "NVIDIA's management library does not start: Driver Not Loaded (9)");
}

TEST(PciId, IsShortAndLowerCase) {
  EXPECT_EQ(pci_id_of("00000000:1B:00.0"), "0000:1b:00.0");
  EXPECT_EQ(pci_id_of("0001:1b:00.0"), "0001:1b:00.0");
  EXPECT_EQ(pci_id_of("00010000:1B:00.0"), "00010000:1b:00.0");
  EXPECT_EQ(pci_id_of("1b:00.0"), "");
  EXPECT_EQ(pci_id_of("0000:1g:00.0"), "");
  EXPECT_EQ(pci_id_of(""), "");
}

}  // namespace
}  // namespace muster::agent
