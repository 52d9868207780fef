// The answer of a host about its own GPUs: readings and health, put together.

#include "agent/node/gpu_board.h"

#include <gtest/gtest.h>

namespace muster::agent {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.

const Instant kNow = Instant() + 1h;

GpuReading reading_of(const std::string& uuid) {
  GpuReading reading;
  reading.uuid = uuid;
  reading.name = "NVIDIA H100 80GB HBM3";
  reading.memory = GpuMemory{80'000, 500, 7'000};
  reading.use = {97, 61, 690'000, 1'980, 0x45};
  reading.processes = {{4711, 6'000}, {4712, std::nullopt}};
  return reading;
}

GpuBoard board_of(const GpusSeen& seen) {
  return gpu_board(kNow, seen, {"GPU-a", "GPU-b"});
}

TEST(GpuBoardTest, WithoutALookTheGpusOfTheOfferAreNamedAndNothingIsRead) {
  const GpuBoard board = board_of({});
  EXPECT_FALSE(board.is_read);
  ASSERT_EQ(board.gpus.size(), 2U);
  GpuOnBoard bare;
  bare.uuid = "GPU-a";
  EXPECT_EQ(board.gpus[0], bare);
}

TEST(GpuBoardTest, AReadingStandsAsItWasRead) {
  GpusSeen seen;
  seen.reading.driver = "550.54.15";
  seen.reading.gpus = {reading_of("GPU-b")};
  const GpuBoard board = board_of(seen);
  EXPECT_TRUE(board.is_read);
  EXPECT_EQ(board.driver, "550.54.15");
  const GpuOnBoard& gpu = board.gpus[1];
  EXPECT_EQ(gpu.uuid, "GPU-b");
  EXPECT_EQ(gpu.use_percent, 97);
  EXPECT_EQ(gpu.memory_used_bytes, 7'000);
  EXPECT_EQ(gpu.memory_bytes, 80'000);
  EXPECT_EQ(gpu.celsius, 61);
  EXPECT_EQ(gpu.milliwatts, 690'000);
  EXPECT_EQ(gpu.throttle, (std::vector<std::string>{"power_cap", "hw_thermal"}));
  EXPECT_EQ(gpu.processes, (std::vector<GpuProcessInfo>{{4711, 6'000}, {4712, kNotRead}}));
  EXPECT_EQ(board.gpus[0].use_percent, kNotRead);
}

TEST(GpuBoardTest, AnIdleGpuIsNotThrottledAndAnUnknownReasonStandsAsItsNumber) {
  EXPECT_TRUE(throttle_words(0x1).empty());
  EXPECT_EQ(throttle_words(0x8008), (std::vector<std::string>{"hw_slowdown", "reasons 32768"}));
}

TEST(GpuBoardTest, MoreProcessesThanAnAnswerNamesAreCounted) {
  GpusSeen seen;
  seen.reading.gpus = {reading_of("GPU-a")};
  seen.reading.gpus[0].processes->assign(kBoardProcessesMax + 3, GpuProcess{7, 1});
  const GpuBoard board = board_of(seen);
  EXPECT_EQ(board.gpus[0].processes.size(), kBoardProcessesMax);
  EXPECT_EQ(board.gpus[0].processes_left_out, 3U);
}

TEST(GpuBoardTest, HealthHasItsReasonAndItsTime) {
  GpusSeen seen;
  GpuHealthInfo well;
  well.uuid = "GPU-a";
  well.since = kLongAgo;
  GpuHealthInfo sick;
  sick.uuid = "GPU-c";
  sick.state = GpuState::kMasked;
  sick.why = "Xid 119";
  sick.since = kNow - 5min;
  sick.evidence = {"xid_mask: Xid 119"};
  seen.health = {well, sick};
  const GpuBoard board = board_of(seen);
  ASSERT_EQ(board.gpus.size(), 3U) << "one that is judged and not offered stands there, too";
  EXPECT_EQ(board.gpus[0].health, "ok");
  EXPECT_EQ(board.gpus[0].since_ms, 0U);
  EXPECT_EQ(board.gpus[1].health, "");
  EXPECT_EQ(board.gpus[2].health, "masked");
  EXPECT_EQ(board.gpus[2].why, "Xid 119");
  EXPECT_EQ(board.gpus[2].since_ms, 300'000U);
  EXPECT_EQ(board.gpus[2].evidence, std::vector<std::string>{"xid_mask: Xid 119"});
}

TEST(GpuBoardTest, AGpuThatIsNotCleanSaysWhy) {
  GpusSeen seen;
  seen.reading.gpus = {reading_of("GPU-a")};
  seen.dirty = {{"GPU-a", "pid 4711 (train.py of ann) uses it"}};
  const GpuBoard board = board_of(seen);
  EXPECT_EQ(board.gpus[0].why, "pid 4711 (train.py of ann) uses it");
  EXPECT_EQ(board.gpus[0].evidence, std::vector<std::string>{board.gpus[0].why});
  const GpuBoard hidden = without_processes(board);
  EXPECT_EQ(hidden.gpus[0].why, "");
  EXPECT_TRUE(hidden.gpus[0].evidence.empty());
  EXPECT_TRUE(hidden.gpus[0].processes.empty());
  EXPECT_EQ(hidden.gpus[0].processes_left_out, 2U);
  EXPECT_EQ(hidden.gpus[0].use_percent, 97);
}

}  // namespace
}  // namespace muster::agent
