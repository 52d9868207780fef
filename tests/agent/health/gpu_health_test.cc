#include "agent/health/gpu_health.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "gossip/base/state_machine.h"
#include "tests/agent/health/health_desk.h"

namespace muster::agent {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
static_assert(StateMachine<GpuHealth>);
using Uuids = std::vector<std::string>;

std::size_t count_of(const health::Output& out, std::string_view event) {
  return static_cast<std::size_t>(std::count_if(
      out.events.begin(), out.events.end(), [&](const Event& each) { return each.name == event; }));
}

GpuState expected_state(XidAction action) {
  switch (action) {
    case XidAction::kCount:
    case XidAction::kFailAttempt:
      return GpuState::kOk;
    case XidAction::kSuspect:
      return GpuState::kSuspect;
    case XidAction::kMask:
    case XidAction::kCordon:
      return GpuState::kMasked;
    case XidAction::kFail:
      return GpuState::kFailed;
  }
  return GpuState::kOk;
}

TEST(GpuHealth, EveryXidHasTheStateOfItsAction) {
  for (const CataloguedXid& row : xid_catalogue()) {
    HealthDesk desk;
    const health::Output out = desk.event(3, row.code);
    EXPECT_EQ(desk.state(3), expected_state(row.action)) << row.code;
    EXPECT_EQ(desk.state(2), GpuState::kOk) << row.code;
    EXPECT_EQ(desk.health.host().is_cordoned, row.action == XidAction::kCordon) << row.code;
    EXPECT_EQ(count_of(out, "xid"), 1U) << row.code;
    EXPECT_EQ(out.app_faults.size(), row.kind == XidClass::kAppFault ? 1U : 0U) << row.code;
    EXPECT_EQ(out.look_now, row.kind == XidClass::kWorkflow) << row.code;
    EXPECT_EQ(count_of(desk.kernel(3, row.code), "xid"), 0U) << row.code << " told twice";
  }
}

TEST(GpuHealth, AMaskedGpuComesBackByResetAndCheck) {
  HealthDesk desk;
  const health::Output out = desk.kernel(3, 119);
  ASSERT_EQ(out.changes.size(), 1U);
  EXPECT_EQ(out.changes[0].uuid, desk_uuid(3));
  EXPECT_EQ(out.changes[0].to, GpuState::kMasked);
  EXPECT_EQ(out.changes[0].why,
            "Xid 119 (GSP does not answer): by log; the GPU is ok again after a reset and a "
            "self-test");
  EXPECT_EQ(out.resets, Uuids{desk_uuid(3)});
  EXPECT_TRUE(out.record.has_value());
  desk.look(desk_reading());
  desk.check(3);
  EXPECT_EQ(desk.state(3), GpuState::kMasked) << "queries and a check alone";
  EXPECT_EQ(desk.reset(3).checks, Uuids{desk_uuid(3)});
  EXPECT_EQ(desk.state(3), GpuState::kMasked);
  const health::Output back = desk.check(3);
  ASSERT_EQ(back.changes.size(), 1U);
  EXPECT_EQ(back.changes[0].to, GpuState::kOk);
}

TEST(GpuHealth, ARestartOfTheAgentMendsNothing) {
  HealthDesk desk;
  desk.event(3, 119);
  desk.event(4, 79);
  desk.start("boot-1");
  EXPECT_EQ(desk.state(3), GpuState::kMasked);
  EXPECT_TRUE(desk.health.host().is_cordoned);
  desk.look(desk_reading());
  desk.check(3);
  EXPECT_EQ(desk.state(3), GpuState::kMasked);
  EXPECT_TRUE(desk.health.host().is_cordoned);
  EXPECT_EQ(desk.health.gpus().at(3).evidence,
            Uuids{"xid_mask: Xid 119 (GSP does not answer): by event"});
}

TEST(GpuHealth, ABootMendsWhatAResetOrABootMends) {
  HealthDesk desk;
  desk.event(3, 119);
  desk.event(4, 79);
  desk.event(5, 54);
  desk.start("boot-2");
  EXPECT_TRUE(desk.health.host().is_cordoned) << "until a look is answered";
  desk.look(desk_reading());
  EXPECT_FALSE(desk.health.host().is_cordoned);
  EXPECT_EQ(desk.state(3), GpuState::kMasked) << "no self-test yet";
  for (const int gpu : {3, 4, 5}) {
    desk.check(gpu);
  }
  EXPECT_EQ(desk.state(3), GpuState::kOk);
  EXPECT_EQ(desk.state(4), GpuState::kOk);
  EXPECT_EQ(desk.state(5), GpuState::kFailed);
  desk.start("boot-2");
  EXPECT_EQ(desk.state(4), GpuState::kOk);
  EXPECT_FALSE(desk.health.host().is_cordoned);
}

TEST(GpuHealth, TheKernelsLogIsHeardOnceOverARestart) {
  HealthDesk desk;
  const std::uint64_t before = desk.kernel_sequence;
  desk.kernel(3, 119);
  desk.reset(3);
  desk.check(3);
  ASSERT_EQ(desk.state(3), GpuState::kOk);
  desk.start("boot-1");
  desk.kernel_sequence = before;
  desk.now += minutes(1);
  desk.kernel(3, 119);
  EXPECT_EQ(desk.state(3), GpuState::kOk) << "the agent reads the log from its beginning";
  desk.kernel(3, 62);
  EXPECT_EQ(desk.state(3), GpuState::kFailed) << "a new record, the second reset of the day";
}

TEST(GpuHealth, XidsBeforeTheFirstLookFindTheirGpu) {
  GpuHealth health(Instant{}, "boot-1", {});
  health.step(Instant{}, health::XidSeen{XidSource::kKernelLog, "", desk_pci(2), 119, "", 5});
  for (std::uint64_t i = 0; i < 2 * kUnplacedXidsMax; ++i) {
    health.step(Instant{},
                health::XidSeen{XidSource::kKernelLog, "", "0000:ff:00.0", 119, "", 6 + i});
    health.check_invariants();
  }
  health.step(Instant{}, health::XidSeen{XidSource::kKernelLog, "", desk_pci(1), 119, "", 9000});
  health.step(Instant{}, health::Look{Instant{}, true, desk_reading()});
  EXPECT_EQ(health.state(desk_uuid(1)), GpuState::kMasked);
  EXPECT_EQ(health.state(desk_uuid(2)), GpuState::kOk) << "the oldest ones went";
}

TEST(GpuHealth, AnXidOfAnUnknownGpuCordonsOnlyByItsAction) {
  HealthDesk desk;
  const auto strange = [&](std::uint32_t code) {
    return desk.say(health::XidSeen{XidSource::kKernelLog, "", "0000:ff:00.0", code, "",
                                    ++desk.kernel_sequence});
  };
  EXPECT_EQ(count_of(strange(119), "xid_of_unknown_gpu"), 1U);
  EXPECT_FALSE(desk.health.host().is_cordoned);
  strange(79);
  EXPECT_TRUE(desk.health.host().is_cordoned);
}

TEST(GpuHealth, CodesThatAreNoXidAreDropped) {
  HealthDesk desk;
  EXPECT_TRUE(desk.event(1, 0).events.empty());
  EXPECT_TRUE(desk.event(1, 1000).events.empty());
  EXPECT_EQ(count_of(desk.event(1, 999), "xid"), 1U);
  EXPECT_EQ(desk.state(1), GpuState::kOk);
}

TEST(GpuHealth, AFloodOfXidsIsToldOnceAMinute) {
  HealthDesk desk;
  std::size_t events = 0;
  for (int i = 0; i < 10'000; ++i) {
    events += count_of(desk.event(1, 13), "xid");
  }
  EXPECT_EQ(events, 1U);
  desk.now += kXidTellEvery;
  const health::Output out = desk.event(1, 13);
  ASSERT_EQ(count_of(out, "xid"), 1U);
  EXPECT_EQ(out.events[0].field("times"), "10000");
  EXPECT_EQ(desk.health.gpus().at(1).xids, 10'001U);
  EXPECT_FALSE(out.record.has_value()) << "an application's fault is not worth a write";
}

TEST(GpuHealth, RetirementsThatComeOftenMakeASuspect) {
  HealthDesk desk;
  for (std::size_t i = 0; i + 1 < kTrendXids; ++i) {
    desk.event(1, 63);
    desk.now += minutes(1);
  }
  EXPECT_EQ(desk.state(1), GpuState::kOk);
  desk.event(1, 63);
  EXPECT_EQ(desk.state(1), GpuState::kSuspect);
  desk.check(1);
  EXPECT_EQ(desk.state(1), GpuState::kOk);
}

TEST(GpuHealth, ASiteMayOverride) {
  HealthDesk desk(XidPolicy::parse("63 = mask\n119 = count").value());
  desk.event(1, 63);
  desk.event(2, 119);
  EXPECT_EQ(desk.state(1), GpuState::kMasked);
  EXPECT_EQ(desk.state(2), GpuState::kOk);
}

TEST(GpuHealth, AMissingGpuIsMaskedUntilItIsMended) {
  HealthDesk desk;
  MachineReading less = desk_reading();
  less.gpus.erase(less.gpus.begin() + 3);
  desk.look(less);
  EXPECT_EQ(desk.state(3), GpuState::kOk) << "one look is not enough";
  desk.look(less);
  EXPECT_EQ(desk.state(3), GpuState::kMasked);
  desk.look(desk_reading());
  desk.check(3);
  EXPECT_EQ(desk.state(3), GpuState::kMasked);
  desk.reset(3);
  desk.look(desk_reading());
  desk.check(3);
  EXPECT_EQ(desk.state(3), GpuState::kOk);
}

TEST(GpuHealth, AnotherUuidInItsPlaceIsAMissingGpu) {
  HealthDesk desk;
  MachineReading other = desk_reading();
  other.gpus[3].uuid = "GPU-new";
  desk.look(other);
  desk.look(other);
  EXPECT_EQ(desk.state(3), GpuState::kMasked);
  EXPECT_EQ(desk.health.state("GPU-new"), GpuState::kOk);
}

TEST(GpuHealth, ALookAtSomeGpusMissesNone) {
  HealthDesk desk;
  MachineReading one = desk_reading();
  one.gpus.resize(1);
  for (int i = 0; i < 5; ++i) {
    desk.say(health::Look{desk.now, false, one});
  }
  EXPECT_EQ(desk.state(3), GpuState::kOk);
}

TEST(GpuHealth, AGpuWithoutUuidIsKnownByItsAddress) {
  HealthDesk desk;
  MachineReading broken = desk_reading();
  broken.gpus[3].uuid = "";
  broken.gpus[3].error = "GPU is lost";
  desk.look(broken);
  desk.look(broken);
  EXPECT_EQ(desk.state(3), GpuState::kMasked);
  EXPECT_EQ(desk.health.gpus().at(3).evidence, Uuids{"unreadable: cannot be read: GPU is lost"});
}

TEST(GpuHealth, NoAnswerChangesNothing) {
  HealthDesk desk;
  desk.event(3, 119);
  for (int i = 0; i < 100; ++i) {
    const health::Output out = desk.say(health::NoAnswer{});
    EXPECT_TRUE(out.changes.empty());
    EXPECT_FALSE(out.has_host_changed);
  }
  EXPECT_FALSE(desk.health.host().is_answered);
  EXPECT_EQ(desk.state(1), GpuState::kOk);
  EXPECT_EQ(desk.state(3), GpuState::kMasked);
  desk.look(desk_reading());
  EXPECT_TRUE(desk.health.host().is_answered);
}

TEST(GpuHealth, AGpuThatHangsIsMaskedAndAnswersAreNoRecovery) {
  HealthDesk desk;
  EXPECT_EQ(desk.say(health::GpuHangs{desk_uuid(3)}).changes.size(), 1U);
  EXPECT_TRUE(desk.say(health::GpuHangs{desk_uuid(3)}).changes.empty());
  desk.say(health::GpuAnswers{desk_uuid(3), desk.now});
  desk.check(3);
  EXPECT_EQ(desk.state(3), GpuState::kMasked);
  desk.reset(3);
  desk.check(3);
  EXPECT_EQ(desk.state(3), GpuState::kOk);
}

TEST(GpuHealth, ALookDuringAResetDoesNotCount) {
  HealthDesk desk;
  desk.event(3, 119);
  desk.say(health::ResetBegan{desk_uuid(3)});
  MachineReading less = desk_reading();
  less.gpus.erase(less.gpus.begin() + 3);
  for (int i = 0; i < 5; ++i) {
    desk.look(less);
  }
  desk.say(health::ResetEnded{desk_uuid(3), ""});
  desk.look(desk_reading());
  desk.check(3);
  EXPECT_EQ(desk.state(3), GpuState::kOk);
}

TEST(GpuHealth, AResetThatFailedIsAskedForAgain) {
  HealthDesk desk;
  EXPECT_EQ(desk.event(3, 119).resets, Uuids{desk_uuid(3)});
  EXPECT_TRUE(desk.event(3, 119).resets.empty());
  const health::Output failed = desk.reset(3, "a process holds the GPU");
  EXPECT_EQ(count_of(failed, "gpu_reset_failed"), 1U);
  EXPECT_TRUE(failed.resets.empty());
  const Instant again = desk.now + kResetAgain;
  desk.health.tick(desk.now + kResetAgain / 2);
  EXPECT_TRUE(desk.health.take_output().resets.empty());
  EXPECT_EQ(desk.health.next_deadline(), again);
  desk.health.tick(again);
  EXPECT_EQ(desk.health.take_output().resets, Uuids{desk_uuid(3)});
  EXPECT_EQ(desk.state(3), GpuState::kMasked);
}

TEST(GpuHealth, ACheckThatDidNotCountIsAskedForAgain) {
  HealthDesk desk;
  desk.event(3, 119);
  const Instant early = desk.now;
  EXPECT_EQ(desk.reset(3).checks, Uuids{desk_uuid(3)});
  EXPECT_EQ(desk.say(health::CheckEnded{desk_uuid(3), early, ""}).checks, Uuids{desk_uuid(3)});
  EXPECT_EQ(desk.state(3), GpuState::kMasked);
}

TEST(GpuHealth, TheDriversRecoveryActionIsObeyed) {
  HealthDesk desk;
  MachineReading due = desk_reading();
  due.gpus[2].recovery = RecoveryAction::kDrainAndReset;
  due.gpus[4].recovery = RecoveryAction::kReboot;
  EXPECT_EQ(desk.look(due).resets, Uuids{desk_uuid(2)});
  EXPECT_EQ(desk.state(2), GpuState::kMasked);
  EXPECT_TRUE(desk.health.host().is_cordoned);
  desk.say(health::UncordonOrder{"we wait with it"});
  desk.look(due);
  EXPECT_FALSE(desk.health.host().is_cordoned) << "the same fact cordons once";
  desk.start("boot-2");
  desk.look(due);
  EXPECT_TRUE(desk.health.host().is_cordoned) << "the boot did not help";
}

TEST(GpuHealth, OperatorsUnmask) {
  HealthDesk desk;
  desk.event(3, 54);
  EXPECT_EQ(desk.state(3), GpuState::kFailed);
  desk.start("boot-2");
  desk.look(desk_reading());
  desk.reset(3);
  desk.check(3);
  EXPECT_EQ(desk.state(3), GpuState::kFailed);
  const health::Output out = desk.say(health::UnmaskOrder{desk_uuid(3), "exchanged"});
  EXPECT_EQ(desk.state(3), GpuState::kOk);
  EXPECT_EQ(count_of(out, "gpu_unmasked"), 1U);
  EXPECT_TRUE(out.record.has_value());
}

TEST(GpuHealth, AFailedEpilogTakesAGpuOutUntilAnOperatorSaysSo) {
  HealthDesk desk;
  desk.say(health::EpilogFailed{desk_uuid(3), "epilog 10-wipe: dirty (job 7)"});
  EXPECT_EQ(desk.state(3), GpuState::kMasked);
  EXPECT_EQ(desk.state(2), GpuState::kOk);
  desk.start("boot-2");
  desk.look(desk_reading());
  desk.reset(3);
  desk.check(3);
  EXPECT_EQ(desk.state(3), GpuState::kMasked) << "no boot and no reset undoes it";
  desk.say(health::UnmaskOrder{desk_uuid(3), "wiped by hand"});
  EXPECT_EQ(desk.state(3), GpuState::kOk);
}

TEST(GpuHealth, AFatalErrorOfASwitchCordonsTheHost) {
  HealthDesk desk;
  desk.say(health::SwitchXidSeen{{"0000:c1:00.0", 28006, false, "Non-fatal"}, 1});
  EXPECT_FALSE(desk.health.host().is_cordoned);
  desk.say(health::SwitchXidSeen{{"0000:c1:00.0", 20034, true, "Fatal"}, 2});
  EXPECT_TRUE(desk.health.host().is_cordoned);
  EXPECT_EQ(desk.health.host().why, "error 20034 of the NVSwitch at 0000:c1:00.0: Fatal");
}

TEST(GpuHealth, FactsOfTheHost) {
  HealthDesk desk;
  desk.say(health::HostFact{HostCause::kDiskReadOnly, "/data is read-only"});
  desk.say(health::HostFact{HostCause::kDriverStuck, "3 probers do not die"});
  EXPECT_EQ(desk.health.host().why, "3 probers do not die; /data is read-only");
  desk.say(health::HostFact{HostCause::kDiskReadOnly, ""});
  desk.say(health::HostFact{HostCause::kDriverStuck, ""});
  EXPECT_EQ(desk.health.host().why, "3 probers do not die") << "only a boot ends that";
  desk.start("boot-2");
  desk.look(desk_reading());
  EXPECT_FALSE(desk.health.host().is_cordoned);
}

TEST(GpuHealth, AReadOnlyDiskIsNotToldToThatDisk) {
  HealthDesk desk;
  desk.look(desk_reading());
  const auto cordoned = desk.say(health::HostFact{HostCause::kDiskReadOnly, "/data is read-only"});
  EXPECT_TRUE(cordoned.has_host_changed);
  EXPECT_FALSE(cordoned.record.has_value());
  const auto over = desk.say(health::HostFact{HostCause::kDiskReadOnly, ""});
  EXPECT_TRUE(over.has_host_changed);
  EXPECT_FALSE(over.record.has_value());
  const auto stuck = desk.say(health::HostFact{HostCause::kDriverStuck, "3 probers do not die"});
  ASSERT_TRUE(stuck.record.has_value()) << "that one outlives a start of the agent";
  EXPECT_TRUE(stuck.record->host.contains(HostCause::kDriverStuck));
}

TEST(GpuHealth, AnExchangedGpuIsForgottenWhenItIsWell) {
  HealthDesk desk;
  MachineReading other = desk_reading();
  other.gpus[3].uuid = "GPU-new";
  desk.say(health::Registered{{"GPU-new"}});
  desk.look(other);
  const auto gpus = desk.health.gpus();
  EXPECT_EQ(std::count_if(gpus.begin(), gpus.end(),
                          [](const GpuHealthInfo& gpu) { return gpu.uuid == desk_uuid(3); }),
            0);
}

TEST(GpuHealth, StrangersAreBounded) {
  HealthDesk desk;
  for (std::size_t i = 0; i < 2 * kGpusKnownMax; ++i) {
    desk.say(health::GpuHangs{"GPU-x" + std::to_string(i)});
  }
  EXPECT_EQ(desk.health.gpus().size(), kGpusKnownMax);
}

}  // namespace
}  // namespace muster::agent
