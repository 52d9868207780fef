#include "scheduler/state/eligibility_book.h"

namespace muster::scheduler {
namespace {

std::vector<JobId> due(const std::set<std::pair<Duration, JobId>>& times, Duration cluster_time,
                       std::size_t limit) {
  std::vector<JobId> jobs;
  for (auto next = times.begin();
       next != times.end() && next->first <= cluster_time && jobs.size() < limit; ++next) {
    jobs.push_back(next->second);
  }
  return jobs;
}

}  // namespace

void EligibilityBook::add(JobId id, const JobWait& wait) {
  for (const JobWait::Item& each : wait.after) {
    if (wait.is_open(each)) {
      dependents_[{each.asked.job, each.asked.ending}].insert(id);
    }
  }
  if (wait.begin_at != Duration::zero()) {
    begins_.insert({wait.begin_at, id});
  }
  if (wait.deadline_at != Duration::zero()) {
    deadlines_.insert({wait.deadline_at, id});
  }
}

void EligibilityBook::remove(JobId id, const JobWait& wait) {
  for (const JobWait::Item& each : wait.after) {
    const auto found = dependents_.find({each.asked.job, each.asked.ending});
    if (found != dependents_.end() && found->second.erase(id) != 0 && found->second.empty()) {
      dependents_.erase(found);
    }
  }
  begins_.erase({wait.begin_at, id});
  deadlines_.erase({wait.deadline_at, id});
}

std::vector<JobId> EligibilityBook::awaited_tasks(JobId array, std::uint32_t first,
                                                  std::uint32_t last) const {
  std::vector<JobId> tasks;
  const JobId end = task_id(array, last);
  for (auto next = dependents_.lower_bound({task_id(array, first), Ending::kOk});
       next != dependents_.end() && next->first.first <= end; ++next) {
    if (tasks.empty() || tasks.back() != next->first.first) {
      tasks.push_back(next->first.first);
    }
  }
  return tasks;
}

std::vector<JobId> EligibilityBook::begun(Duration cluster_time, std::size_t limit) const {
  return due(begins_, cluster_time, limit);
}

std::vector<JobId> EligibilityBook::late(Duration cluster_time, std::size_t limit) const {
  return due(deadlines_, cluster_time, limit);
}

const std::set<JobId>* EligibilityBook::concerned(const Over& over) const {
  const auto first = dependents_.lower_bound({over.id, Ending::kOk});
  const bool is_found = first != dependents_.end() && first->first.first == over.id &&
                        (over.has_ended || first->first.second == Ending::kOk);
  return is_found ? &first->second : nullptr;
}

void EligibilityBook::note(const Over& over) {
  if (concerned(over) != nullptr) {
    over_.push_back(over);
  }
}

std::optional<std::pair<Over, JobId>> EligibilityBook::next_told() {
  while (!over_.empty()) {
    if (const std::set<JobId>* dependents = concerned(over_.front())) {
      return std::pair(over_.front(), *dependents->begin());
    }
    over_.pop_front();
  }
  return std::nullopt;
}

}  // namespace muster::scheduler
