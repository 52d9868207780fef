#include "agent/health/gpu_causes.h"

#include <gtest/gtest.h>

namespace muster::agent {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

Instant at(int second) {
  return Instant{} + seconds(second);
}

TEST(GpuCauses, EachCauseEndsByItsRemedyAlone) {
  for (std::size_t number = 0; number < kHealthCauses; ++number) {
    const auto cause = static_cast<HealthCause>(number);
    const CauseRule& rule = cause_rule(cause);
    GpuCauses causes;
    causes.see(at(0), cause, "seen");
    EXPECT_EQ(causes.state(), rule.state);
    EXPECT_EQ(causes.wants_reset(),
              rule.remedy == Remedy::kReset && rule.state != GpuState::kFailed);
    EXPECT_EQ(causes.wants_boot(), rule.remedy == Remedy::kBoot);
    if (rule.is_fact) {
      causes.check_passed(at(1));
      EXPECT_EQ(causes.state(), rule.state) << rule.word << " while the fact goes on";
      causes.tell_fact(at(2), at(1), cause, "");
    }
    EXPECT_EQ(causes.wants_check(), rule.remedy == Remedy::kCheckOnly);
    causes.check_passed(at(3));
    const bool is_over = rule.remedy == Remedy::kCheckOnly || rule.remedy == Remedy::kCalm;
    EXPECT_EQ(causes.state() == GpuState::kOk, is_over) << rule.word << " by a check alone";
    causes.reset_done(at(4));
    EXPECT_EQ(causes.wants_check(), rule.remedy == Remedy::kReset) << rule.word;
    causes.check_passed(at(5));
    EXPECT_EQ(causes.state() == GpuState::kOk, is_over || rule.remedy == Remedy::kReset)
        << rule.word << " by a reset and a check";
    causes.booted(at(6));
    causes.check_passed(at(7));
    EXPECT_EQ(causes.state() == GpuState::kOk, rule.remedy != Remedy::kOperator)
        << rule.word << " by a boot and a check";
    causes.check_invariants();
    causes.unmask();
    EXPECT_EQ(causes.state(), GpuState::kOk);
  }
}

TEST(GpuCauses, ACheckThatBeganBeforeTheResetDoesNotCount) {
  GpuCauses causes;
  causes.see(at(0), HealthCause::kXidMask, "Xid 119");
  causes.reset_done(at(10));
  causes.check_passed(at(9));
  EXPECT_EQ(causes.state(), GpuState::kMasked);
  causes.check_passed(at(10));
  EXPECT_EQ(causes.state(), GpuState::kOk);
}

TEST(GpuCauses, ACauseSeenAgainNeedsItsRemedyAgain) {
  GpuCauses causes;
  causes.see(at(0), HealthCause::kXidSuspect, "Xid 144");
  causes.see(at(5), HealthCause::kXidSuspect, "Xid 145");
  causes.check_passed(at(4));
  EXPECT_EQ(causes.state(), GpuState::kSuspect);
  EXPECT_EQ(causes.since(), at(0));
  EXPECT_EQ(causes.why(), "Xid 144 (2 times); the GPU is ok again after a self-test");
}

TEST(GpuCauses, ASecondNeedWithinADayIsAFailure) {
  GpuCauses causes;
  causes.see(at(0), HealthCause::kXidMask, "Xid 119");
  causes.see(at(1), HealthCause::kResetDue, "the driver asks for a reset");
  EXPECT_EQ(causes.state(), GpuState::kMasked) << "one reset mends both";
  causes.tell_fact(at(2), at(2), HealthCause::kResetDue, "");
  causes.reset_done(at(3));
  causes.check_passed(at(4));
  EXPECT_EQ(causes.state(), GpuState::kOk);
  causes.see(at(5), HealthCause::kXidMask, "Xid 119");
  EXPECT_EQ(causes.state(), GpuState::kFailed);
  EXPECT_FALSE(causes.wants_reset());
  causes.reset_done(at(6));
  causes.booted(at(6));
  causes.check_passed(at(7));
  EXPECT_EQ(causes.state(), GpuState::kFailed);
  EXPECT_TRUE(causes.why().starts_with("needed a reset 2 times within a day")) << causes.why();
  causes.unmask();
  causes.see(at(8), HealthCause::kXidMask, "Xid 119");
  EXPECT_EQ(causes.state(), GpuState::kMasked) << "an operator's word begins a new count";
}

TEST(GpuCauses, ANeedOfTheDayBeforeIsForgotten) {
  GpuCauses causes;
  for (int day = 0; day < 5; ++day) {
    const Instant now = Instant{} + hours(24) * day;
    causes.see(now, HealthCause::kXidMask, "Xid 119");
    EXPECT_EQ(causes.state(), GpuState::kMasked);
    causes.reset_done(now + seconds(1));
    causes.check_passed(now + seconds(2));
    EXPECT_EQ(causes.state(), GpuState::kOk);
    causes.check_invariants();
  }
}

TEST(GpuCauses, AFailedCheckAfterTheResetIsAFailure) {
  GpuCauses causes;
  causes.see(at(0), HealthCause::kXidMask, "Xid 119");
  causes.reset_done(at(1));
  causes.check_failed(at(2), "memory test: 3 errors");
  EXPECT_EQ(causes.state(), GpuState::kFailed);
}

TEST(GpuCauses, AFailedCheckOfASuspectMasksIt) {
  GpuCauses causes;
  causes.see(at(0), HealthCause::kXidSuspect, "Xid 144");
  causes.check_failed(at(2), "memory test: 3 errors");
  EXPECT_EQ(causes.state(), GpuState::kMasked);
  EXPECT_TRUE(causes.wants_reset());
}

TEST(GpuCauses, AFactThatTheResetDidNotEndIsAFailure) {
  GpuCauses causes;
  causes.tell_fact(at(0), at(0), HealthCause::kResetDue, "the driver asks for a reset");
  causes.tell_fact(at(1), at(1), HealthCause::kResetDue, "the driver asks for a reset");
  EXPECT_EQ(causes.state(), GpuState::kMasked) << "it goes on";
  causes.reset_done(at(5));
  causes.tell_fact(at(6), at(4), HealthCause::kResetDue, "the driver asks for a reset");
  EXPECT_EQ(causes.state(), GpuState::kMasked) << "that look began before the reset";
  causes.tell_fact(at(7), at(6), HealthCause::kResetDue, "the driver asks for a reset");
  EXPECT_EQ(causes.state(), GpuState::kFailed);
}

TEST(GpuCauses, AFactThatIsOverIsNoRecovery) {
  GpuCauses causes;
  causes.tell_fact(at(0), at(0), HealthCause::kUnreadable, "cannot be read");
  causes.tell_fact(at(1), at(1), HealthCause::kUnreadable, "");
  EXPECT_EQ(causes.state(), GpuState::kMasked);
  causes.check_passed(at(2));
  EXPECT_EQ(causes.state(), GpuState::kMasked) << "no reset yet";
}

TEST(GpuCauses, ThrottlingEndsByItself) {
  GpuCauses causes;
  causes.tell_fact(at(0), at(0), HealthCause::kThrottled, "hot");
  EXPECT_EQ(causes.state(), GpuState::kSuspect);
  causes.tell_fact(at(1), at(1), HealthCause::kThrottled, "");
  EXPECT_EQ(causes.state(), GpuState::kOk);
}

TEST(GpuCauses, TheWorstCauseSpeaks) {
  GpuCauses causes;
  causes.see(at(0), HealthCause::kXidSuspect, "Xid 144");
  causes.see(at(1), HealthCause::kXidMask, "Xid 119");
  causes.see(at(2), HealthCause::kMissing, "it is not listed");
  EXPECT_EQ(causes.why(), "Xid 119; the GPU is ok again after a reset and a self-test");
  EXPECT_EQ(causes.since(), at(1));
}

TEST(GpuCauses, ALongTextIsCut) {
  GpuCauses causes;
  causes.see(at(0), HealthCause::kXidFail, std::string(10'000, 'x'));
  causes.check_invariants();
}

}  // namespace
}  // namespace muster::agent
