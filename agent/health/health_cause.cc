#include "agent/health/health_cause.h"

#include <array>

#include "gossip/base/check.h"
#include "gossip/base/enum_table.h"

namespace muster::agent {
namespace {

using enum HealthCause;
using enum GpuState;

// A pending remap needs the reset, but the GPU works until then, and two of them a day are no sign
// of a GPU that a reset does not mend. Therefore it does not escalate.
constexpr std::array<CauseRule, kHealthCauses> kRules = {{
    {kXidSuspect, kSuspect, Remedy::kCheckOnly, false, false, "xid_suspect"},
    {kXidTrend, kSuspect, Remedy::kCheckOnly, false, false, "xid_trend"},
    {kXidMask, kMasked, Remedy::kReset, false, true, "xid_mask"},
    {kXidCordon, kMasked, Remedy::kBoot, false, false, "xid_cordon"},
    {kXidFail, kFailed, Remedy::kOperator, false, false, "xid_fail"},
    {kResetDue, kMasked, Remedy::kReset, true, true, "reset_due"},
    {kRebootDue, kMasked, Remedy::kBoot, true, false, "reboot_due"},
    {kDrainDue, kSuspect, Remedy::kCheckOnly, true, false, "drain_due"},
    {kRemapPending, kSuspect, Remedy::kReset, true, false, "remap_pending"},
    {kRemapFailed, kFailed, Remedy::kOperator, false, false, "remap_failed"},
    {kEccGrowth, kSuspect, Remedy::kCheckOnly, false, false, "ecc_growth"},
    {kEccStorm, kMasked, Remedy::kReset, false, true, "ecc_storm"},
    {kMissing, kMasked, Remedy::kReset, true, true, "missing"},
    {kUnreadable, kMasked, Remedy::kReset, true, true, "unreadable"},
    {kHanging, kMasked, Remedy::kReset, true, true, "hanging"},
    {kLinksDown, kSuspect, Remedy::kCheckOnly, true, false, "links_down"},
    {kThrottled, kSuspect, Remedy::kCalm, true, false, "throttled"},
    {kCheckFailed, kMasked, Remedy::kReset, false, true, "check_failed"},
    {kEscalated, kFailed, Remedy::kOperator, false, false, "escalated"},
    {kEpilogFailed, kMasked, Remedy::kOperator, false, false, "epilog_failed"},
}};
static_assert(has_row_for_each<CauseRule, HealthCause>(kRules, &CauseRule::cause));

constexpr std::array<HostCauseRule, kHostCauses> kHostRules = {{
    {HostCause::kXid, true, "xid"},
    {HostCause::kSwitchXid, true, "switch_xid"},
    {HostCause::kRebootDue, true, "reboot_due"},
    {HostCause::kDriverStuck, true, "driver_stuck"},
    {HostCause::kDiskReadOnly, false, "disk_read_only"},
    {HostCause::kStuckProcesses, false, "stuck_processes"},
}};
static_assert(has_row_for_each<HostCauseRule, HostCause>(kHostRules, &HostCauseRule::cause));

}  // namespace

std::string_view gpu_state_word(GpuState state) {
  switch (state) {
    case kOk:
      return "ok";
    case kSuspect:
      return "suspect";
    case kMasked:
      return "masked";
    case kFailed:
      return "failed";
  }
  CHECK(false);
}

const CauseRule& cause_rule(HealthCause cause) {
  const CauseRule& rule = kRules.at(static_cast<std::size_t>(cause));
  CHECK(rule.cause == cause);
  return rule;
}

std::string_view remedy_text(Remedy remedy) {
  switch (remedy) {
    case Remedy::kCheckOnly:
      return "the GPU is ok again after a self-test";
    case Remedy::kReset:
      return "the GPU is ok again after a reset and a self-test";
    case Remedy::kBoot:
      return "the GPU is ok again after a boot of the host and a self-test";
    case Remedy::kCalm:
      return "the GPU is ok again 10 minutes after it ends";
    case Remedy::kOperator:
      return "the GPU is ok again when an operator unmasks it";
  }
  CHECK(false);
}

const HostCauseRule& host_cause_rule(HostCause cause) {
  const HostCauseRule& rule = kHostRules.at(static_cast<std::size_t>(cause));
  CHECK(rule.cause == cause);
  return rule;
}

}  // namespace muster::agent
