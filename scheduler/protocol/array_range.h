#pragma once
// Which numbers the tasks of an array have, and how many of them may be at work.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gossip/base/result.h"

namespace muster::scheduler {

inline constexpr std::uint32_t kTasksMax = 1'000'000;  ///< Of one array.
/// Each is a part of the array's record, and of every answer about it.
inline constexpr std::size_t kTaskRunsMax = 256;

/// first, first + step, ... up to last, which is one of them.
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
  std::uint32_t at_once = 0;  ///< So many tasks at most have begun and not ended; 0 = any number.
  /// In order, one behind the other, from `first` to `last`; empty = each number is a task.
  std::vector<TaskRun> runs{};
  bool operator==(const ArrayRange&) const = default;

  bool holds(std::uint32_t index) const { return count(index, index) == 1; }
  std::uint32_t length() const { return count(first, last); }
  /// Tasks with numbers in [from, to].
  std::uint32_t count(std::uint32_t from, std::uint32_t to) const;
  /// The first task not below; last + 1 = no such task.
  std::uint32_t at_or_after(std::uint32_t index) const;
};

/// `numbers` as runs, as few as a look at one after the other finds. Precondition:
/// not empty, in order, each once.
ArrayRange range_of(const std::vector<std::uint32_t>& numbers);
/// kInvalid: numbers that cannot be, or runs that do not follow each other.
Status validate(const ArrayRange& range);
/// "0-9", "0-8:2", "1,3-5".
std::string text_of(const ArrayRange& range);

}  // namespace muster::scheduler
