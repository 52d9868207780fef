#include "scheduler/state/epochs.h"

#include <algorithm>
#include <utility>

#include "gossip/base/check.h"

namespace muster::scheduler {

Epochs::Epochs(std::uint64_t counter, Duration recovered_at, std::map<std::uint64_t, Past> past,
               std::set<Token> unsure)
    : counter_(counter),
      recovered_at_(recovered_at),
      past_(std::move(past)),
      unsure_(std::move(unsure)) {}

bool Epochs::is_recovering(Duration cluster_time) const {
  return !past_.empty() && cluster_time < recovered_at_ + kAdoptionWindow;
}

LogIndex Epochs::last_of(std::uint64_t epoch) const {
  const auto found = past_.find(epoch);
  return found == past_.end() ? LogIndex() : found->second.last;
}

bool Epochs::was_given(std::uint64_t epoch, JobId job) const {
  const auto found = past_.find(epoch);
  if (found == past_.end() || job > found->second.job) {
    return false;
  }
  // The numbers that a recovery left out were not given here.
  return std::none_of(past_.begin(), past_.end(), [job](const auto& item) {
    const JobId last = item.second.job;
    return last < job && job.value() <= last.value() + kJobIdsSkipped;
  });
}

void Epochs::begin(std::uint64_t counter, const Past& end, Duration cluster_time) {
  CHECK(counter > counter_);
  past_[counter_] = end;
  counter_ = counter;
  recovered_at_ = cluster_time;
  unsure_.clear();
}

}  // namespace muster::scheduler
