#include "agent/health/host_gpus.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "tests/agent/health/health_desk.h"

namespace muster::agent {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using Commands = std::vector<gpus::Command>;

constexpr std::uint64_t kMebibyte = 1ULL << 20;

/// A HostGpus of eight GPUs, and the prober and the edge around it.
class GpusDesk : public testing::Test {
 protected:
  GpusDesk() { start("boot-1"); }

  void start(const std::string& boot_id) {
    gpus_.emplace(now_, WallClock(now_, 1'000'000'000'000), boot_id, disk_);
    collect();
    gpus::Offered offered;
    for (int gpu = 0; gpu < kDeskGpus; ++gpu) {
      offered.uuids.push_back(desk_uuid(gpu));
    }
    say(std::move(offered));
  }
  void say(gpus::Input input) {
    gpus_->step(now_, std::move(input));
    collect();
  }
  void collect() {
    gpus_->check_invariants();
    gpus::Output output = gpus_->take_output();
    disk_ = output.record.value_or(disk_);
    std::move(output.commands.begin(), output.commands.end(), std::back_inserter(commands_));
    std::move(output.cleaned.begin(), output.cleaned.end(), std::back_inserter(cleaned_));
    has_changed_ = has_changed_ || output.has_changed;
    for (const Event& event : output.events) {
      events_ += event.text() + "\n";
    }
  }
  /// All GPUs were read, by a question put now.
  ProbeView read() {
    ProbeView view;
    view.machine = desk_reading();
    view.sights.assign(kDeskGpus, GpuSight::kRead);
    view.began.assign(kDeskGpus, now_);
    view.whole_began = now_;
    view.has_answered = true;
    return view;
  }
  clean::Seen well(int gpu, std::uint64_t used = 500 * kMebibyte) const {
    return {desk_uuid(gpu),          now_, true, used, std::vector<clean::Holder>(),
            RecoveryAction::kNothing};
  }
  void view(ProbeView view, std::vector<clean::Seen> seen = {}) {
    say(gpus::Viewed{std::move(view), std::move(seen), {}});
  }
  void pass(Duration time) {
    now_ += time;
    gpus_->tick(now_);
    collect();
  }
  template <class T>
  std::vector<T> told() const {
    std::vector<T> found;
    for (const gpus::Command& command : commands_) {
      if (const T* one = std::get_if<T>(&command)) {
        found.push_back(*one);
      }
    }
    return found;
  }

  Instant now_{1000s};
  std::string disk_;
  std::optional<HostGpus> gpus_;
  Commands commands_;
  std::vector<std::string> cleaned_;
  bool has_changed_ = false;
  std::string events_;
};

TEST_F(GpusDesk, AGpuIsCleanedByALookThatItAskedFor) {
  say(gpus::ToClean{desk_uuid(3), Token(7)});
  EXPECT_EQ(told<gpus::CleanLook>(), (std::vector{gpus::CleanLook{desk_uuid(3), Token(7)}}));
  now_ += 30ms;
  view(read(), {well(3)});
  EXPECT_EQ(cleaned_, std::vector<std::string>{desk_uuid(3)});
}

TEST_F(GpusDesk, ALeftoverOfTheGrantIsKilledAndAForeignerIsNamed) {
  say(gpus::ToClean{desk_uuid(3), Token(7)});
  clean::Seen seen = well(3);
  seen.holders = {clean::Holder{77, true, "ann", "python"}, clean::Holder{78, false, "ben", "top"}};
  view(read(), {seen});
  EXPECT_EQ(told<gpus::KillHolder>(), (std::vector{gpus::KillHolder{desk_uuid(3), 77, Token(7)}}));
  EXPECT_TRUE(cleaned_.empty());
  const std::string why = gpus_->dirty().at(desk_uuid(3));
  EXPECT_NE(why.find("pid 78 (top of ben)"), std::string::npos) << why;
  pass(60s);
  EXPECT_NE(events_.find("gpu_leaked"), std::string::npos) << events_;
  EXPECT_NE(events_.find("top of ben"), std::string::npos) << events_;
}

TEST_F(GpusDesk, AGpuThatIsToldAgainWaitsForItsReasonAndDoesNotLeak) {
  say(gpus::ToClean{desk_uuid(3), Token(7)});
  for (int told = 0; told < 6; ++told) {
    say(gpus::ToClean{desk_uuid(3), Token(7), "the epilog of job 7 runs"});
    EXPECT_EQ(gpus_->dirty().at(desk_uuid(3)), "the epilog of job 7 runs");
    pass(20s);
  }
  EXPECT_EQ(events_.find("gpu_leaked"), std::string::npos) << events_;
  say(gpus::ToClean{desk_uuid(3), Token(7)});
  view(read(), {well(3)});
  EXPECT_EQ(cleaned_, std::vector<std::string>{desk_uuid(3)});
}

TEST_F(GpusDesk, ALeakIsNotForgottenByANewStartOfTheAgent) {
  say(gpus::ToClean{desk_uuid(3), Token()});
  view(read(), {well(3)});
  ASSERT_EQ(cleaned_.size(), 1U);
  cleaned_.clear();
  start("boot-1");
  say(gpus::ToClean{desk_uuid(3), Token()});
  now_ += 1s;
  view(read(), {well(3, 900 * kMebibyte)});
  EXPECT_TRUE(cleaned_.empty()) << "it used 500 MiB when it was clean";
  start("boot-2");
  say(gpus::ToClean{desk_uuid(3), Token()});
  now_ += 1s;
  view(read(), {well(3, 900 * kMebibyte)});
  EXPECT_EQ(cleaned_.size(), 1U) << "a boot cleans";
}

TEST_F(GpusDesk, AnXidTakesAGpuAwayUntilItsRemedyAndATest) {
  view(read());
  say(health::Input(health::XidSeen{XidSource::kEvent, desk_uuid(2), "", 79, "", 0}));
  EXPECT_FALSE(gpus_->is_well(desk_uuid(2)));
  EXPECT_TRUE(gpus_->is_well(desk_uuid(1)));
  EXPECT_TRUE(has_changed_);
  start("boot-1");
  EXPECT_FALSE(gpus_->is_well(desk_uuid(2))) << "no new start mends it";
  now_ += 1s;
  view(read());
  EXPECT_FALSE(gpus_->is_well(desk_uuid(2))) << "no answered query mends it";
}

TEST_F(GpusDesk, AResetWaitsForTheGrantToEnd) {
  view(read());
  commands_.clear();
  say(health::Input(health::XidSeen{XidSource::kEvent, desk_uuid(2), "", 119, "", 0}));
  ASSERT_TRUE(gpus_->waits_for_idle());
  say(gpus::Held{{desk_uuid(2)}});
  EXPECT_TRUE(told<gpus::ResetGpu>().empty());
  say(gpus::Held{});
  EXPECT_EQ(told<gpus::ResetGpu>(), (std::vector{gpus::ResetGpu{desk_uuid(2)}}));
  now_ += 1s;
  say(health::Input(health::ResetBegan{desk_uuid(2)}));
  say(health::Input(health::ResetEnded{desk_uuid(2), ""}));
  say(gpus::Held{});
  ASSERT_EQ(told<gpus::CheckGpu>(), (std::vector{gpus::CheckGpu{desk_uuid(2)}}));
  now_ += 1s;
  say(health::Input(health::CheckEnded{desk_uuid(2), now_, ""}));
  EXPECT_TRUE(gpus_->is_well(desk_uuid(2)));
}

TEST_F(GpusDesk, OneViewIsHeardOnce) {
  view(read());
  ProbeView later = read();
  later.machine.gpus.erase(later.machine.gpus.begin());
  later.sights.pop_back();
  later.began.pop_back();
  // The same answer again, without a GPU: another GPU's sight changed meanwhile.
  view(later);
  view(later);
  view(later);
  EXPECT_TRUE(gpus_->is_well(desk_uuid(0)));
  for (int look = 0; look < 2; ++look) {
    now_ += 1s;
    later.began.assign(later.began.size(), now_);
    later.whole_began = now_;
    view(later);
  }
  EXPECT_FALSE(gpus_->is_well(desk_uuid(0))) << "two whole looks did not find it";
}

TEST_F(GpusDesk, UnknownChangesNothingAndAHangMasks) {
  view(read());
  has_changed_ = false;
  ProbeView silent = read();
  silent.sights.assign(kDeskGpus, GpuSight::kUnknown);
  view(silent);
  EXPECT_FALSE(has_changed_);
  EXPECT_FALSE(gpus_->host().is_answered);
  now_ += 1s;
  ProbeView found = read();
  found.sights[5] = GpuSight::kHanging;
  view(found);
  EXPECT_TRUE(gpus_->host().is_answered);
  EXPECT_FALSE(gpus_->is_well(desk_uuid(5)));
  EXPECT_TRUE(gpus_->is_well(desk_uuid(4)));
}

TEST_F(GpusDesk, AStuckDriverCordonsTheHost) {
  ProbeView stuck = read();
  stuck.is_driver_stuck = true;
  view(stuck);
  EXPECT_TRUE(gpus_->host().is_cordoned);
  EXPECT_FALSE(gpus_->host().why.empty());
}

scheduler::GpuOrder order(bool is_mask, std::uint64_t index) {
  return {desk_uuid(2), is_mask, "fan 3", "ann@gpu1", 0, Token{1, index}};
}

TEST_F(GpusDesk, AnUnmaskIsObeyedOnceAlsoBehindARestart) {
  const auto hang = [this] {
    now_ += 1s;
    ProbeView found = read();
    found.sights[2] = GpuSight::kHanging;
    view(found);
    EXPECT_FALSE(gpus_->is_well(desk_uuid(2)));
    now_ += 1s;
    view(read());
    EXPECT_FALSE(gpus_->is_well(desk_uuid(2))) << "an answer is no remedy";
  };
  view(read());
  say(gpus::Ordered{order(true, 7)});
  EXPECT_TRUE(gpus_->is_well(desk_uuid(2))) << "the log keeps it out of use, not its host";
  hang();
  say(gpus::Ordered{order(false, 9)});
  EXPECT_TRUE(gpus_->is_well(desk_uuid(2)));
  hang();
  say(gpus::Ordered{order(false, 9)});
  start("boot-1");
  say(gpus::Ordered{order(false, 9)});
  EXPECT_FALSE(gpus_->is_well(desk_uuid(2))) << "the host found this after the order";
  say(gpus::Ordered{order(false, 10)});
  EXPECT_TRUE(gpus_->is_well(desk_uuid(2)));
}

TEST_F(GpusDesk, ADamagedRecordIsTold) {
  disk_ = "not a record";
  start("boot-1");
  EXPECT_NE(events_.find("gpu_record_damaged"), std::string::npos);
}

}  // namespace
}  // namespace muster::agent
