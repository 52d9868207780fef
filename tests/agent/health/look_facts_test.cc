#include "agent/health/look_facts.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace muster::agent {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using Facts = std::vector<LookFacts::Fact>;

/// The words about a cause: nullopt if it is not mentioned.
std::optional<std::string> told(const Facts& facts, HealthCause cause) {
  const auto found = std::find_if(facts.begin(), facts.end(),
                                  [&](const auto& fact) { return fact.cause == cause; });
  return found == facts.end() ? std::nullopt : std::optional(found->why);
}

GpuReading reading() {
  GpuReading gpu;
  gpu.uuid = "GPU-a";
  gpu.pci_id = "0000:1b:00.0";
  gpu.errors = GpuErrors{.ecc_corrected = 0, .ecc_uncorrected = 0, .rows_remapped = 0};
  gpu.recovery = RecoveryAction::kNothing;
  return gpu;
}

TEST(LookFacts, AWellGpuHasNoFact) {
  LookFacts facts;
  for (const LookFacts::Fact& fact : facts.look(Instant{}, reading())) {
    EXPECT_EQ(fact.why, "") << cause_rule(fact.cause).word;
  }
}

TEST(LookFacts, AFactThatIsNotReadIsNotTold) {
  LookFacts facts;
  GpuReading gpu = reading();
  gpu.errors.reset();
  gpu.recovery.reset();
  const Facts found = facts.look(Instant{}, gpu);
  for (const auto cause : {HealthCause::kResetDue, HealthCause::kRebootDue, HealthCause::kDrainDue,
                           HealthCause::kRemapPending, HealthCause::kThrottled}) {
    EXPECT_EQ(told(found, cause), std::nullopt) << cause_rule(cause).word;
  }
}

TEST(LookFacts, TheRecoveryActionOfTheDriver) {
  struct Row {
    RecoveryAction action;
    std::optional<HealthCause> cause;
  };
  const Row rows[] = {{RecoveryAction::kNothing, std::nullopt},
                      {RecoveryAction::kReset, HealthCause::kResetDue},
                      {RecoveryAction::kDrainAndReset, HealthCause::kResetDue},
                      {RecoveryAction::kReboot, HealthCause::kRebootDue},
                      {RecoveryAction::kDrain, HealthCause::kDrainDue}};
  for (const Row& row : rows) {
    LookFacts facts;
    GpuReading gpu = reading();
    gpu.recovery = row.action;
    const Facts found = facts.look(Instant{}, gpu);
    for (const auto cause :
         {HealthCause::kResetDue, HealthCause::kRebootDue, HealthCause::kDrainDue}) {
      EXPECT_EQ(told(found, cause).value().empty(), row.cause != cause);
    }
  }
}

TEST(LookFacts, RowsThatAreRemapped) {
  LookFacts facts;
  GpuReading gpu = reading();
  gpu.errors->is_remap_pending = true;
  EXPECT_NE(told(facts.look(Instant{}, gpu), HealthCause::kRemapPending), "");
  gpu.errors->is_remap_pending = false;
  gpu.errors->has_remap_failed = true;
  const Facts found = facts.look(Instant{}, gpu);
  EXPECT_EQ(told(found, HealthCause::kRemapPending), "");
  EXPECT_TRUE(told(found, HealthCause::kRemapFailed).has_value());
  EXPECT_EQ(told(facts.look(Instant{}, gpu), HealthCause::kRemapFailed), std::nullopt)
      << "told once: an operator may have accepted it";
}

TEST(LookFacts, EccErrorsThatGrow) {
  LookFacts facts;
  GpuReading gpu = reading();
  gpu.errors->ecc_uncorrected = 500;
  EXPECT_EQ(told(facts.look(Instant{}, gpu), HealthCause::kEccGrowth), std::nullopt)
      << "errors before the first look are not news";
  gpu.errors->ecc_uncorrected = 501;
  EXPECT_EQ(told(facts.look(Instant{} + hours(1), gpu), HealthCause::kEccGrowth),
            "1 uncorrected ECC errors since the last look");
  gpu.errors->ecc_uncorrected = 509;
  EXPECT_TRUE(told(facts.look(Instant{} + hours(2), gpu), HealthCause::kEccGrowth).has_value());
  gpu.errors->ecc_uncorrected = 510;
  EXPECT_TRUE(told(facts.look(Instant{} + hours(3), gpu), HealthCause::kEccStorm).has_value());
  gpu.errors->ecc_uncorrected = 0;
  const Facts loaded = facts.look(Instant{} + hours(4), gpu);
  EXPECT_EQ(told(loaded, HealthCause::kEccGrowth), std::nullopt) << "the driver was loaded again";
}

TEST(LookFacts, EccErrorsOfTheDayBeforeAreForgotten) {
  LookFacts facts;
  GpuReading gpu = reading();
  facts.look(Instant{}, gpu);
  for (std::uint64_t day = 1; day < 30; ++day) {
    gpu.errors->ecc_uncorrected = day * 9;
    const Facts found = facts.look(Instant{} + hours(24 * static_cast<int>(day)), gpu);
    EXPECT_FALSE(told(found, HealthCause::kEccStorm).has_value()) << day;
  }
}

TEST(LookFacts, LinksThatWentDown) {
  LookFacts facts;
  GpuReading gpu = reading();
  gpu.switch_nvlinks = 16;
  gpu.inactive_nvlinks = 2;
  EXPECT_EQ(told(facts.look(Instant{}, gpu), HealthCause::kLinksDown), "")
      << "2 never had a partner";
  gpu.switch_nvlinks = 15;
  EXPECT_EQ(told(facts.look(Instant{}, gpu), HealthCause::kLinksDown), "") << "one was not read";
  gpu.inactive_nvlinks = 3;
  EXPECT_EQ(told(facts.look(Instant{}, gpu), HealthCause::kLinksDown), "1 of 16 NVLinks are down");
  LookFacts later(facts.memory());
  EXPECT_NE(told(later.look(Instant{}, gpu), HealthCause::kLinksDown), "")
      << "a restart of the agent forgets no link";
  later.accept_links();
  EXPECT_EQ(told(later.look(Instant{}, gpu), HealthCause::kLinksDown), "");
}

TEST(LookFacts, LinksToPeersCount) {
  LookFacts facts;
  GpuReading gpu = reading();
  gpu.peers = {{1, PciAncestor::kSwitches, 4}, {2, PciAncestor::kSwitches, 4}};
  EXPECT_EQ(told(facts.look(Instant{}, gpu), HealthCause::kLinksDown), "");
  gpu.peers = {{1, PciAncestor::kSwitches, 4}};
  gpu.inactive_nvlinks = 4;
  EXPECT_EQ(told(facts.look(Instant{}, gpu), HealthCause::kLinksDown), "4 of 8 NVLinks are down");
}

TEST(LookFacts, ThrottlingThatLasts) {
  LookFacts facts;
  GpuReading gpu = reading();
  gpu.use.throttle_reasons = 0x40;
  Instant now{};
  EXPECT_EQ(told(facts.look(now, gpu), HealthCause::kThrottled), std::nullopt);
  now += minutes(9);
  EXPECT_EQ(told(facts.look(now, gpu), HealthCause::kThrottled), std::nullopt);
  now += minutes(1);
  EXPECT_NE(told(facts.look(now, gpu), HealthCause::kThrottled).value_or(""), "");
  gpu.use.throttle_reasons = 0x4;
  EXPECT_EQ(told(facts.look(now, gpu), HealthCause::kThrottled), std::nullopt);
  now += minutes(10);
  EXPECT_EQ(told(facts.look(now, gpu), HealthCause::kThrottled), "");
}

TEST(LookFacts, APowerLimitIsTheUsualState) {
  LookFacts facts;
  GpuReading gpu = reading();
  gpu.use.throttle_reasons = 0x4 | 0x1 | 0x2;
  facts.look(Instant{}, gpu);
  EXPECT_EQ(told(facts.look(Instant{} + minutes(60), gpu), HealthCause::kThrottled), "");
}

TEST(LookFacts, OneLookInVainIsNotEnough) {
  LookFacts facts;
  EXPECT_EQ(facts.look_in_vain(), Facts{});
  EXPECT_EQ(told(facts.look(Instant{}, reading()), HealthCause::kMissing), "");
  EXPECT_EQ(facts.look_in_vain(), Facts{});
  EXPECT_NE(told(facts.look_in_vain(), HealthCause::kMissing).value_or(""), "");
}

TEST(LookFacts, AGpuThatAnswersWithAnError) {
  LookFacts facts;
  GpuReading gpu = reading();
  gpu.error = "GPU is lost";
  gpu.recovery = RecoveryAction::kReset;
  EXPECT_EQ(told(facts.look(Instant{}, gpu), HealthCause::kUnreadable), std::nullopt);
  const Facts found = facts.look(Instant{}, gpu);
  EXPECT_EQ(told(found, HealthCause::kUnreadable), "cannot be read: GPU is lost");
  EXPECT_EQ(told(found, HealthCause::kResetDue), std::nullopt);
  EXPECT_EQ(told(facts.look(Instant{}, reading()), HealthCause::kUnreadable), "");
}

}  // namespace
}  // namespace muster::agent
