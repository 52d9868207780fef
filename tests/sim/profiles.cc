#include "tests/sim/profiles.h"

namespace muster::sim {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using enum Fault;

/// Cancels while Start is on its way through slow disks: Abort and Start race.
constexpr SwarmProfile cancel_races() {
  SwarmProfile profile;
  profile.name = "cancel_races";
  profile.weights =
      FaultWeights()
          .with(2, {kSlowDisk})
          .with(1, {kAgentKilled, kFrozen, kBadNetwork, kCancelled, kLeaderKilled, kIsolated});
  profile.fsync_min = 5ms;
  profile.fsync_max = 150ms;
  profile.cancel_at_once = 600'000;
  profile.cancel_within = 1500ms;
  return profile;
}

/// Hosts that are condemned and come back before their hold lapsed, with ranks that run on.
constexpr SwarmProfile silent_and_back() {
  SwarmProfile profile;
  profile.name = "silent_and_back";
  profile.weights = FaultWeights()
                        .with(6, {kIsolated})
                        .with(1, {kAgentKilled, kFrozen, kSlowDisk, kLeaderKilled});
  profile.isolated_min = 12s;
  profile.isolated_max = 32s;
  profile.between_jobs_max = 30s;
  profile.run_ms_max = 120'000;
  profile.drain_max = 40min;
  return profile;
}

/// Short gangs that end while their Stop is on its way.
constexpr SwarmProfile late_stops() {
  SwarmProfile profile;
  profile.name = "late_stops";
  profile.weights = FaultWeights().with(6, {kIsolated}).with(2, {kOneWay, kBadNetwork, kSlowDisk});
  profile.between_faults_max = 8s;
  profile.isolated_min = 2s;
  profile.isolated_max = 15s;
  profile.fsync_min = 5ms;
  profile.fsync_max = 150ms;
  profile.run_ms_max = 10'000;
  return profile;
}

/// Voters that restart from snapshots and lead, and clients that repeat themselves.
constexpr SwarmProfile repeats() {
  SwarmProfile profile;
  profile.name = "repeats";
  profile.weights = FaultWeights()
                        .with(4, {kLeaderKilled})
                        .with(3, {kAgentKilled})
                        .with(1, {kPowerLost, kSplit, kBadNetwork, kCancelled});
  profile.between_jobs_max = 6s;
  profile.run_ms_max = 8'000;
  profile.repeat = 1'000'000;
  profile.waits = 300'000;
  return profile;
}

/// Disks that go back in time, fences and grants with them.
constexpr SwarmProfile old_disks() {
  SwarmProfile profile;
  profile.name = "old_disks";
  profile.weights = FaultWeights()
                        .with(5, {kDiskPutBack})
                        .with(1, {kAgentKilled, kPowerLost, kFrozen, kSlowDisk, kSupervisorKilled,
                                  kCancelled, kLeaderKilled, kIsolated});
  return profile;
}

/// Leaders that slept through their successor's election and still answer.
constexpr SwarmProfile zombie_leaders() {
  SwarmProfile profile;
  profile.name = "zombie_leaders";
  profile.weights = FaultWeights().with(1, {kLeaderZombie});
  profile.length_min = 370s;
  profile.first_fault = 45s;
  profile.between_faults_min = 300s;
  profile.between_faults_max = 310s;
  profile.between_jobs_max = 30s;
  profile.gpus_max = 8;
  profile.run_ms_min = 250'000;
  profile.run_ms_max = 320'000;
  profile.drain_max = 60min;
  profile.hold_min = 105s;
  profile.hold_max = 125s;
  return profile;
}

/// Hosts that leave and come back, jobs of several priorities, and jobs that silence does not end.
constexpr SwarmProfile leavers_and_keepers() {
  SwarmProfile profile;
  profile.name = "leavers_and_keepers";
  profile.weights = FaultWeights()
                        .with(5, {kLeft})
                        .with(2, {kIsolated})
                        .with(1, {kAgentKilled, kPowerLost, kFrozen, kSplit, kBadNetwork, kSlowDisk,
                                  kSupervisorKilled, kCancelled, kLeaderKilled});
  profile.priorities = 3;
  profile.keep = 300'000;
  return profile;
}

/// Operators who contradict each other about the same jobs, at any moment of their lives.
constexpr SwarmProfile operators() {
  SwarmProfile profile;
  profile.name = "operators";
  profile.weights = FaultWeights()
                        .with(3, {kSuspended, kResumed, kRequeued})
                        .with(2, {kAgentKilled, kLeaderKilled})
                        .with(1, {kPowerLost, kSplit, kBadNetwork, kSlowDisk, kSupervisorKilled,
                                  kCancelled, kIsolated});
  profile.fsync_min = 1ms;
  profile.fsync_max = 60ms;
  profile.run_ms_max = 12'000;
  profile.order_at_once = 700'000;
  return profile;
}

/// Operators who take hosts and GPUs out of service, rightly and wrongly, reorder the queue, and
/// replace the tree of queues.
constexpr SwarmProfile drains() {
  SwarmProfile profile;
  profile.name = "drains";
  profile.weights =
      FaultWeights()
          .with(2, {kAgentKilled})
          .with(1, {kPowerLost, kSplit, kBadNetwork, kSlowDisk, kSupervisorKilled, kCancelled,
                    kLeaderKilled, kIsolated, kLeft, kSuspended, kResumed, kRequeued});
  profile.weights.with(6, {kDrained}).with(6, {kReordered});
  profile.weights.with(4, {kWordWrong}).with(2, {kHostRemoved});
  profile.between_faults_max = 8s;
  profile.priorities = 3;
  profile.queues = 600'000;
  profile.waits = 300'000;
  profile.keep = 200'000;
  return profile;
}

/// Hosts that can start nothing for a while, voters among them, and that tell late.
constexpr SwarmProfile full_disks() {
  SwarmProfile profile;
  profile.name = "full_disks";
  profile.weights =
      FaultWeights().with(1, {kAgentKilled, kPowerLost, kFrozen, kSplit, kBadNetwork, kSlowDisk,
                              kSupervisorKilled, kCancelled, kLeaderKilled, kIsolated});
  profile.weights.with(8, {kDiskFull});
  profile.between_faults_max = 8s;
  profile.between_jobs_max = 6s;
  return profile;
}

/// One member is a traitor and forges the rows of the others, all the time.
constexpr SwarmProfile row_forger() {
  SwarmProfile profile;
  profile.name = "row_forger";
  profile.weights = FaultWeights()
                        .with(2, {kAgentKilled})
                        .with(1, {kPowerLost, kFrozen, kSplit, kOneWay, kBadNetwork, kLeaderKilled,
                                  kIsolated, kLeft})
                        .with(60, {kForged});
  profile.first_fault = 5s;
  profile.between_faults_min = 50ms;
  profile.between_faults_max = 400ms;
  profile.length_min = 30s;
  return profile;
}

/// One that lies about the proofs of persons as well.
constexpr SwarmProfile traitor() {
  SwarmProfile profile = row_forger();
  profile.name = "traitor";
  profile.weights.with(60, {kProofForged});
  return profile;
}

/// Words that arrive when what they are about is over, or nearly so.
constexpr SwarmProfile very_late() {
  SwarmProfile profile;
  profile.name = "very_late";
  profile.weights = FaultWeights().with(6, {kWordsOvertaken}).with(1, {kSlowDisk});
  profile.first_fault = 20s;
  profile.between_faults_min = 80s;
  profile.between_faults_max = 130s;
  profile.length_min = 400s;
  profile.fsync_min = 5ms;
  profile.fsync_max = 100ms;
  profile.gpus_max = 16;
  profile.run_ms_min = 60'000;
  profile.run_ms_max = 150'000;
  profile.hold_min = 30s;
  profile.hold_max = 40s;
  profile.isolated_min = 80s;
  profile.isolated_max = 110s;
  profile.between_jobs_max = 25s;
  profile.drain_max = 40min;
  return profile;
}

/// Leaders that lead before they know what their log commits.
constexpr SwarmProfile fresh_leaders() {
  SwarmProfile profile;
  profile.name = "fresh_leaders";
  profile.weights = FaultWeights().with(1, {kDeciderKilled});
  profile.fsync_min = 5ms;
  profile.fsync_max = 100ms;
  profile.between_faults_max = 10s;
  profile.waits = 300'000;
  return profile;
}

/// Voters that come and go, by their operators' will and by their disks' failing.
constexpr SwarmProfile electorates() {
  SwarmProfile profile;
  profile.name = "electorates";
  profile.weights = FaultWeights()
                        .with(5, {kVoterLostRaft})
                        .with(4, {kVoterAdded, kVoterRemoved})
                        .with(3, {kTransferred})
                        .with(2, {kStopAsked})
                        .with(1, {kAgentKilled, kPowerLost, kFrozen, kSplit, kOneWay, kBadNetwork,
                                  kSlowDisk, kLeaderKilled, kIsolated, kBridge, kRing});
  profile.between_faults_max = 8s;
  return profile;
}

/// The usual faults and wrong disks in half a minute: for very many schedules.
constexpr SwarmProfile brief() {
  SwarmProfile profile;
  profile.name = "brief";
  profile.first_fault = 3s;
  profile.between_faults_min = 100ms;
  profile.between_faults_max = 2500ms;
  profile.isolated_max = 15s;
  profile.between_jobs_max = 3s;
  profile.run_ms_max = 8'000;
  profile.repeat = 300'000;
  profile.weights.with(1, {kDiskLied}).with(1, {kVoterPutBack});
  profile.between_images_min = 1s;
  profile.between_images_max = 8s;
  return profile;
}

/// Disks that forget what they said was durable.
constexpr SwarmProfile lying_disks() {
  SwarmProfile profile = brief();
  profile.name = "lying_disks";
  profile.weights = FaultWeights()
                        .with(1, {kAgentKilled, kPowerLost, kFrozen, kSplit, kOneWay, kBadNetwork,
                                  kSlowDisk, kLeaderKilled, kIsolated, kVoterLostRaft, kVoterAdded,
                                  kVoterRemoved, kTransferred, kStopAsked})
                        .with(8, {kDiskLied})
                        .with(5, {kVoterPutBack})
                        .with(6, {kMoved});
  return profile;
}

/// More disks at once than a quorum bears.
constexpr SwarmProfile lost_majorities() {
  SwarmProfile profile = lying_disks();
  profile.name = "lost_majorities";
  profile.weights.with(4, {kVotersLost});
  return profile;
}

/// Quorums that lose their majority and are recovered by hand, under all that keeps disks whole.
constexpr SwarmProfile recoveries() {
  SwarmProfile profile = brief();
  profile.name = "recoveries";
  profile.weights.with(0, {kDiskLied}).with(0, {kVoterPutBack});
  profile.weights.with(0, {kVoterLostRaft}).with(5, {kQuorumLost});
  profile.are_gpus_watched = true;
  profile.repeat = 0;  // A key may be another job's afterwards.
  profile.between_faults_max = 6s;
  profile.hold_max = 25s;
  return profile;
}

/// Hosts that look at their GPUs, on which ranks leave memory and processes.
constexpr SwarmProfile dirty_gpus() {
  SwarmProfile profile;
  profile.name = "dirty_gpus";
  profile.weights = FaultWeights()
                        .with(2, {kAgentKilled, kSupervisorKilled, kCancelled})
                        .with(1, {kPowerLost, kFrozen, kSplit, kBadNetwork, kSlowDisk,
                                  kLeaderKilled, kIsolated, kRequeued, kDiskPutBack, kDrained});
  profile.are_gpus_watched = true;
  profile.between_jobs_max = 4s;
  profile.run_ms_max = 8'000;
  return profile;
}

/// Floods in every tier and queue, gangs among them, under trees that change: everybody has a turn.
constexpr SwarmProfile queues() {
  SwarmProfile profile;
  profile.name = "queues";
  profile.weights = FaultWeights()
                        .with(2, {kAgentKilled, kLeaderKilled})
                        .with(1, {kPowerLost, kSlowDisk, kSupervisorKilled, kCancelled, kIsolated,
                                  kSuspended, kResumed, kRequeued, kFlooded});
  profile.weights.with(4, {kReordered, kEdited});
  profile.first_fault = 6s;
  profile.between_faults_min = 200ms;
  profile.between_faults_max = 4s;
  profile.isolated_max = 8s;
  profile.between_jobs_max = 4s;
  profile.gpus_max = 16;
  profile.requests = 50'000;
  profile.run_ms_max = 6'000;
  profile.hold_max = 25s;
  profile.priorities = 3;
  profile.queues = 700'000;
  profile.repeat = 50'000;
  profile.drain_max = 2min;
  return profile;
}

/// Recoveries under trees that change, and jobs that are edited and then adopted.
constexpr SwarmProfile queue_recoveries() {
  SwarmProfile profile = recoveries();
  profile.name = "queue_recoveries";
  profile.weights.with(2, {kReordered, kEdited});
  profile.queues = 600'000;
  return profile;
}

constexpr std::array<SwarmProfile, 23> kProfiles = {
    SwarmProfile(), cancel_races(), silent_and_back(),  late_stops(),
    repeats(),      old_disks(),    zombie_leaders(),   leavers_and_keepers(),
    operators(),    very_late(),    fresh_leaders(),    electorates(),
    brief(),        lying_disks(),  lost_majorities(),  recoveries(),
    drains(),       traitor(),      full_disks(),       row_forger(),
    dirty_gpus(),   queues(),       queue_recoveries(),
};

constexpr bool is_every_fault_in_some() {
  for (std::size_t i = 0; i < kFaultCount; ++i) {
    bool is_in_some = false;
    for (const SwarmProfile& profile : kProfiles) {
      is_in_some = is_in_some || profile.weights.has(static_cast<Fault>(i));
    }
    if (!is_in_some) {
      return false;
    }
  }
  return true;
}
static_assert(is_every_fault_in_some(), "a fault that no profile has is never searched");

}  // namespace

std::span<const SwarmProfile> swarm_profiles() {
  return kProfiles;
}

const SwarmProfile* swarm_profile(std::string_view name) {
  for (const SwarmProfile& profile : kProfiles) {
    if (profile.name == name) {
      return &profile;
    }
  }
  return nullptr;
}

}  // namespace muster::sim
