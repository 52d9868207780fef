// Every Xid through the machine that judges GPUs: bench_xids APPLICATION_XIDS SEED. In virtual
// time. The expected actions stand here as the study of GPU health lists its codes, apart from the
// catalogue. Each of the 172 codes is told by the library's event, by a line of the kernel's log,
// and by both in both orders, to a host of eight GPUs. Prints how many codes had the expected
// effect on every way, how many tellings had none, how often application Xids took anything out of
// use, and the p99 of the time from the telling to the mask, where one host in ten still waits for
// the first look of all, which takes up to two seconds.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/health/gpu_health.h"
#include "agent/health/kernel_message.h"
#include "gossip/base/rng.h"

namespace {

using namespace muster::agent;  // NOLINT: a program of one file
using muster::Duration;
using muster::Instant;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kGpus = 8;
constexpr std::uint32_t kCodes = 172;

struct Listed {
  XidAction action;
  std::string_view codes;
};
// Codes that are in no row are unused: the vendor is to be asked.
constexpr Listed kListed[] = {
    {XidAction::kFailAttempt,
     "8 11 13 25 31 32 39-41 60 68-72 75-77 80 82-86 88-89 94 96-105 126-135 139"},
    {XidAction::kMask, "46 62 64 95 109 110 119 120 136 140 143 155 156 158 48 74"},
    {XidAction::kCordon, "79 151"},
    {XidAction::kSuspect, "144-150"},
    {XidAction::kCount,
     "14 37 38 43 44 63 66 67 92 93 106-108 121 137 141 152 153 157 160 161 45 154 162-172"},
};

bool is_listed(std::string_view codes, std::uint32_t code) {
  while (!codes.empty()) {
    const std::string_view one = codes.substr(0, codes.find(' '));
    codes.remove_prefix(std::min(one.size() + 1, codes.size()));
    const auto dash = one.find('-');
    const auto first = static_cast<std::uint32_t>(std::atoi(std::string(one).c_str()));
    const auto last =
        dash == std::string_view::npos
            ? first
            : static_cast<std::uint32_t>(std::atoi(std::string(one.substr(dash + 1)).c_str()));
    if (code >= first && code <= last) {
      return true;
    }
  }
  return false;
}

XidAction expected(std::uint32_t code) {
  for (const Listed& row : kListed) {
    if (is_listed(row.codes, code)) {
      return row.action;
    }
  }
  return XidAction::kFail;
}

std::string uuid_of(int gpu) {
  return "GPU-" + std::to_string(gpu);
}

/// A host of eight GPUs, and what its GpuHealth said.
class Host {
 public:
  /// Before its first look an agent does not know which GPU has which address.
  explicit Host(bool has_looked = true) {
    if (has_looked) {
      look();
    }
  }
  /// The agent starts again.
  void start() {
    health_ = GpuHealth(now, "boot", {}, record_);
    take();
    look();
  }
  void look() {
    health::Look look{now, true, {}};
    health::Registered registered;
    for (int gpu = 0; gpu < kGpus; ++gpu) {
      GpuReading one;
      one.uuid = uuid_of(gpu);
      one.pci_id = "0000:" + std::to_string(10 + gpu) + ":00.0";
      one.recovery = RecoveryAction::kNothing;
      look.reading.gpus.push_back(std::move(one));
      registered.uuids.push_back(uuid_of(gpu));
    }
    say(std::move(registered));
    say(std::move(look));
  }
  void event(int gpu, std::uint32_t code) {
    say(health::XidSeen{XidSource::kEvent, uuid_of(gpu), "", code, "", 0});
  }
  /// As the kernel writes it. False if the line was not understood.
  bool kernel(int gpu, std::uint32_t code) {
    const std::string line = "4," + std::to_string(++sequence_) +
                             ",1000,-;NVRM: Xid (PCI:0000:" + std::to_string(10 + gpu) +
                             ":00): " + std::to_string(code) +
                             ", pid='<unknown>', name=<unknown>\n";
    const std::optional<KernelRecord> record = parse_kernel_record(line);
    const auto* const xid = record.has_value() ? std::get_if<KernelXid>(&record->found) : nullptr;
    if (xid != nullptr) {
      say(health::XidSeen{XidSource::kKernelLog, xid->uuid, xid->pci_id, xid->code, xid->text,
                          record->sequence});
    }
    return xid != nullptr;
  }

  /// The effect of all that was said, as an action; nullopt if no Xid was told to anybody, or to
  /// two.
  std::optional<XidAction> effect(int gpu) const {
    if (xids_ != 1) {
      return std::nullopt;
    }
    const GpuState state = health_.state(uuid_of(gpu));
    if (health_.host().is_cordoned) {
      return state == GpuState::kMasked ? std::optional(XidAction::kCordon) : std::nullopt;
    }
    switch (state) {
      case GpuState::kOk:
        return app_faults_ == 1 ? XidAction::kFailAttempt : XidAction::kCount;
      case GpuState::kSuspect:
        return XidAction::kSuspect;
      case GpuState::kMasked:
        return XidAction::kMask;
      case GpuState::kFailed:
        return XidAction::kFail;
    }
    return std::nullopt;
  }
  GpuState state(int gpu) const { return health_.state(uuid_of(gpu)); }
  std::uint64_t changes() const { return changes_; }

  Instant now{};

 private:
  void say(health::Input input) {
    health_.step(now, std::move(input));
    take();
  }
  void take() {
    health::Output out = health_.take_output();
    changes_ += out.changes.size() + (out.has_host_changed ? 1 : 0);
    app_faults_ += out.app_faults.size();
    for (const muster::Event& event : out.events) {
      xids_ += event.name == "xid" ? 1 : 0;
    }
    if (out.record.has_value()) {
      record_ = std::move(*out.record);
    }
  }

  HealthRecord record_;
  GpuHealth health_{Instant{}, "boot", {}};
  std::uint64_t sequence_ = 0;
  std::uint64_t changes_ = 0;
  std::uint64_t app_faults_ = 0;
  std::uint64_t xids_ = 0;
};

enum class Way { kEvent, kKernel, kEventFirst, kKernelFirst };

/// Tells one Xid on one way. The effect, if it had exactly one.
std::optional<XidAction> told(Way way, std::uint32_t code, muster::Rng& rng) {
  Host host;
  const auto gpu = static_cast<int>(rng.below(kGpus));
  if (way == Way::kEvent || way == Way::kEventFirst) {
    host.event(gpu, code);
  } else {
    host.kernel(gpu, code);
  }
  host.now += milliseconds(rng.below(1001));
  if (way == Way::kEventFirst) {
    host.kernel(gpu, code);
  } else if (way == Way::kKernelFirst) {
    host.event(gpu, code);
  }
  return host.effect(gpu);
}

void all_codes(muster::Rng& rng) {
  std::uint64_t agree = 0;
  std::uint64_t missed = 0;
  for (std::uint32_t code = 1; code <= kCodes; ++code) {
    bool is_right = true;
    for (const Way way : {Way::kEvent, Way::kKernel, Way::kEventFirst, Way::kKernelFirst}) {
      const std::optional<XidAction> effect = told(way, code, rng);
      missed += effect.has_value() ? 0 : 1;
      is_right = is_right && effect == expected(code);
    }
    if (!is_right) {
      std::printf("code %u had another effect than the study asks for\n", code);
    }
    agree += is_right ? 1 : 0;
  }
  std::printf("figure xid_agree %llu count\n", static_cast<unsigned long long>(agree));
  std::printf("figure xid_missed %llu count\n", static_cast<unsigned long long>(missed));
}

std::vector<std::uint32_t> codes_of(XidAction action) {
  std::vector<std::uint32_t> codes;
  for (std::uint32_t code = 1; code <= kCodes; ++code) {
    if (expected(code) == action) {
      codes.push_back(code);
    }
  }
  return codes;
}

/// Bursts and single ones, by either source, with the agent starting again now and then.
void application_xids(std::uint64_t count, muster::Rng& rng) {
  Host host;
  const std::vector<std::uint32_t> codes = codes_of(XidAction::kFailAttempt);
  for (std::uint64_t i = 0; i < count; ++i) {
    host.now += rng.below(10) == 0 ? Duration(seconds(rng.below(60))) : milliseconds(rng.below(5));
    const auto gpu = static_cast<int>(rng.below(kGpus));
    const std::uint32_t code = codes[rng.below(codes.size())];
    if (rng.below(2) == 0) {
      host.event(gpu, code);
    } else {
      host.kernel(gpu, code);
    }
    if (rng.below(1000) == 0) {
      host.start();
    }
  }
  std::printf("figure app_drains %llu count\n", static_cast<unsigned long long>(host.changes()));
}

/// How long a mask takes, in virtual time.
void time_to_mask(std::uint64_t count, muster::Rng& rng) {
  std::vector<double> took;
  const std::vector<std::uint32_t> codes = codes_of(XidAction::kMask);
  for (std::uint64_t i = 0; i < count; ++i) {
    const bool has_looked = rng.below(10) != 0;
    Host host(has_looked);
    const auto gpu = static_cast<int>(rng.below(kGpus));
    const std::uint32_t code = codes[rng.below(codes.size())];
    const Instant began = host.now;
    if (rng.below(2) == 0) {
      host.event(gpu, code);
    } else {
      host.kernel(gpu, code);
    }
    if (!has_looked) {
      host.now += milliseconds(rng.below(2001));
      host.look();
    }
    const bool is_masked = host.state(gpu) == GpuState::kMasked;
    took.push_back(is_masked ? std::chrono::duration<double>(host.now - began).count() : 1e9);
  }
  const auto at = static_cast<std::ptrdiff_t>(took.size() * 99 / 100);
  std::nth_element(took.begin(), took.begin() + at, took.end());
  std::printf("figure masked_s_p99 %.3f s\n", took[static_cast<std::size_t>(at)]);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: bench_xids APPLICATION_XIDS SEED\n");
    return 2;
  }
  const auto count = static_cast<std::uint64_t>(std::atoll(argv[1]));
  muster::Rng rng(static_cast<std::uint64_t>(std::atoll(argv[2])));
  all_codes(rng);
  application_xids(count, rng);
  time_to_mask(std::max<std::uint64_t>(count / 10, 1), rng);
  return 0;
}
