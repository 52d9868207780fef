#include "agent/health/health_record.h"

#include <gtest/gtest.h>

#include "gossip/wire/wire.h"

namespace muster::agent {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

constexpr Instant kSavedAt = Instant{} + hours(100);
constexpr std::int64_t kSavedMs = 1'800'000'000'000;

HealthRecord filled() {
  HealthRecord record{"boot-1", 77, {}, {}};
  GpuHealthRecord& gpu = record.gpus["GPU-a"];
  gpu.pci_id = "0000:1b:00.0";
  gpu.memory = {18, 2, true};
  gpu.open[HealthCause::kXidMask] = {
      kSavedAt - hours(2), "Xid 119", kSavedAt - hours(1), true, false, 3};
  gpu.open[HealthCause::kMissing] = {kSavedAt - hours(1), "gone", kSavedAt, false, true, 1};
  gpu.needs = {kSavedAt - hours(2)};
  record.gpus["GPU-b"] = {};
  record.host[HostCause::kXid] = {kSavedAt - seconds(5), "Xid 79", false};
  return record;
}

TEST(HealthRecord, ComesBackAsItWas) {
  const WallClock clock(kSavedAt, kSavedMs);
  const std::string bytes = encode(filled(), kSavedAt, clock);
  EXPECT_EQ(decode_health_record(bytes, kSavedAt, clock), filled());
}

TEST(HealthRecord, TimesAgeWhileTheHostIsDown) {
  const std::string bytes = encode(filled(), kSavedAt, WallClock(kSavedAt, kSavedMs));
  const Instant now = Instant{} + seconds(30);
  const auto read = decode_health_record(bytes, now, WallClock(now, kSavedMs + 3'600'000));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->gpus.at("GPU-a").needs.at(0), now - hours(3));
  EXPECT_EQ(read->host.at(HostCause::kXid).since, now - hours(1) - seconds(5));
}

TEST(HealthRecord, AClockThatWentBackMakesNoFuture) {
  const std::string bytes = encode(filled(), kSavedAt, WallClock(kSavedAt, kSavedMs));
  for (const std::int64_t unix_ms : {kSavedMs - 3'600'000, std::int64_t{0}}) {
    const auto read = decode_health_record(bytes, Instant{}, WallClock(Instant{}, unix_ms));
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->gpus.at("GPU-a").needs.at(0), Instant{} - hours(2));
    EXPECT_EQ(read->gpus.at("GPU-a").open.at(HealthCause::kMissing).check_from, Instant{});
  }
}

TEST(HealthRecord, BytesOfAnotherShapeAreRefused) {
  const WallClock clock(kSavedAt, kSavedMs);
  const std::string bytes = encode(filled(), kSavedAt, clock);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_health_record(bytes.substr(0, size), kSavedAt, clock).has_value()) << size;
  }
  for (std::size_t place = 0; place < bytes.size(); ++place) {
    for (const char flip : {'\x01', '\x40', '\xff'}) {
      std::string wrong = bytes;
      wrong[place] = static_cast<char>(wrong[place] ^ flip);
      if (const auto read = decode_health_record(wrong, kSavedAt, clock)) {
        for (const auto& [uuid, gpu] : read->gpus) {
          GpuCauses(gpu.open, gpu.needs).check_invariants();
        }
      }
    }
  }
}

TEST(HealthRecord, AnotherVersionIsRefusedAndATailIsNot) {
  const WallClock clock(kSavedAt, kSavedMs);
  gossip::Encoder later;
  later.array(7).u64(1).i64(0).text("boot").u64(5).array(0).array(0).text("more");
  const auto read = decode_health_record(later.buffer(), kSavedAt, clock);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->kernel_sequence, 5U);
  gossip::Encoder other;
  other.array(6).u64(2).i64(0).text("boot").u64(5).array(0).array(0);
  EXPECT_FALSE(decode_health_record(other.buffer(), kSavedAt, clock).has_value());
}

TEST(HealthRecord, TheGreatestOneFitsAMessage) {
  HealthRecord record;
  for (std::size_t i = 0; i < kGpusKnownMax; ++i) {
    GpuHealthRecord& gpu = record.gpus["GPU-" + std::string(36, 'x') + std::to_string(i)];
    for (std::size_t cause = 0; cause < kHealthCauses; ++cause) {
      gpu.open[static_cast<HealthCause>(cause)].why = std::string(kCauseTextBytesMax, 'w');
    }
    gpu.needs = {Instant{}, Instant{}};
  }
  const WallClock clock(kSavedAt, kSavedMs);
  const std::string bytes = encode(record, kSavedAt, clock);
  const auto read = decode_health_record(bytes, kSavedAt, clock);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->gpus.size(), kGpusKnownMax);
}

}  // namespace
}  // namespace muster::agent
