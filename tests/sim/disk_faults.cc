#include "tests/sim/disk_faults.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "scheduler/raft/codec.h"

namespace muster::sim {
namespace {

constexpr std::uint32_t kLiesInRaft = 700'000;  ///< Per million; the others in id/.
constexpr std::uint32_t kStaleCopy = 500'000;
constexpr std::uint32_t kToldAtOnce = 400'000;
constexpr Duration kLiesMin = std::chrono::milliseconds(20);
constexpr Duration kLiesMax = std::chrono::seconds(4);

}  // namespace

void DiskFaults::after(Duration low, Duration high, std::function<void()> action) {
  world_.at(world_.now() + rng_.between(low, high), std::move(action));
}

std::uint32_t DiskFaults::some_host_without_vote() {
  return static_cast<std::uint32_t>(kVoters + rng_.below(world_.size() - kVoters));
}

void DiskFaults::plan_images(Instant end) {
  end_ = end;
  const bool of_any = profile_.weights.has(Fault::kVoterPutBack);
  if (!of_any && !profile_.weights.has(Fault::kDiskPutBack)) {
    return;
  }
  for (std::uint32_t host = of_any ? 0 : kVoters; host < world_.size(); ++host) {
    for (Instant when = Instant() + profile_.first_fault; when < end;
         when += rng_.between(profile_.between_images_min, profile_.between_images_max)) {
      world_.at(when, [this, host] { world_.keep_image(host); });
    }
  }
}

void DiskFaults::act(Fault kind, std::uint32_t host) {
  if (kind == Fault::kDiskPutBack) {
    put_back();
  } else if (kind == Fault::kDiskLied) {
    lie(host);
  } else if (kind == Fault::kVoterPutBack) {
    put_back_any(host);
  } else if (kind == Fault::kMoved) {
    move(host);
  } else if (kind == Fault::kDiskFull) {
    fill(host);
  } else {
    lose_many();
  }
}

void DiskFaults::put_back() {
  const std::uint32_t host = some_host_without_vote();
  ++counts_["disk_put_back"];
  world_.put_image_back(host);
  after(std::chrono::seconds(1), std::chrono::seconds(20), [this, host] { world_.power_on(host); });
}

void DiskFaults::put_back_any(std::uint32_t host) {
  ++counts_["voter_put_back"];
  world_.put_image_back(host);
  after(std::chrono::seconds(1), std::chrono::seconds(20), [this, host] { world_.power_on(host); });
}

void DiskFaults::move(std::uint32_t host) {
  const bool is_stale = rng_.chance(kStaleCopy);
  const bool is_told_at_once = rng_.chance(kToldAtOnce);
  ++counts_[is_stale ? "moved_stale" : "moved"];
  if (is_stale) {
    world_.put_image_back(host);
  }
  world_.mark_as_copy(host, !is_told_at_once);
  const Instant starts_at =
      world_.now() + rng_.between(std::chrono::seconds(1), std::chrono::seconds(10));
  world_.at(starts_at, [this, host] {
    world_.power_on(host);
    world_.start_agent(host);
  });
  world_.at(starts_at + rng_.between(Duration(0), std::chrono::seconds(15)),
            [this, host] { tell_moved(host); });
}

/// A second start, with `muster agent --moved`, unless the host has another seat by now.
void DiskFaults::tell_moved(std::uint32_t host) {
  if (world_.is_copy(host)) {
    ++counts_["moved_told"];
    world_.mark_as_copy(host, false);
    world_.start_agent(host);
  }
}

void DiskFaults::lie(std::uint32_t host) {
  if (!world_.is_powered(host) || world_.now() + kLiesMin >= end_) {
    return;
  }
  const bool in_raft = rng_.chance(kLiesInRaft);
  ++counts_[in_raft ? "disk_lied_raft" : "disk_lied_id"];
  world_.begin_lying(host, in_raft ? crdt::Environment::kRaft : crdt::Environment::kId);
  // Not when the faults are over: a new seat takes longer to settle than that quiet lasts.
  const Instant off_at = world_.now() + rng_.between(kLiesMin, kLiesMax);
  world_.at(std::min(off_at, end_ - kLiesMin), [this, host] { world_.power_off(host); });
  after(kLiesMax, std::chrono::seconds(15), [this, host] { world_.power_on(host); });
}

/// Its voter writes on: the reserve is for that.
void DiskFaults::fill(std::uint32_t host) {
  ++counts_["disk_full"];
  world_.set_full(host, true);
  after(std::chrono::milliseconds(200), std::chrono::seconds(60),
        [this, host] { world_.set_full(host, false); });
}

const scheduler::Raft* DiskFaults::leaders_raft() const {
  const std::uint32_t leader = world_.leader();
  return leader < world_.size() ? world_.node(leader).seat().raft() : nullptr;
}

bool DiskFaults::is_quorum_whole() const {
  const scheduler::Raft* raft = leaders_raft();
  if (raft == nullptr || raft->configuration_is_open() || raft->configuration().voters.size() < 3) {
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
  take_raft(host);
}

void DiskFaults::take_raft(std::uint32_t host) {
  if (marks_ != nullptr) {
    marks_->disk_lost(world_, host);
  }
  world_.lose_raft(host, {scheduler::write_of(SeatId(rng_.next() | 1U))});
  after(std::chrono::seconds(0), std::chrono::seconds(20),
        [this, host] { world_.start_agent(host); });
}

void DiskFaults::lose_many() {
  if (leaders_raft() == nullptr) {
    return;
  }
  std::vector<HostId> voters = leaders_raft()->configuration().voter_hosts();
  ++counts_["voters_lost"];
  for (std::uint64_t left = 1 + rng_.below(voters.size()); left > 0; --left) {
    const std::uint64_t which = rng_.below(voters.size());
    take_raft(world_.find(voters[which]).value());
    voters.erase(voters.begin() + static_cast<std::ptrdiff_t>(which));
  }
}

}  // namespace muster::sim
