#pragma once
// The range of an array: the numbers of its tasks, and how many tasks may be at work at once.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gossip/base/result.h"

namespace muster::scheduler {

inline constexpr std::uint32_t kTasksMax = 1'000'000;  ///< Of one array.
/// Runs of one array. Each run is a part of the array's record, and of every answer about it.
inline constexpr std::size_t kTaskRunsMax = 256;

/// The numbers first, first + step, ... up to and including last.
struct TaskRun {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::uint32_t step = 1;
  bool operator==(const TaskRun&) const = default;
};

/// A job of several tasks, each with the same command and request.
struct ArrayRange {
  std::uint32_t first = 0;
  std::uint32_t last = 0;     ///< Not below first, at most kTaskIndexMax.
  std::uint32_t at_once = 0;  ///< Maximum of tasks that have begun and not ended; 0 = no limit.
  /// Ascending and disjoint, from `first` to `last`; empty = each number is a task.
  std::vector<TaskRun> runs{};
  bool operator==(const ArrayRange&) const = default;

  bool holds(std::uint32_t index) const { return count(index, index) == 1; }
  std::uint32_t length() const { return count(first, last); }
  /// Number of tasks in [from, to].
  std::uint32_t count(std::uint32_t from, std::uint32_t to) const;
  /// The first task whose number is not below `index`; last + 1 = no such task.
  std::uint32_t at_or_after(std::uint32_t index) const;
};

/// `numbers` as few runs, found greedily in one pass. Precondition: not empty, ascending, without
/// duplicates.
ArrayRange range_of(const std::vector<std::uint32_t>& numbers);
/// kInvalid if a number is out of range, or if the runs do not follow each other.
Status validate(const ArrayRange& range);
/// "0-9", "0-8:2", "1,3-5".
std::string text_of(const ArrayRange& range);

}  // namespace muster::scheduler
