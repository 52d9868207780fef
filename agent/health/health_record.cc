#include "agent/health/health_record.h"

#include <algorithm>

#include "agent/hardware/machine_reading.h"
#include "gossip/wire/wire.h"

namespace muster::agent {
namespace {

constexpr std::uint64_t kHealthRecordVersion = 1;
constexpr std::size_t kHeadElements = 6;
constexpr std::uint64_t kLinksReadMax = 4096;
/// Older times are as good as this old.
constexpr std::int64_t kAgeMaxMs = 1000LL * 3600 * 24 * 365;

/// Writes Instants as their age in milliseconds.
class AgeWriter {
 public:
  AgeWriter(gossip::Encoder& to, Instant now) : to_(to), now_(now) {}
  void age(Instant at) {
    const std::int64_t ms = to_ms(now_ - std::max(at, kLongAgo));
    to_.u64(static_cast<std::uint64_t>(std::clamp<std::int64_t>(ms, 0, kAgeMaxMs)));
  }

 private:
  gossip::Encoder& to_;
  Instant now_;
};

/// Reads them back, and adds the time that passed since.
class AgeReader {
 public:
  AgeReader(Instant now, std::int64_t down_ms) : now_(now), down_ms_(down_ms) {}
  Instant age(gossip::Reader& from) const {
    const auto ms = static_cast<std::int64_t>(from.u64_at_most(kAgeMaxMs));
    return now_ - std::chrono::milliseconds(std::min(ms + down_ms_, kAgeMaxMs));
  }

 private:
  Instant now_;
  std::int64_t down_ms_;
};

void encode_gpu(gossip::Encoder& to, AgeWriter& ages, const std::string& uuid,
                const GpuHealthRecord& gpu) {
  to.array(7).text(uuid).text(gpu.pci_id).u64(gpu.memory.links_most);
  to.u64(gpu.memory.links_down_least.has_value() ? *gpu.memory.links_down_least + 1ULL : 0);
  to.boolean(gpu.memory.is_remap_failure_told);
  to.array(gpu.needs.size());
  for (const Instant need : gpu.needs) {
    ages.age(need);
  }
  to.array(gpu.open.size());
  for (const auto& [cause, open] : gpu.open) {
    to.array(7).u64(static_cast<std::uint64_t>(cause)).text(open.why);
    ages.age(open.since);
    ages.age(open.check_from);
    to.boolean(open.is_done).boolean(open.is_present).u64(open.times);
  }
}

GpuCauses::Open decode_causes(gossip::Reader from, const AgeReader& ages) {
  GpuCauses::Open causes;
  while (from.ok() && from.left() > 0) {
    gossip::Reader one = from.array();
    const auto cause = static_cast<HealthCause>(one.u64_at_most(kHealthCauses - 1));
    OpenCause open;
    open.why = one.text(kCauseTextBytesMax);
    open.since = ages.age(one);
    open.check_from = ages.age(one);
    open.is_done = one.boolean();
    open.is_present = one.boolean();
    open.times = one.u64();
    if (open.why.empty() || (open.is_present && !cause_rule(cause).is_fact)) {
      one.fail();
    }
    causes.emplace(cause, std::move(open));
  }
  return causes;
}

void decode_gpu(gossip::Reader from, const AgeReader& ages, HealthRecord& record) {
  const std::string uuid = from.text(kReadingTextBytesMax);
  GpuHealthRecord gpu;
  gpu.pci_id = from.text(kReadingTextBytesMax);
  gpu.memory.links_most = static_cast<std::uint32_t>(from.u64_at_most(kLinksReadMax));
  const std::uint64_t least = from.u64_at_most(kLinksReadMax + 1);
  if (least > 0) {
    gpu.memory.links_down_least = static_cast<std::uint32_t>(least - 1);
  }
  gpu.memory.is_remap_failure_told = from.boolean();
  gossip::Reader needs = from.array_at_most(kNeedsMax);
  while (needs.ok() && needs.left() > 0) {
    gpu.needs.push_back(ages.age(needs));
  }
  std::sort(gpu.needs.begin(), gpu.needs.end());
  gpu.open = decode_causes(from.array_at_most(kHealthCauses), ages);
  if (uuid.empty()) {
    from.fail();
  }
  record.gpus.emplace(uuid, std::move(gpu));
}

void decode_host(gossip::Reader from, const AgeReader& ages, HealthRecord& record) {
  const auto cause = static_cast<HostCause>(from.u64_at_most(kHostCauses - 1));
  OpenHostCause open;
  open.why = from.text(kCauseTextBytesMax);
  open.since = ages.age(from);
  open.is_booted = from.boolean();
  record.host.emplace(cause, std::move(open));
}

}  // namespace

std::string encode(const HealthRecord& record, Instant now, const WallClock& clock) {
  gossip::Encoder to;
  AgeWriter ages(to, now);
  to.array(kHeadElements).u64(kHealthRecordVersion).i64(clock.unix_ms(now)).text(record.boot_id);
  to.u64(record.kernel_sequence).array(record.gpus.size());
  for (const auto& [uuid, gpu] : record.gpus) {
    encode_gpu(to, ages, uuid, gpu);
  }
  to.array(record.host.size());
  for (const auto& [cause, open] : record.host) {
    to.array(4).u64(static_cast<std::uint64_t>(cause)).text(open.why);
    ages.age(open.since);
    to.boolean(open.is_booted);
  }
  return to.take();
}

std::optional<HealthRecord> decode_health_record(std::string_view bytes, Instant now,
                                                 const WallClock& clock) {
  const Result<gossip::Document> document = gossip::Document::parse(std::string(bytes));
  if (!document) {
    return std::nullopt;
  }
  gossip::Reader from = document->root();
  if (from.u64() != kHealthRecordVersion) {
    return std::nullopt;
  }
  const std::int64_t saved_ms = from.i64();
  const std::int64_t now_ms = clock.unix_ms(now);
  const bool is_known = saved_ms > 0 && now_ms > saved_ms;
  const AgeReader ages(now, is_known ? std::min(now_ms - saved_ms, kAgeMaxMs) : 0);
  HealthRecord record;
  record.boot_id = from.text(kReadingTextBytesMax);
  record.kernel_sequence = from.u64();
  gossip::Reader gpus = from.array_at_most(kGpusKnownMax);
  while (gpus.ok() && gpus.left() > 0) {
    decode_gpu(gpus.array(), ages, record);
  }
  gossip::Reader host = from.array_at_most(kHostCauses);
  while (host.ok() && host.left() > 0) {
    decode_host(host.array(), ages, record);
  }
  return from.ok() ? std::optional(std::move(record)) : std::nullopt;
}

}  // namespace muster::agent
