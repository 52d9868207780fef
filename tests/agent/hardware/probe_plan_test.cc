#include "agent/hardware/probe_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace muster::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::string pci(std::size_t i) {
  return "0000:0" + std::to_string(i) + ":00.0";
}

/// Probers of a machine of eight GPUs, some of which hang. A killed prober that hangs is gone at
/// once, or never if `is_kernel_stuck`.
class ProbePlanTest : public testing::Test {
 protected:
  struct Process {
    StartProber order;
    Instant answer_at = kNever;
  };

  ProbePlanTest() : plan_(options()) {}

  static ProbePlanOptions options() {
    ProbePlanOptions options;
    options.has_events = false;
    return options;
  }

  MachineReading reading_of(const std::vector<std::string>& ids) const {
    MachineReading reading;
    reading.driver = "550";
    for (std::size_t i = 0; i < count_; ++i) {
      if (ids.empty() || std::find(ids.begin(), ids.end(), pci(i)) != ids.end()) {
        reading.gpus.emplace_back();
        reading.gpus.back().uuid = "GPU-" + std::to_string(i);
        reading.gpus.back().pci_id = pci(i);
      }
    }
    return reading;
  }

  bool hangs(const StartProber& order) const {
    return std::any_of(hanging_.begin(), hanging_.end(), [&](const std::string& id) {
      return order.pci_ids.empty() ||
             std::find(order.pci_ids.begin(), order.pci_ids.end(), id) != order.pci_ids.end();
    });
  }

  void obey() {
    for (ProbePlanOutput output = plan_.take_output(); !output.orders.empty();
         output = plan_.take_output()) {
      for (const ProbeOrder& order : output.orders) {
        obey(order);
      }
      plan_.check_invariants();
    }
  }

  void obey(const ProbeOrder& order) {
    if (const auto* start = std::get_if<StartProber>(&order)) {
      ++starts_;
      processes_[start->prober] = {*start, now_ + milliseconds(10)};
      most_ = std::max(most_, processes_.size());
    } else if (const auto* ask = std::get_if<AskProber>(&order)) {
      ++asks_;
      processes_.at(ask->prober).answer_at = now_ + milliseconds(10);
    } else if (const auto* kill = std::get_if<KillProber>(&order)) {
      if (!is_kernel_stuck_ || !hangs(processes_.at(kill->prober).order)) {
        processes_.erase(kill->prober);
        plan_.step(now_, ProberEnded{kill->prober});
      }
    }
  }

  void run(Duration duration) {
    const Instant end = now_ + duration;
    plan_.tick(now_);
    obey();
    while (true) {
      Instant next = plan_.next_deadline();
      for (const auto& [id, process] : processes_) {
        next = std::min(next, hangs(process.order) ? kNever : process.answer_at);
      }
      if (next > end) {
        now_ = end;
        return;
      }
      now_ = next;
      answer();
      plan_.tick(now_);
      obey();
    }
  }

  void answer() {
    for (auto& [id, process] : processes_) {
      if (process.answer_at <= now_ && !hangs(process.order)) {
        process.answer_at = kNever;
        if (failure_.empty()) {
          plan_.step(now_, ProberAnswered{id, reading_of(process.order.pci_ids)});
        } else {
          plan_.step(now_, ProberFailed{id, failure_});
        }
      }
    }
    obey();
  }

  std::size_t seen(GpuSight sight) const {
    const ProbeView view = plan_.view();
    return static_cast<std::size_t>(std::count(view.sights.begin(), view.sights.end(), sight));
  }

  std::size_t count_ = 8;
  std::set<std::string> hanging_;
  bool is_kernel_stuck_ = false;
  std::string failure_;
  std::map<std::uint64_t, Process> processes_;
  std::size_t most_ = 0;
  std::size_t starts_ = 0;
  std::size_t asks_ = 0;
  Instant now_{};
  ProbePlan plan_;
};

TEST_F(ProbePlanTest, OneProberAnswersManyLooks) {
  run(seconds(60));
  EXPECT_EQ(seen(GpuSight::kRead), 8U);
  EXPECT_EQ(starts_, 1U);
  EXPECT_TRUE(plan_.view().has_answered);
}

TEST_F(ProbePlanTest, WithoutAnAnswerAllAreUnknownWithinThreeSeconds) {
  run(seconds(10));
  hanging_ = {pci(3)};
  run(milliseconds(2600));
  EXPECT_EQ(seen(GpuSight::kRead), 7U);
  EXPECT_EQ(plan_.view().sights[3], GpuSight::kUnknown);
  EXPECT_EQ(plan_.view().machine.gpus[3].error, "the driver gives no answer");
}

TEST_F(ProbePlanTest, TheHangingGpuIsFoundAndTheOthersAreReadAgain) {
  run(seconds(10));
  hanging_ = {pci(3)};
  run(seconds(5));
  EXPECT_EQ(seen(GpuSight::kRead), 7U);
  EXPECT_EQ(plan_.view().sights[3], GpuSight::kHanging);
  EXPECT_EQ(plan_.view().machine.gpus[3].uuid, "GPU-3");
  const std::size_t before = starts_;
  run(seconds(50));
  EXPECT_EQ(starts_, before);
  EXPECT_EQ(seen(GpuSight::kRead), 7U);
}

TEST_F(ProbePlanTest, AGpuThatHangsNoLongerIsReadAgainWithinTheRetry) {
  run(seconds(10));
  hanging_ = {pci(3)};
  run(seconds(15));
  hanging_.clear();
  run(seconds(61));
  EXPECT_EQ(seen(GpuSight::kRead), 8U);
  run(seconds(5));
  EXPECT_EQ(processes_.size(), 1U);
}

TEST_F(ProbePlanTest, AProberThatCannotBeKilledLeavesTheOthersReadable) {
  run(seconds(10));
  is_kernel_stuck_ = true;
  hanging_ = {pci(0)};
  run(seconds(20));
  EXPECT_EQ(seen(GpuSight::kRead), 7U);
  EXPECT_FALSE(plan_.view().is_driver_stuck);
  EXPECT_LE(most_, 3U);
}

TEST_F(ProbePlanTest, AStuckDriverGetsNoMoreThanThreeProbers) {
  run(seconds(10));
  is_kernel_stuck_ = true;
  for (std::size_t i = 0; i < 8; ++i) {
    hanging_.insert(pci(i));
  }
  run(seconds(3600));
  EXPECT_TRUE(plan_.view().is_driver_stuck);
  EXPECT_EQ(processes_.size(), 3U);
  EXPECT_EQ(most_, 3U);
  EXPECT_EQ(starts_, 3U);
  EXPECT_EQ(seen(GpuSight::kRead), 0U);
}

TEST_F(ProbePlanTest, AStuckDriverIsLookedAtAgainWhenItsProbersAreGone) {
  run(seconds(10));
  is_kernel_stuck_ = true;
  for (std::size_t i = 0; i < 8; ++i) {
    hanging_.insert(pci(i));
  }
  run(seconds(100));
  hanging_.clear();
  is_kernel_stuck_ = false;
  const auto gone = std::exchange(processes_, {});
  for (const auto& [id, process] : gone) {
    plan_.step(now_, ProberEnded{id});
  }
  run(seconds(70));
  EXPECT_FALSE(plan_.view().is_driver_stuck);
  EXPECT_EQ(seen(GpuSight::kRead), 8U);
}

TEST_F(ProbePlanTest, AFailureIsTriedAgainMoreAndMoreSeldom) {
  count_ = 0;
  failure_ = "there is no library";
  run(seconds(600));
  EXPECT_EQ(plan_.view().failure, failure_);
  EXPECT_FALSE(plan_.view().has_answered);
  EXPECT_LE(starts_, 18U);
  EXPECT_GE(starts_, 10U);
  failure_.clear();
  count_ = 8;
  run(seconds(60));
  EXPECT_EQ(seen(GpuSight::kRead), 8U);
}

TEST_F(ProbePlanTest, AFailureInTheMiddleMakesGpusUnknownNotGone) {
  run(seconds(10));
  failure_ = "the driver is not loaded";
  run(seconds(5));
  EXPECT_EQ(seen(GpuSight::kUnknown), 8U);
  EXPECT_EQ(plan_.view().machine.gpus[0].error, failure_);
}

TEST_F(ProbePlanTest, GpusThatTheKernelListsAreSearchedWithoutAnyAnswerBefore) {
  hanging_ = {pci(5)};
  plan_.step(now_, GpusListed{{pci(4), pci(5), pci(6)}});
  run(seconds(30));
  EXPECT_EQ(seen(GpuSight::kRead), 2U);
  EXPECT_EQ(seen(GpuSight::kHanging), 1U);
}

TEST_F(ProbePlanTest, AProberThatEndsIsFollowedByASearch) {
  run(seconds(10));
  const std::uint64_t id = processes_.begin()->first;
  processes_.clear();
  plan_.step(now_, ProberEnded{id});
  EXPECT_EQ(seen(GpuSight::kUnknown), 8U);
  run(seconds(3));
  EXPECT_EQ(seen(GpuSight::kRead), 8U);
}

TEST_F(ProbePlanTest, AHurryShortensThePause) {
  run(seconds(10));
  const std::size_t calm = asks_;
  EXPECT_LE(calm, 20U);
  plan_.hurry(now_ + seconds(10));
  run(seconds(10));
  EXPECT_GE(asks_ - calm, 80U);
  const std::size_t hurried = asks_;
  run(seconds(10));
  EXPECT_LE(asks_ - hurried, 20U);
}

TEST_F(ProbePlanTest, PeersOfAGpuThatIsReadAloneStay) {
  MachineReading all = reading_of({});
  all.gpus[0].peers = {{1, PciAncestor::kOneSwitch, 0}, {2, std::nullopt, 4}};
  plan_.tick(now_);
  const auto start = std::get<StartProber>(plan_.take_output().orders.at(0));
  plan_.step(now_, ProberAnswered{start.prober, all});
  plan_.step(now_ + seconds(1), ProberEnded{start.prober});
  for (const ProbeOrder& order : plan_.take_output().orders) {
    if (const auto* one = std::get_if<StartProber>(&order)) {
      plan_.step(now_ + seconds(1), ProberAnswered{one->prober, reading_of(one->pci_ids)});
    }
  }
  EXPECT_EQ(plan_.view().machine.gpus[0].peers, all.gpus[0].peers);
}

TEST(ProbePlanEvents, AProberOfEventsFollowsTheFirstAnswer) {
  ProbePlan plan(ProbePlanOptions{});
  plan.tick(Instant{});
  const auto all = std::get<StartProber>(plan.take_output().orders.at(0));
  EXPECT_EQ(all.kind, ProberKind::kAll);
  MachineReading reading;
  reading.gpus.emplace_back();
  reading.gpus.back().pci_id = pci(0);
  plan.step(Instant{}, ProberAnswered{all.prober, reading});
  const auto events = std::get<StartProber>(plan.take_output().orders.at(0));
  EXPECT_EQ(events.kind, ProberKind::kEvents);
  plan.step(Instant{}, ProberEnded{events.prober});
  EXPECT_TRUE(plan.take_output().orders.empty());
  EXPECT_LE(plan.next_deadline(), Instant{} + seconds(1));
  plan.tick(Instant{} + seconds(1));
  EXPECT_FALSE(plan.take_output().orders.empty());
}

}  // namespace
}  // namespace muster::agent
