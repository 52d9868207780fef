#include "tests/sim/disk_faults.h"

#include <algorithm>
#include <utility>

#include "scheduler/raft/codec.h"

namespace muster::sim {
namespace {

using std::chrono::seconds;

constexpr Duration kBetweenImagesMin = seconds(5);
constexpr Duration kBetweenImagesMax = seconds(40);

}  // namespace

void DiskFaults::after(Duration low, Duration high, std::function<void()> action) {
  world_.at(world_.now() + rng_.between(low, high), std::move(action));
}

std::uint32_t DiskFaults::some_host_without_vote() {
  return static_cast<std::uint32_t>(kVoters + rng_.below(world_.size() - kVoters));
}

void DiskFaults::plan_images(Instant end) {
  if (profile_.weights[static_cast<std::size_t>(Fault::kDiskPutBack)] == 0) {
    return;
  }
  for (std::uint32_t host = kVoters; host < world_.size(); ++host) {
    for (Instant when = Instant() + profile_.first_fault; when < end;
         when += rng_.between(kBetweenImagesMin, kBetweenImagesMax)) {
      world_.at(when, [this, host] { world_.keep_image(host); });
    }
  }
}

void DiskFaults::put_back() {
  const std::uint32_t host = some_host_without_vote();
  ++counts_["disk_put_back"];
  world_.put_image_back(host);
  after(seconds(1), seconds(20), [this, host] { world_.power_on(host); });
}

const scheduler::Raft* DiskFaults::leaders_raft() const {
  for (std::uint32_t host = 0; host < world_.size(); ++host) {
    if (world_.is_running(host) && world_.node(host).seat().leads()) {
      return world_.node(host).seat().raft();
    }
  }
  return nullptr;
}

bool DiskFaults::is_quorum_whole() const {
  const scheduler::Raft* raft = leaders_raft();
  if (raft == nullptr || raft->configuration_is_open() ||
      raft->configuration().voters.size() < 3) {
    return false;
  }
  const auto& voters = raft->configuration().voters;
  return std::all_of(voters.begin(), voters.end(), [this](const scheduler::Seat& voter) {
    const std::uint32_t host = world_.find(voter.host).value();
    return world_.is_running(host) && !world_.is_frozen(host) &&
           world_.node(host).seat().has_seat() &&
           world_.node(host).seat().raft()->seat() == voter.id;
  });
}

void DiskFaults::lose_raft(Instant removal_over_at) {
  if (!is_quorum_whole() || world_.now() < removal_over_at) {
    return;
  }
  const auto& voters = leaders_raft()->configuration().voters;
  const std::uint32_t host = world_.find(voters[rng_.below(voters.size())].host).value();
  ++counts_["voter_lost_raft"];
  world_.lose_raft(host, {scheduler::write_of(SeatId(rng_.next() | 1U))});
  after(seconds(0), seconds(20), [this, host] { world_.start_agent(host); });
}

}  // namespace muster::sim
