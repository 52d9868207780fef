#include "scheduler/protocol/array_range.h"

#include <algorithm>

#include "gossip/base/check.h"
#include "gossip/base/ids.h"

namespace muster::scheduler {
namespace {

/// Number of tasks of one run in [from, to].
std::uint32_t count_in(const TaskRun& run, std::uint32_t from, std::uint32_t to) {
  from = std::max(from, run.first);
  to = std::min(to, run.last);
  if (from > to) {
    return 0;
  }
  const std::uint32_t before = (from - run.first + run.step - 1) / run.step;
  const std::uint32_t up_to = (to - run.first) / run.step + 1;
  return up_to - before;
}

Error not_a_range(std::string text) {
  return {ErrorCode::kInvalid, std::move(text)};
}

}  // namespace

std::uint32_t ArrayRange::count(std::uint32_t from, std::uint32_t to) const {
  if (runs.empty()) {
    return count_in({first, last, 1}, from, to);
  }
  std::uint32_t count = 0;
  for (const TaskRun& run : runs) {
    count += count_in(run, from, to);
  }
  return count;
}

std::uint32_t ArrayRange::at_or_after(std::uint32_t index) const {
  if (runs.empty()) {
    return std::clamp(index, first, last + 1);
  }
  for (const TaskRun& run : runs) {
    if (index <= run.last) {
      const std::uint32_t past = index <= run.first ? 0 : index - run.first;
      return run.first + (past + run.step - 1) / run.step * run.step;
    }
  }
  return last + 1;
}

ArrayRange range_of(const std::vector<std::uint32_t>& numbers) {
  CHECK(!numbers.empty());
  ArrayRange range;
  range.first = numbers.front();
  range.last = numbers.back();
  for (const std::uint32_t number : numbers) {
    TaskRun* run = range.runs.empty() ? nullptr : &range.runs.back();
    if (run != nullptr && run->first == run->last) {
      run->step = number - run->first;
      run->last = number;
    } else if (run != nullptr && number - run->last == run->step) {
      run->last = number;
    } else {
      range.runs.push_back({number, number, 1});
    }
  }
  if (range.runs.size() == 1 && range.runs.front().step == 1) {
    range.runs.clear();
  }
  return range;
}

Status validate(const ArrayRange& range) {
  if (range.last < range.first || range.last > kTaskIndexMax) {
    return not_a_range("the tasks of an array go from a number up to another, at most " +
                       std::to_string(kTaskIndexMax));
  }
  if (range.runs.size() > kTaskRunsMax) {
    return not_a_range("the numbers of an array's tasks are in more than " +
                       std::to_string(kTaskRunsMax) + " runs: submit several arrays");
  }
  for (const TaskRun& run : range.runs) {
    const TaskRun* before = &run == &range.runs.front() ? nullptr : &run - 1;
    const bool is_behind = before == nullptr ? run.first == range.first : run.first > before->last;
    if (!is_behind || run.step == 0 || run.last < run.first ||
        (run.last - run.first) % run.step != 0) {
      return not_a_range("the runs of an array's tasks do not follow each other");
    }
  }
  if (!range.runs.empty() && range.runs.back().last != range.last) {
    return not_a_range("the runs of an array's tasks do not end with its last one");
  }
  if (range.length() > kTasksMax) {
    return not_a_range("an array has at most " + std::to_string(kTasksMax) + " tasks");
  }
  return ok();
}

std::string text_of(const ArrayRange& range) {
  if (range.runs.empty()) {
    return std::to_string(range.first) + "-" + std::to_string(range.last);
  }
  std::string text;
  for (const TaskRun& run : range.runs) {
    const bool are_two = run.last - run.first == run.step;
    text += (text.empty() ? "" : ",") + std::to_string(run.first);
    if (are_two && run.step > 1) {
      text += "," + std::to_string(run.last);
    } else if (run.last > run.first) {
      text +=
          "-" + std::to_string(run.last) + (run.step == 1 ? "" : ":" + std::to_string(run.step));
    }
  }
  return text;
}

}  // namespace muster::scheduler
