#include "scheduler/state/usage_book.h"

#include <algorithm>
#include <utility>

#include "gossip/base/check.h"

namespace muster::scheduler {

void UsageBook::charge(const std::string& user, const std::string& gpu_type, Duration from,
                       Duration to, std::uint64_t gpus) {
  // Time before the days that are kept would be dropped again.
  from = std::max(from, to - kUsageDay * kUsageDays);
  for (std::int64_t day = from / kUsageDay; from < to; ++day) {
    const Duration end = std::min(to, kUsageDay * (day + 1));
    add({day, user, gpu_type}, gpu_ms(end - from, gpus));
    from = end;
  }
}

void UsageBook::add(UsageKey key, std::uint64_t time) {
  if (time == 0) {
    return;
  }
  while (!rows_.empty() && rows_.begin()->first.day <= key.day - kUsageDays) {
    rows_.erase(rows_.begin());
  }
  const std::int64_t today = key.day;
  while (rows_.size() >= kUsageRowsMax && !rows_.contains(key)) {
    if (rows_.begin()->first.day < today) {
      rows_.erase(rows_.begin());
    } else if (!key.user.empty()) {
      key.user.clear();
    } else {
      // All rows are of today, and no row is of many users: the last one becomes that.
      const auto last = std::prev(rows_.end());
      time += last->second;
      rows_.erase(last);
    }
  }
  rows_[std::move(key)] += time;
}

void UsageBook::check() const {
  CHECK(rows_.size() <= kUsageRowsMax);
  CHECK(rows_.empty() || rows_.rbegin()->first.day - rows_.begin()->first.day < kUsageDays);
}

}  // namespace muster::scheduler
