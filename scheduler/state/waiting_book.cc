#include "scheduler/state/waiting_book.h"

#include "gossip/base/check.h"
#include "scheduler/protocol/queues.h"

namespace muster::scheduler {
namespace {

bool is_waiting(JobState state) {
  return state == JobState::kQueued || state == JobState::kSuspended;
}

}  // namespace

void QueueTotals::add(std::string_view path, std::uint64_t count) {
  for (std::string_view up = path; !up.empty() && count != 0; up = parent_path(up)) {
    const auto found = counts_.find(up);
    if (found == counts_.end()) {
      counts_.emplace(up, count);
    } else {
      found->second += count;
    }
  }
}

void QueueTotals::remove(std::string_view path, std::uint64_t count) {
  for (std::string_view up = path; !up.empty() && count != 0; up = parent_path(up)) {
    const auto found = counts_.find(up);
    CHECK(found != counts_.end() && found->second >= count);
    found->second -= count;
    if (found->second == 0) {
      counts_.erase(found);
    }
  }
}

std::uint64_t QueueTotals::of(std::string_view path) const {
  const auto found = counts_.find(path);
  return found == counts_.end() ? 0 : found->second;
}

std::uint64_t job_count(const JobSpec& spec) {
  return spec.array.has_value() ? spec.array->length() : 1;
}

void WaitingBook::on_moved(const Job& job, JobState from) {
  const bool did_wait = is_waiting(from);
  const bool waits = is_waiting(job.life.state);
  if (did_wait && !waits) {
    counts_.remove(job.spec.queue, 1);
  } else if (waits && !did_wait) {
    counts_.add(job.spec.queue, 1);
  }
}

void WaitingBook::on_queue_changed(const Job& job, const std::string& from) {
  if (is_waiting(job.life.state) && job.spec.queue != from) {
    counts_.remove(from, 1);
    counts_.add(job.spec.queue, 1);
  }
}

void WaitingBook::recount(const TaskArray& array) {
  const std::uint32_t tasks = array.is_unfolded() ? 0 : array.folded() - array.skipped_count();
  const auto known = arrays_.find(array.id);
  if (known != arrays_.end() && known->second == Folded{array.spec.queue, tasks}) {
    return;
  }
  if (known != arrays_.end()) {
    counts_.remove(known->second.queue, known->second.tasks);
    arrays_.erase(known);
  }
  if (tasks != 0) {
    counts_.add(array.spec.queue, tasks);
    arrays_.emplace(array.id, Folded{array.spec.queue, tasks});
  }
}

}  // namespace muster::scheduler
