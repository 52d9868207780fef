#pragma once
// The profiles of a swarm: how often each fault comes and how the jobs are. The usual profile mixes
// the faults that any cluster meets; each other one leans on the conditions of one rule of the
// attempts' life, because a mixture meets them too seldom. World, checkers and seeds are the same
// for all.

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "gossip/base/time.h"

namespace muster::sim {

enum class Fault : std::uint8_t {
  kAgentKilled,
  kPowerLost,
  kFrozen,
  kSplit,
  kOneWay,
  kBadNetwork,
  kSlowDisk,
  kSupervisorKilled,
  kCancelled,
  kLeaderKilled,
  kIsolated,
  kDiskPutBack,   ///< A host without a vote gets an old image of its whole disk.
  kLeaderZombie,  ///< A leader that slept through an election wakes and answers renewals.
  kLeft,          ///< A host without a vote is told to leave, and comes back.
  kSuspended,
  kResumed,
  kRequeued,
  kVoterLostRaft,  ///< A voter's raft/ is gone; one at a time, while the others are whole.
  kVoterAdded,     ///< By an operator, as the next two.
  kVoterRemoved,
  kTransferred,
  kStopAsked,  ///< SIGTERM: a leader hands over first.
  kBridge,     ///< One host reaches all others, which are in two halves.
  kRing,       ///< Each host reaches its two neighbours only.
  /// The leader's words to a member of a gang take a detour, and that host is cut off behind them:
  /// they come when the log is about to be over with it.
  kWordsOvertaken,
  kDeciderKilled,  ///< A leader to whom a job was just submitted: some know what it decided.
  kDiskLied,       ///< Power is lost, and with it a tail of what raft/ or id/ said to be durable.
  kVoterPutBack,   ///< As kDiskPutBack, of any host.
  kVotersLost,     ///< Some voters' raft/ at once, any number of them.
  kQuorumLost,     ///< A majority is off; an operator recovers the quorum from the others.
  kDrained,        ///< A host is drained, or one of its GPUs masked, and takes work again later.
  kReordered,      ///< A job gets another priority.
  kWordWrong,      ///< An agent is down, and an operator says that its ranks are gone: they run on.
  kHostRemoved,    ///< A host is off for long, is removed by an operator, and comes back.
  kForged,         ///< A member says rows of others, made up or as they once were.
  kDiskFull,       ///< No grant can be started on a host for a while, and it says so.
  /// A host's data directory is copied, as it is or as it once was, and an operator says in the end
  /// that it was moved; where others lead before that, a voter takes a new seat.
  kMoved,
  kProofForged,  ///< Persons sign orders and use access tokens, and a member lies about them.
  kFlooded,      ///< Very many small jobs at once, in one tier or in one queue.
  kEdited,       ///< A job gets another queue, tier, priority or time limit.
};
inline constexpr std::size_t kFaultCount = static_cast<std::size_t>(Fault::kEdited) + 1;

/// The share that each fault has of all faults. 0, as at first: it never comes.
class FaultWeights {
 public:
  constexpr FaultWeights& with(std::uint32_t weight, std::initializer_list<Fault> faults) {
    for (const Fault fault : faults) {
      weights_[static_cast<std::size_t>(fault)] = weight;
    }
    return *this;
  }
  constexpr bool has(Fault fault) const { return weights_[static_cast<std::size_t>(fault)] != 0; }
  /// In the order of Fault.
  constexpr const std::array<std::uint32_t, kFaultCount>& all() const { return weights_; }

 private:
  std::array<std::uint32_t, kFaultCount> weights_{};
};

/// Of the usual profile. Not in it: faults that cost what they break (disks that lie or go back,
/// majorities that are lost), and those of one rule, which a profile of their own leans on.
constexpr FaultWeights usual_weights() {
  using enum Fault;
  return FaultWeights()
      .with(2, {kAgentKilled})
      .with(1, {kPowerLost,    kFrozen,           kSplit,     kOneWay,        kBadNetwork,
                kSlowDisk,     kSupervisorKilled, kCancelled, kLeaderKilled,  kIsolated,
                kSuspended,    kResumed,          kRequeued,  kVoterLostRaft, kVoterAdded,
                kVoterRemoved, kTransferred,      kStopAsked, kBridge,        kRing});
}

/// Chances are in millionths.
struct SwarmProfile {
  std::string_view name = "usual";
  FaultWeights weights = usual_weights();
  Duration length_min{0};  ///< Of a run.
  Duration first_fault = std::chrono::seconds(15);
  Duration between_faults_min = std::chrono::seconds(2);
  Duration between_faults_max = std::chrono::seconds(15);
  Duration isolated_min = std::chrono::seconds(2);
  Duration isolated_max = std::chrono::seconds(60);
  /// Of words that are overtaken: how much longer they take.
  Duration detour_min = std::chrono::seconds(15);
  Duration detour_max = std::chrono::seconds(28);
  /// Of every disk that is not slow: how long a synced write takes.
  Duration fsync_min = std::chrono::microseconds(100);
  Duration fsync_max = std::chrono::milliseconds(2);
  Duration between_images_min = std::chrono::seconds(5);
  Duration between_images_max = std::chrono::seconds(40);
  Duration between_jobs_max = std::chrono::seconds(12);
  std::uint32_t gpus_max = 1'000;
  std::uint32_t requests = 300'000;  ///< Jobs that ask for more than a number of GPUs.
  std::int64_t run_ms_min = 0;
  std::int64_t run_ms_max = 30'000;
  Duration hold_min = std::chrono::seconds(15);
  Duration hold_max = std::chrono::seconds(40);
  std::uint32_t priorities = 1;  ///< Number of levels to draw from.
  /// Not 0: operators replace the tree of queues, and so many jobs name one, or a tier.
  std::uint32_t queues = 0;
  std::uint32_t waits = 0;        ///< Jobs that wait for a time or for another job.
  bool are_gpus_watched = false;  ///< WorldOptions::are_gpus_watched.
  std::uint32_t keep = 0;         ///< Jobs that are not stopped by silence, nor freed by it.
  std::uint32_t cancel_at_once = 60'000;
  /// Submits after which several operators speak of the job within `order_within`.
  std::uint32_t order_at_once = 0;
  Duration order_within = std::chrono::seconds(8);
  Duration cancel_within = std::chrono::milliseconds(40);
  /// A queue of long jobs takes its time; one that has not drained this long after all never will.
  Duration drain_max = std::chrono::minutes(10);
  std::uint32_t repeat = 200'000;  ///< After each submit: an earlier one is said again.
};

/// The usual one first.
std::span<const SwarmProfile> swarm_profiles();
/// Null if no profile has this name.
const SwarmProfile* swarm_profile(std::string_view name);

}  // namespace muster::sim
