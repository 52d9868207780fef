#pragma once
// How long jobs of a kind ran, to predict how long those will that run or wait. Every voter keeps
// it beside its state and learns from each job that completes; after a restart it begins with the
// completed jobs that the state still knows. Predictions choose which hosts are kept for a job and
// who may use them meanwhile; they end no job, and no rule of the log depends on them. Owned by
// Scheduler; pure; integers only.
//
// A kind is (user, program, GPUs). If fewer than kRunsEnough of it are known, (user, GPUs) counts,
// then (GPUs), then all.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "scheduler/state/state.h"

namespace muster::scheduler {

/// Run times of one kind: counts in buckets, each a quarter wider than the one before.
class RunHistogram {
 public:
  void add(Duration run);
  /// Of runs longer than `age`, the time that so many per cent of them did not exceed, rounded up
  /// to a bucket. nullopt if no run was longer.
  std::optional<Duration> quantile(std::uint32_t percent, Duration age) const;
  std::uint32_t runs() const { return runs_; }

 private:
  static constexpr std::size_t kBuckets = 64;  ///< The last begins at 13 days.
  static const std::array<Duration, kBuckets>& bounds();

  std::array<std::uint16_t, kBuckets> counts_{};
  std::uint32_t runs_ = 0;
};

/// Fewer runs say little: a wider kind is asked.
inline constexpr std::uint32_t kRunsEnough = 8;
/// From so many on all counts are halved: what is new counts more.
inline constexpr std::uint32_t kRunsMax = 512;
/// Kinds beyond it: the one that learned longest ago is forgotten.
inline constexpr std::size_t kRunKindsMax = 4096;

class RunTimes {
 public:
  /// Begins again with the completed jobs of that state.
  void rebuild(const State& state);
  /// The attempt changed: learns from it if its job completed with the entry applied last.
  void on_touched(const State& state, const Token& token);
  /// A job like this ran for so long.
  void learn(const JobSpec& spec, Duration run);
  /// The run time that a job like this, which has run for `age`, does not exceed in so many per
  /// cent of cases. Not above its time limit. Unknown kinds: half the limit, or twice the age and
  /// ten minutes.
  Duration predicted(const JobSpec& spec, std::uint32_t percent, Duration age) const;
  std::size_t kinds() const { return kinds_.size(); }

 private:
  struct Key {
    std::uint32_t width = 0;  ///< 0: the closest kind.
    std::string user;
    std::string program;
    std::uint32_t gpus = 0;
    auto operator<=>(const Key&) const = default;
  };
  struct Kind {
    RunHistogram times;
    std::uint64_t learned = 0;  ///< In `by_age_`.
  };
  static constexpr std::uint32_t kWidths = 4;
  static Key key_of(const JobSpec& spec, std::uint32_t width);

  std::map<Key, Kind> kinds_;
  std::set<std::pair<std::uint64_t, Key>> by_age_;
  std::uint64_t lessons_ = 0;
};

}  // namespace muster::scheduler
