#pragma once
// A cause is a reason why a GPU or a host is not offered as usual. The table here says for each one
// how bad it is, what has to be done about it, and how it ends. A query that is answered again ends
// no cause, and a new start of the agent does not either.

#include <cstdint>
#include <string>
#include <string_view>

namespace muster::agent {

/// From the best to the worst.
enum class GpuState : std::uint8_t {
  kOk = 0,
  kSuspect = 1,  ///< Offered, as the last choice.
  kMasked = 2,   ///< Not offered until its remedy is done and a check passes.
  kFailed = 3,   ///< Not offered until an operator says so.
};
/// "ok", "suspect", "masked", "failed".
std::string_view gpu_state_word(GpuState state);

enum class HealthCause : std::uint8_t {
  kXidSuspect = 0,
  kXidTrend = 1,  ///< A code that is only counted came too often.
  kXidMask = 2,
  kXidCordon = 3,
  kXidFail = 4,
  kResetDue = 5,  ///< The driver's recovery action.
  kRebootDue = 6,
  kDrainDue = 7,
  kRemapPending = 8,
  kRemapFailed = 9,
  kEccGrowth = 10,
  kEccStorm = 11,
  kMissing = 12,
  kUnreadable = 13,
  kHanging = 14,
  kLinksDown = 15,
  kThrottled = 16,
  kCheckFailed = 17,
  kEscalated = 18,  ///< Needed the reset too often.
  kEpilogFailed = 19,
};
inline constexpr std::size_t kHealthCauses = 20;

enum class Remedy : std::uint8_t {
  kCheckOnly = 0,  ///< A self-test passes.
  kReset = 1,      ///< A reset of the GPU or a boot, then a self-test passes.
  kBoot = 2,       ///< A boot of the host, then a self-test passes.
  kCalm = 3,       ///< The fact itself is over: it was measured for long enough.
  kOperator = 4,   ///< The word of an operator.
};

struct CauseRule {
  HealthCause cause;
  GpuState state;
  Remedy remedy;
  bool is_fact;    ///< Each look tells whether it is still so; it must not be so at the end.
  bool escalates;  ///< A second one within a day makes the GPU failed.
  std::string_view word;
};
const CauseRule& cause_rule(HealthCause cause);
/// "comes back after a reset and a self-test" and the like.
std::string_view remedy_text(Remedy remedy);

enum class HostCause : std::uint8_t {
  kXid = 0,             ///< An Xid that asks for a reboot.
  kSwitchXid = 1,       ///< A fatal error of an NVSwitch.
  kRebootDue = 2,       ///< The driver's recovery action.
  kDriverStuck = 3,     ///< Probers do not die: the driver holds them.
  kDiskReadOnly = 4,    ///< The disk of the data directory.
  kStuckProcesses = 5,  ///< Killed processes that do not end: the kernel holds them.
};
inline constexpr std::size_t kHostCauses = 6;

struct HostCauseRule {
  HostCause cause;
  bool needs_boot;  ///< Ends with a boot and an answered look; otherwise when the fact is over.
  std::string_view word;
};
const HostCauseRule& host_cause_rule(HostCause cause);

}  // namespace muster::agent
