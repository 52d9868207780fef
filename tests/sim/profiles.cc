#include "tests/sim/profiles.h"

namespace muster::sim {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.

/// Cancels while Start is on its way through slow disks: Abort and Start race.
constexpr SwarmProfile cancel_races() {
  SwarmProfile profile;
  profile.name = "cancel_races";
  profile.weights = {1, 0, 1, 0, 0, 1, 2, 0, 1, 1, 1, 0, 0, 0};
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
  profile.weights = {1, 0, 1, 0, 0, 0, 1, 0, 0, 1, 6, 0, 0, 0};
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
  profile.weights = {0, 0, 0, 0, 2, 2, 2, 0, 0, 0, 6, 0, 0, 0};
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
  profile.weights = {3, 1, 0, 1, 0, 1, 0, 0, 1, 4, 0, 0, 0, 0};
  profile.between_jobs_max = 6s;
  profile.run_ms_max = 8'000;
  profile.repeat = 1'000'000;
  return profile;
}

/// Disks that go back in time, fences and grants with them.
constexpr SwarmProfile old_disks() {
  SwarmProfile profile;
  profile.name = "old_disks";
  profile.weights = {1, 1, 1, 0, 0, 0, 1, 1, 1, 1, 1, 5, 0, 0};
  return profile;
}

/// Leaders that slept through their successor's election and still answer.
constexpr SwarmProfile zombie_leaders() {
  SwarmProfile profile;
  profile.name = "zombie_leaders";
  profile.weights = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0};
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
  profile.weights = {1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 2, 0, 0, 5};
  profile.priorities = 3;
  profile.keep = 300'000;
  return profile;
}

/// Operators who contradict each other about the same jobs, at any moment of their lives.
constexpr SwarmProfile operators() {
  SwarmProfile profile;
  profile.name = "operators";
  profile.weights = {2, 1, 0, 1, 0, 1, 1, 1, 1, 2, 1, 0, 0, 0, 3, 3, 3};
  profile.fsync_min = 1ms;
  profile.fsync_max = 60ms;
  profile.run_ms_max = 12'000;
  profile.order_at_once = 700'000;
  return profile;
}

/// Operators who take hosts out of service, rightly and wrongly, and reorder the queue.
constexpr SwarmProfile drains() {
  SwarmProfile profile;
  profile.name = "drains";
  profile.weights = {2, 1, 0, 1, 0, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1};
  profile.weight(Fault::kDrained) = 6;
  profile.weight(Fault::kReordered) = 2;
  profile.weight(Fault::kWordWrong) = 4;
  profile.weight(Fault::kHostRemoved) = 2;
  profile.between_faults_max = 8s;
  profile.priorities = 3;
  profile.keep = 200'000;
  return profile;
}

/// Hosts that can start nothing for a while, voters among them, and that tell late.
constexpr SwarmProfile full_disks() {
  SwarmProfile profile;
  profile.name = "full_disks";
  profile.weights = {1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1};
  profile.weight(Fault::kDiskFull) = 8;
  profile.between_faults_max = 8s;
  profile.between_jobs_max = 6s;
  return profile;
}

/// One member is a traitor and forges the rows of the others, all the time.
constexpr SwarmProfile traitor() {
  SwarmProfile profile;
  profile.name = "traitor";
  profile.weights = {2, 1, 1, 1, 1, 1, 0, 0, 0, 1, 1, 0, 0, 1};
  profile.weight(Fault::kForged) = 60;
  profile.first_fault = 5s;
  profile.between_faults_min = 50ms;
  profile.between_faults_max = 400ms;
  profile.length_min = 30s;
  return profile;
}

/// Words that arrive when what they are about is over, or nearly so.
constexpr SwarmProfile very_late() {
  SwarmProfile profile;
  profile.name = "very_late";
  profile.weights = {};
  profile.weight(Fault::kWordsOvertaken) = 6;
  profile.weight(Fault::kSlowDisk) = 1;
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
  profile.weights = {};
  profile.weight(Fault::kDeciderKilled) = 1;
  profile.fsync_min = 5ms;
  profile.fsync_max = 100ms;
  profile.between_faults_max = 10s;
  return profile;
}

/// Voters that come and go, by their operators' will and by their disks' failing.
constexpr SwarmProfile electorates() {
  SwarmProfile profile;
  profile.name = "electorates";
  profile.weights = {1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 5, 4, 4, 3, 2, 1, 1};
  profile.between_faults_max = 8s;
  return profile;
}

/// Everything at once in half a minute: for very many schedules.
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
  profile.weight(Fault::kDiskLied) = 1;
  profile.weight(Fault::kVoterPutBack) = 1;
  profile.between_images_min = 1s;
  profile.between_images_max = 8s;
  return profile;
}

/// Disks that forget what they said was durable.
constexpr SwarmProfile lying_disks() {
  SwarmProfile profile = brief();
  profile.name = "lying_disks";
  profile.weights = {1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1};
  profile.weight(Fault::kDiskLied) = 8;
  profile.weight(Fault::kVoterPutBack) = 5;
  profile.weight(Fault::kMoved) = 6;
  return profile;
}

/// More disks at once than a quorum bears.
constexpr SwarmProfile lost_majorities() {
  SwarmProfile profile = lying_disks();
  profile.name = "lost_majorities";
  profile.weight(Fault::kVotersLost) = 4;
  return profile;
}

/// Quorums that lose their majority and are recovered by hand, under all that keeps disks whole.
constexpr SwarmProfile recoveries() {
  SwarmProfile profile = brief();
  profile.name = "recoveries";
  profile.weight(Fault::kDiskLied) = 0;
  profile.weight(Fault::kVoterPutBack) = 0;
  profile.weight(Fault::kVoterLostRaft) = 0;
  profile.weight(Fault::kQuorumLost) = 5;
  profile.repeat = 0;  // A key may be another job's afterwards.
  profile.between_faults_max = 6s;
  profile.hold_max = 25s;
  return profile;
}

constexpr std::array<SwarmProfile, 19> kProfiles = {
    SwarmProfile(), cancel_races(), silent_and_back(), late_stops(),
    repeats(),      old_disks(),    zombie_leaders(),  leavers_and_keepers(),
    operators(),    very_late(),    fresh_leaders(),   electorates(),
    brief(),        lying_disks(),  lost_majorities(), recoveries(),
    drains(),       traitor(),      full_disks(),
};

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
