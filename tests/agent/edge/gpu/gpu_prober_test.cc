// This test binary is its own prober: /proc/self/exe is started as `probe`.

#include "agent/edge/gpu/gpu_prober.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>

#include "agent/edge/gpu/probe.h"
#include "gossip/edge/boot_clock.h"
#include "tests/fakes/nvml/fake_machine.h"

namespace muster::agent {
namespace {

using fakes::FakeMachine;
using std::chrono::milliseconds;
using std::chrono::seconds;

class GpuProberTest : public testing::Test {
 protected:
  GpuProberTest() : folder_(fakes::make_folder()) {
    setenv("MUSTER_FAKE_NVML", folder_.c_str(), 1);
    options_.library = MUSTER_FAKE_NVML_NEW;
    options_.pci_directory = folder_ + "/pci";
    options_.plan.look_pause = milliseconds(20);
    options_.plan.patience = milliseconds(500);
    options_.plan.start_patience = seconds(5);
    options_.plan.retry_first = milliseconds(100);
    options_.plan.hang_retry = seconds(2);
    options_.plan.has_events = false;
  }
  ~GpuProberTest() override {
    prober_.reset();
    std::filesystem::remove_all(folder_);
  }

  void start() {
    prober_ = std::make_unique<GpuProber>(options_);
    prober_->start(boot_now());
  }

  /// Turns the loop until `is_done`; false after half a minute.
  bool run_until(const std::function<bool()>& is_done) {
    const Instant end = boot_now() + seconds(30);
    while (!is_done()) {
      const Instant now = boot_now();
      if (now > end) {
        return false;
      }
      std::vector<pollfd> polled;
      for (const int fd : prober_->fds()) {
        polled.push_back({fd, POLLIN, 0});
      }
      const auto wait =
          std::clamp(to_ms(prober_->next_deadline() - now) + 1, std::int64_t{0}, std::int64_t{100});
      poll(polled.data(), polled.size(), static_cast<int>(wait));
      for (const pollfd& one : polled) {
        if (one.revents != 0) {
          prober_->on_readable(boot_now(), one.fd);
        }
      }
      prober_->on_time(boot_now());
      take();
    }
    return true;
  }

  void take() {
    if (auto view = prober_->take_view(); view.has_value()) {
      view_ = std::move(*view);
      ++views_;
    }
    for (XidEvent& xid : prober_->take_xids()) {
      xids_.push_back(std::move(xid));
    }
    for (const Event& event : prober_->take_events()) {
      events_.push_back(event.text());
    }
  }

  std::size_t seen(GpuSight sight) const {
    return static_cast<std::size_t>(std::count(view_.sights.begin(), view_.sights.end(), sight));
  }

  std::string folder_;
  GpuProberOptions options_;
  std::unique_ptr<GpuProber> prober_;
  ProbeView view_;
  std::size_t views_ = 0;
  std::vector<XidEvent> xids_;
  std::vector<std::string> events_;
};

TEST_F(GpuProberTest, ReadsAgainAndAgainThroughOneProcess) {
  FakeMachine machine = fakes::hgx();
  machine.write(folder_);
  start();
  EXPECT_TRUE(run_until([&] { return seen(GpuSight::kRead) == 8; }));
  const std::vector<int> fds = prober_->fds();
  machine.gpus[3]["memory_used"] = "1000000";
  machine.write(folder_);
  EXPECT_TRUE(run_until([&] { return view_.machine.gpus[3].memory->used_bytes == 1000000; }));
  EXPECT_EQ(prober_->fds(), fds);
}

TEST_F(GpuProberTest, OneHangingGpuIsFoundAndTheOthersComeBack) {
  FakeMachine machine = fakes::hgx();
  machine.write(folder_);
  start();
  ASSERT_TRUE(run_until([&] { return seen(GpuSight::kRead) == 8; }));
  machine.gpus[5]["hang"] = "1";
  machine.write_gpu(folder_, 5);
  ASSERT_TRUE(run_until([&] { return seen(GpuSight::kUnknown) == 8; }));
  EXPECT_TRUE(run_until([&] { return seen(GpuSight::kRead) == 7; }));
  EXPECT_TRUE(run_until([&] { return view_.sights[5] == GpuSight::kHanging; }));
  const std::size_t before = views_;
  EXPECT_TRUE(run_until([&] { return views_ > before + 20 || seen(GpuSight::kRead) != 7; }));
  EXPECT_EQ(seen(GpuSight::kRead), 7U);
  machine.gpus[5].values.erase("hang");
  machine.write_gpu(folder_, 5);
  EXPECT_TRUE(run_until([&] { return seen(GpuSight::kRead) == 8; }));
}

TEST_F(GpuProberTest, AHangBeforeTheFirstAnswerIsFoundByTheKernelsList) {
  for (const char* id : {"0000:1b:00.0", "0000:1c:00.0", "0000:1d:00.0"}) {
    const std::string device = options_.pci_directory + "/" + id;
    std::filesystem::create_directories(device);
    std::ofstream(device + "/vendor") << "0x10de\n";
    std::ofstream(device + "/class") << "0x030200\n";
  }
  FakeMachine machine = fakes::plain(3, "NVIDIA H100 PCIe");
  machine.gpus[0]["hang"] = "1";
  machine.write(folder_);
  options_.plan.start_patience = milliseconds(500);
  start();
  EXPECT_TRUE(run_until([&] { return seen(GpuSight::kRead) == 2; }));
  EXPECT_TRUE(run_until([&] { return view_.sights[0] == GpuSight::kHanging; }));
}

TEST_F(GpuProberTest, AProberThatCrashesIsReplaced) {
  FakeMachine machine = fakes::hgx();
  machine.write(folder_);
  start();
  ASSERT_TRUE(run_until([&] { return seen(GpuSight::kRead) == 8; }));
  machine.gpus[2]["crash"] = "1";
  machine.write_gpu(folder_, 2);
  EXPECT_TRUE(run_until(
      [&] { return seen(GpuSight::kRead) == 7 && view_.sights[2] == GpuSight::kHanging; }));
}

TEST_F(GpuProberTest, WithoutALibraryItSaysSoAndOffersNothing) {
  options_.library = folder_ + "/libnvidia-ml.so.1";
  start();
  EXPECT_TRUE(run_until([&] { return !view_.failure.empty(); }));
  EXPECT_FALSE(view_.has_answered);
  EXPECT_TRUE(view_.machine.gpus.empty());
}

TEST_F(GpuProberTest, AnExecutableThatIsNoProberIsAFailureNotALoop) {
  options_.executable = "/bin/yes";
  options_.library.clear();
  options_.plan.retry_first = seconds(60);
  start();
  EXPECT_TRUE(run_until([&] { return view_.failure == "the prober writes what is not a frame"; }));
  options_.executable = "/nonexistent";
  start();
  EXPECT_TRUE(run_until([&] { return view_.failure.starts_with("cannot start a prober"); }));
}

TEST_F(GpuProberTest, XidsComeAsEvents) {
  options_.plan.has_events = true;
  fakes::hgx().write(folder_);
  start();
  // The library has no memory: an event before its set is made is lost, so it is told again.
  EXPECT_TRUE(run_until([&] {
    if (xids_.empty() && views_ % 5 == 4) {
      ++views_;
      fakes::raise_xid(folder_, 6, 79);
    }
    return !xids_.empty();
  }));
  EXPECT_EQ(xids_[0].code, 79U);
  EXPECT_EQ(xids_[0].uuid, "GPU-00000007-1111-2222-3333-444444444444");
  EXPECT_EQ(xids_[0].pci_id, "0000:21:00.0");
  EXPECT_FALSE(xids_[0].gpu_instance.has_value());
}

}  // namespace
}  // namespace muster::agent

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "probe") {
    return muster::agent::probe_main(argc, argv);
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
