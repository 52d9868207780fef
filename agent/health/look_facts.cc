#include "agent/health/look_facts.h"

#include <algorithm>

namespace muster::agent {
namespace {

using Fact = LookFacts::Fact;

void recovery_facts(RecoveryAction action, std::vector<Fact>& facts) {
  const bool is_reset =
      action == RecoveryAction::kReset || action == RecoveryAction::kDrainAndReset;
  const auto told = [](bool is_so, const char* why) { return std::string(is_so ? why : ""); };
  facts.push_back({HealthCause::kResetDue, told(is_reset, "the driver asks for a reset")});
  facts.push_back({HealthCause::kRebootDue,
                   told(action == RecoveryAction::kReboot, "the driver asks for a reboot")});
  facts.push_back({HealthCause::kDrainDue, told(action == RecoveryAction::kDrain,
                                                "the driver asks that the GPU be drained")});
}

}  // namespace

std::vector<Fact> LookFacts::look(Instant now, const GpuReading& reading) {
  std::vector<Fact> facts{{HealthCause::kMissing, ""}};
  in_vain_ = 0;
  if (!reading.error.empty()) {
    ++unreadable_;
    if (unreadable_ >= kLooksInVain) {
      facts.push_back({HealthCause::kUnreadable, "cannot be read: " + reading.error});
    }
    return facts;
  }
  unreadable_ = 0;
  facts.push_back({HealthCause::kUnreadable, ""});
  if (reading.recovery.has_value()) {
    recovery_facts(*reading.recovery, facts);
  }
  if (reading.errors.has_value()) {
    const GpuErrors& errors = *reading.errors;
    facts.push_back({HealthCause::kRemapPending,
                     errors.is_remap_pending ? "a remap of memory rows waits for a reset" : ""});
    if (errors.has_remap_failed && !memory_.is_remap_failure_told) {
      facts.push_back({HealthCause::kRemapFailed, "a remap of memory rows failed"});
    }
    memory_.is_remap_failure_told = errors.has_remap_failed;
    if (errors.ecc_uncorrected.has_value()) {
      ecc(now, *errors.ecc_uncorrected, facts);
    }
  }
  links(reading, facts);
  throttling(now, reading.use.throttle_reasons, facts);
  return facts;
}

std::vector<Fact> LookFacts::look_in_vain() {
  ++in_vain_;
  if (in_vain_ < kLooksInVain) {
    return {};
  }
  return {{HealthCause::kMissing, "the driver does not list it any more"}};
}

void LookFacts::forget_counters() {
  in_vain_ = 0;
  unreadable_ = 0;
  ecc_last_.reset();
  throttled_.reset();
}

void LookFacts::accept_links() {
  memory_.links_most = 0;
  memory_.links_down_least.reset();
}

void LookFacts::links(const GpuReading& reading, std::vector<Fact>& facts) {
  std::uint32_t up = reading.switch_nvlinks;
  for (const GpuPeer& peer : reading.peers) {
    up += peer.nvlinks;
  }
  const std::uint32_t down = reading.inactive_nvlinks;
  memory_.links_most = std::max(memory_.links_most, up);
  memory_.links_down_least = std::min(memory_.links_down_least.value_or(down), down);
  // Fewer links up alone can be the fault of a peer that was not read; more links down alone can be
  // a link that never had a partner and is listed only now.
  const bool is_down = up < memory_.links_most && down > *memory_.links_down_least;
  facts.push_back({HealthCause::kLinksDown,
                   is_down ? std::to_string(memory_.links_most - up) + " of " +
                                 std::to_string(memory_.links_most) + " NVLinks are down"
                           : ""});
}

void LookFacts::ecc(Instant now, std::uint64_t errors, std::vector<Fact>& facts) {
  const std::uint64_t last = ecc_last_.value_or(errors);
  ecc_last_ = errors;
  if (errors <= last) {
    return;
  }
  ecc_growth_.emplace_back(now, errors - last);
  while (ecc_growth_.size() > kEccGrowthsMax || now - ecc_growth_.front().first >= kEccWindow) {
    ecc_growth_.pop_front();
  }
  std::uint64_t in_window = 0;
  for (const auto& [at, growth] : ecc_growth_) {
    in_window += std::min(growth, kEccStormErrors);
  }
  const bool is_storm = in_window >= kEccStormErrors;
  facts.push_back({is_storm ? HealthCause::kEccStorm : HealthCause::kEccGrowth,
                   std::to_string(errors - last) + " uncorrected ECC errors since the last look"});
  if (is_storm) {
    ecc_growth_.clear();
  }
}

void LookFacts::throttling(Instant now, std::uint64_t reasons, std::vector<Fact>& facts) {
  const bool is_held = (reasons & kThrottleBits) != 0;
  if (!throttled_.has_value() || throttled_->first != is_held) {
    throttled_ = {is_held, now};
  }
  if (now - throttled_->second >= kThrottleWindow) {
    facts.push_back({HealthCause::kThrottled,
                     is_held ? "the hardware has held its clocks down for 10 minutes" : ""});
  }
}

}  // namespace muster::agent
