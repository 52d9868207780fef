// Laws of GpuHealth, over drawn sequences of everything that it can hear.

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "tests/agent/health/health_desk.h"

namespace muster::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::vector<std::uint32_t> codes_of(XidClass kind) {
  std::vector<std::uint32_t> codes;
  for (const CataloguedXid& row : xid_catalogue()) {
    if (row.kind == kind) {
      codes.push_back(row.code);
    }
  }
  return codes;
}

int drawn_gpu() {
  return *rc::gen::inRange(0, kDeskGpus);
}

TEST(HealthLaws, NoSequenceOfApplicationXidsMasksAGpu) {
  EXPECT_TRUE(rc::check([] {
    HealthDesk desk;
    const std::vector<std::uint32_t> codes = codes_of(XidClass::kAppFault);
    const int steps = *rc::gen::inRange(1, 400);
    for (int i = 0; i < steps; ++i) {
      desk.now += milliseconds(*rc::gen::inRange(0, 3000));
      const std::uint32_t code = *rc::gen::elementOf(codes);
      const health::Output out = *rc::gen::arbitrary<bool>() ? desk.event(drawn_gpu(), code)
                                                             : desk.kernel(drawn_gpu(), code);
      RC_ASSERT(out.changes.empty());
      RC_ASSERT(!out.has_host_changed);
      RC_ASSERT(out.resets.empty() && out.checks.empty());
    }
    desk.start("boot-1");
    for (int gpu = 0; gpu < kDeskGpus; ++gpu) {
      RC_ASSERT(desk.state(gpu) == GpuState::kOk);
    }
  }));
}

/// A plain second account of one GPU: what has to happen before it may be offered again.
struct Account {
  bool owes_operator = false;
  bool owes_boot = false;
  bool owes_reset = false;
  bool owes_check = false;

  void mask() { owes_reset = owes_check = true; }
  bool is_offered() const { return !owes_operator && !owes_boot && !owes_reset && !owes_check; }
};

class Story {
 public:
  void act() {
    const int gpu = drawn_gpu();
    desk_.now += seconds(*rc::gen::inRange(0, 40'000));
    Account& account = accounts_.at(static_cast<std::size_t>(gpu));
    switch (*rc::gen::inRange(0, 11)) {
      case 0:
        account.mask();
        desk_.event(gpu, *rc::gen::elementOf(codes_of(XidClass::kResetGpu)));
        return;
      case 1:
        account.owes_boot = account.owes_check = true;
        desk_.kernel(gpu, 79);
        return;
      case 2:
        account.owes_operator = true;
        desk_.event(gpu, *rc::gen::elementOf(codes_of(XidClass::kTicket)));
        return;
      case 3:
        desk_.kernel(gpu, *rc::gen::elementOf(codes_of(XidClass::kAppFault)));
        return;
      case 4:
        account.owes_reset = false;
        desk_.reset(gpu);
        return;
      case 5:
        account.owes_check = account.owes_check && (account.owes_reset || account.owes_boot);
        desk_.check(gpu);
        return;
      case 6:
        account = {};
        desk_.say(health::UnmaskOrder{desk_uuid(gpu), "well"});
        return;
      case 7:
        account.owes_operator = true;
        desk_.event(gpu, 54);
        return;
      case 8:
        desk_.look(desk_reading());
        return;
      case 9:
        desk_.start(boot_id());
        return;
      default:
        ++boots_;
        for (Account& each : accounts_) {
          each.owes_reset = each.owes_boot = false;
        }
        desk_.start(boot_id());
        return;
    }
  }

  void judge() const {
    for (int gpu = 0; gpu < kDeskGpus; ++gpu) {
      const bool is_offered = desk_.state(gpu) < GpuState::kMasked;
      const bool may_be = accounts_.at(static_cast<std::size_t>(gpu)).is_offered();
      // A GPU that needed the reset twice within a day stays out for longer.
      RC_ASSERT(!is_offered || may_be);
      RC_ASSERT(is_offered || !may_be || desk_.state(gpu) == GpuState::kFailed);
    }
  }

 private:
  std::string boot_id() const { return "boot-" + std::to_string(boots_); }

  HealthDesk desk_;
  std::array<Account, kDeskGpus> accounts_;
  int boots_ = 1;
};

TEST(HealthLaws, AMaskedGpuComesBackByItsClassAlone) {
  EXPECT_TRUE(rc::check([] {
    Story story;
    const int steps = *rc::gen::inRange(1, 80);
    for (int i = 0; i < steps; ++i) {
      story.act();
      story.judge();
    }
  }));
}

TEST(HealthLaws, TheOrderOfTheTwoSourcesDoesNotMatter) {
  EXPECT_TRUE(rc::check([] {
    HealthDesk one;
    HealthDesk other;
    const int steps = *rc::gen::inRange(1, 40);
    for (int i = 0; i < steps; ++i) {
      const int gpu = drawn_gpu();
      const auto code = static_cast<std::uint32_t>(*rc::gen::inRange(1, 173));
      const Duration lag = milliseconds(*rc::gen::inRange(0, 990));
      one.event(gpu, code);
      other.kernel(gpu, code);
      one.now += lag;
      other.now += lag;
      one.kernel(gpu, code);
      other.event(gpu, code);
      one.now += seconds(2);
      other.now += seconds(2);
    }
    for (int gpu = 0; gpu < kDeskGpus; ++gpu) {
      RC_ASSERT(one.state(gpu) == other.state(gpu));
      RC_ASSERT(one.health.gpus().at(static_cast<std::size_t>(gpu)).xids ==
                other.health.gpus().at(static_cast<std::size_t>(gpu)).xids);
    }
  }));
}

TEST(HealthLaws, ARestartAtAnyInstantChangesNoState) {
  EXPECT_TRUE(rc::check([] {
    HealthDesk desk;
    const int steps = *rc::gen::inRange(1, 40);
    for (int i = 0; i < steps; ++i) {
      desk.now += seconds(*rc::gen::inRange(0, 10'000));
      const int gpu = drawn_gpu();
      switch (*rc::gen::inRange(0, 4)) {
        case 0:
          desk.reset(gpu);
          break;
        case 1:
          desk.check(gpu);
          break;
        default:
          desk.event(gpu, static_cast<std::uint32_t>(*rc::gen::inRange(1, 173)));
          break;
      }
      std::vector<GpuState> before;
      for (int each = 0; each < kDeskGpus; ++each) {
        before.push_back(desk.state(each));
      }
      const bool was_cordoned = desk.health.host().is_cordoned;
      desk.start("boot-1");
      for (int each = 0; each < kDeskGpus; ++each) {
        RC_ASSERT(desk.state(each) == before.at(static_cast<std::size_t>(each)));
      }
      RC_ASSERT(desk.health.host().is_cordoned == was_cordoned);
    }
  }));
}

}  // namespace
}  // namespace muster::agent
