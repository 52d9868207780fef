// This test binary is its own prober: /proc/self/exe is started as `probe`.

#include "agent/edge/run/host_hardware.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>

#include "agent/edge/gpu/probe.h"
#include "gossip/edge/boot_clock.h"
#include "tests/fakes/nvml/fake_machine.h"

namespace muster::agent {
namespace {

class HostHardwareTest : public testing::Test {
 protected:
  HostHardwareTest() : folder_(fakes::make_folder()) {
    setenv("MUSTER_FAKE_NVML", folder_.c_str(), 1);
    traits_.labels = {"arch=x86_64", "zone=a"};
  }
  ~HostHardwareTest() override { std::filesystem::remove_all(folder_); }

  static std::string fake() { return std::string("nvml:") + MUSTER_FAKE_NVML_NEW; }

  std::string folder_;
  scheduler::HostTraits traits_;
};

TEST_F(HostHardwareTest, OffersWhatTheLibraryTells) {
  fakes::four_and_four().write(folder_);
  HostHardware hardware(fake(), traits_);
  const auto offer = hardware.offer(HostId());
  ASSERT_TRUE(offer);
  EXPECT_EQ(offer->capacity.gpu_type, "A100");
  EXPECT_EQ(offer->capacity.gpus.size(), 8U);
  EXPECT_GT(offer->capacity.cpus, 0U);
  EXPECT_EQ(offer->traits.islands, (std::vector<std::uint32_t>{0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(offer->traits.labels,
            (std::vector<std::string>{"arch=x86_64", "cuda=12.4", "driver=550.54.15", "gpu-mem=80G",
                                      "zone=a"}));
  EXPECT_FALSE(hardware.take_change(boot_now()).has_value());
  ASSERT_EQ(hardware.room().gpus.size(), 8U);
  const DeviceNode node = hardware.room().gpus.at(offer->capacity.gpus[3].uuid);
  EXPECT_EQ(node.number.major, 195U);
  EXPECT_EQ(node.path, "/dev/nvidia" + std::to_string(node.number.minor.value_or(99)));
}

TEST_F(HostHardwareTest, AGpuThatIsLostStaysListedAndIsNotHealthy) {
  fakes::FakeMachine machine = fakes::hgx();
  machine.write(folder_);
  HostHardware hardware(fake(), traits_);
  ASSERT_TRUE(hardware.offer(HostId()));
  machine.gpus.erase(machine.gpus.begin());
  machine.write(folder_);
  std::optional<HardwareChanged> changed;
  const Instant end = boot_now() + std::chrono::seconds(30);
  while (!changed.has_value() && boot_now() < end) {
    std::vector<pollfd> polled;
    for (const int fd : hardware.fds()) {
      polled.push_back({fd, POLLIN, 0});
    }
    poll(polled.data(), polled.size(), 100);
    for (const pollfd& one : polled) {
      if (one.revents != 0) {
        hardware.on_readable(one.fd);
      }
    }
    changed = hardware.take_change(boot_now());
  }
  ASSERT_TRUE(changed.has_value());
  ASSERT_EQ(changed->capacity.gpus.size(), 8U);
  EXPECT_FALSE(changed->capacity.gpus[0].healthy);
  EXPECT_TRUE(changed->capacity.gpus[1].healthy);
}

/// Turns the loop for up to 30 s, until `is_over`.
template <class IsOver>
void turn(HostHardware& hardware, IsOver is_over) {
  const Instant end = boot_now() + std::chrono::seconds(30);
  while (!is_over() && boot_now() < end) {
    std::vector<pollfd> polled;
    for (const int fd : hardware.fds()) {
      polled.push_back({fd, POLLIN, 0});
    }
    poll(polled.data(), polled.size(), 100);
    for (const pollfd& one : polled) {
      if (one.revents != 0) {
        hardware.on_readable(one.fd);
      }
    }
    hardware.take_change(boot_now());
  }
}

TEST_F(HostHardwareTest, XidsOfTheLibraryAreFacts) {
  fakes::hgx().write(folder_);
  HostHardware hardware(fake(), traits_);
  ASSERT_TRUE(hardware.offer(HostId()));
  std::vector<health::XidSeen> xids;
  turn(hardware, [&] {
    fakes::raise_xid(folder_, 0, 13);  // Until the prober of events reads, it hears none.
    for (gpus::Input& fact : hardware.take_facts()) {
      if (auto* const of_health = std::get_if<health::Input>(&fact)) {
        if (auto* const xid = std::get_if<health::XidSeen>(of_health)) {
          xids.push_back(std::move(*xid));
        }
      }
    }
    return !xids.empty();
  });
  ASSERT_FALSE(xids.empty());
  EXPECT_EQ(xids[0].code, 13U);
  EXPECT_EQ(xids[0].source, XidSource::kEvent);
}

TEST_F(HostHardwareTest, ALookIsAnsweredByOneThatBeganBehindIt) {
  fakes::hgx().write(folder_);
  HostHardware hardware(fake(), traits_);
  const auto offer = hardware.offer(HostId());
  ASSERT_TRUE(offer);
  EXPECT_TRUE(offer->are_watched);
  const std::string uuid = offer->capacity.gpus[2].uuid;
  hardware.take_facts();
  const Instant asked = boot_now();
  hardware.obey(gpus::CleanLook{uuid, Token(7)});
  std::vector<clean::Seen> seen;
  turn(hardware, [&] {
    for (gpus::Input& fact : hardware.take_facts()) {
      if (auto* const viewed = std::get_if<gpus::Viewed>(&fact)) {
        std::move(viewed->seen.begin(), viewed->seen.end(), std::back_inserter(seen));
      }
    }
    return !seen.empty();
  });
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].uuid, uuid);
  EXPECT_GE(seen[0].began, asked);
  EXPECT_EQ(seen[0].holders, std::optional(std::vector<clean::Holder>()));
  EXPECT_FALSE(seen[0].is_cgroup_empty.has_value()) << "there are no groups here";
}

TEST_F(HostHardwareTest, WithoutALibraryItOffersNothingAndSaysSo) {
  HostHardware hardware("nvml:/nonexistent/libnvidia-ml.so.1", traits_);
  const auto offer = hardware.offer(HostId());
  ASSERT_TRUE(offer);
  EXPECT_EQ(offer->capacity, crdt::Capacity{});
  const std::vector<Event> events = hardware.take_events();
  EXPECT_TRUE(std::any_of(events.begin(), events.end(),
                          [](const Event& event) { return event.name == "no_gpus_yet"; }));
}

TEST_F(HostHardwareTest, NoneOffersNothingAndSimulatedGpusStayAsTheyWere) {
  HostHardware none("none", traits_);
  EXPECT_EQ(none.offer(HostId())->capacity, crdt::Capacity{});
  EXPECT_TRUE(none.fds().empty());
  HostHardware simulated("sim:8xH100,cpus=96,mem=1T,island=4+4", traits_);
  const auto offer = simulated.offer(HostId());
  EXPECT_EQ(offer->capacity.gpus.size(), 8U);
  EXPECT_EQ(offer->capacity.cpus, 96U);
  EXPECT_EQ(offer->traits.islands.size(), 8U);
  EXPECT_FALSE(HostHardware("GPUs, please", traits_).offer(HostId()));
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
