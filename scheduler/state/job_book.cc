#include "scheduler/state/job_book.h"

#include <algorithm>
#include <optional>

#include "gossip/base/check.h"
#include "scheduler/protocol/mutants.h"

namespace muster::scheduler {
namespace {

/// When the job's pack is relaxed; nullopt if never, or if it is already.
std::optional<Duration> relaxed_at(const Job& job) {
  const Request& request = job.spec.request;
  const bool is_bound =
      request.pack != Pack::kAny && request.pack_wait > Duration::zero() && !job.life.is_relaxed;
  // A job that waited for others or for a time looks for close hosts from then on.
  return is_bound && !job.life.wait.is_open()
             ? std::optional(std::max(job.history.submitted_at, job.life.wait.over_at) +
                             request.pack_wait)
             : std::nullopt;
}

}  // namespace

JobBook::JobBook(std::map<JobId, Job> jobs, JobId last) : last_(last), jobs_(std::move(jobs)) {
  for (const auto& [id, job] : jobs_) {
    if (job.life.state == JobState::kQueued) {
      begin_queued(job);
    }
    suspended_ += job.life.state == JobState::kSuspended ? 1U : 0U;
    if (!job.life.left_out.empty()) {
      picky_.insert(id);
    }
    if (job.has_ended()) {
      ended_.insert({job.life.ended_index, id});
    }
  }
}

void JobBook::begin_queued(const Job& job) {
  if (job.pauses()) {
    begin_pause(job);
  } else {
    ++(job.life.wait.is_open() ? conditional_ : pending_);
  }
  if (const auto when = relaxed_at(job)) {
    packed_.insert({*when, job.id});
  }
}

void JobBook::end_queued(const Job& job) {
  (job.life.wait.is_open() ? conditional_ : pending_) -= job.pauses() ? 0U : 1U;
  if (const auto when = relaxed_at(job)) {
    packed_.erase({*when, job.id});
  }
}

void JobBook::begin_pause(const Job& job) {
  pauses_.insert({job.life.failures.retry_at, job.id});
  if (is_task(job.id)) {
    ++pausing_tasks_[array_of(job.id)];
  }
}

void JobBook::forget_pause(Job& job) {
  if (pauses_.erase({job.life.failures.retry_at, job.id}) == 0) {
    return;
  }
  job.life.failures.retry_at = Duration::zero();
  const auto tasks = is_task(job.id) ? pausing_tasks_.find(array_of(job.id)) : pausing_tasks_.end();
  if (tasks != pausing_tasks_.end() && --tasks->second == 0) {
    pausing_tasks_.erase(tasks);
  }
}

std::uint32_t JobBook::pausing_tasks(JobId array) const {
  const auto tasks = pausing_tasks_.find(array);
  return tasks == pausing_tasks_.end() ? 0 : tasks->second;
}

void JobBook::pause_until(Job& job, Duration retry_at) {
  CHECK(job.life.state != JobState::kQueued);
  job.life.failures.retry_at = retry_at;
}

void JobBook::set_wait(Job& job, JobWait wait) {
  const bool is_queued = job.life.state == JobState::kQueued;
  CHECK(!is_queued || !job.pauses());
  if (is_queued) {
    end_queued(job);
  }
  job.life.wait = std::move(wait);
  if (is_queued) {
    begin_queued(job);
  }
}

void JobBook::end_pause(Job& job) {
  CHECK(job.pauses());
  forget_pause(job);
  ++(job.life.wait.is_open() ? conditional_ : pending_);
}

std::vector<JobId> JobBook::end_pauses(Duration cluster_time) {
  std::vector<JobId> ended;
  while (!pauses_.empty() && pauses_.begin()->first <= cluster_time) {
    ended.push_back(pauses_.begin()->second);
    end_pause(at(ended.back()));
  }
  return ended;
}

std::vector<JobId> JobBook::relax_until(Duration cluster_time) {
  std::vector<JobId> relaxed;
  while (!packed_.empty() && packed_.begin()->first <= cluster_time) {
    relaxed.push_back(packed_.begin()->second);
    packed_.erase(packed_.begin());
    at(relaxed.back()).life.is_relaxed = true;
  }
  return relaxed;
}

const Job* JobBook::find(JobId id) const {
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : &found->second;
}

Job* JobBook::find(JobId id) {
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : &found->second;
}

Job& JobBook::at(JobId id) {
  const auto found = jobs_.find(id);
  CHECK(found != jobs_.end());
  return found->second;
}

const Job& JobBook::first_ended() const {
  CHECK(!ended_.empty());
  return *find(ended_.begin()->second);
}

JobId JobBook::give_number() {
  last_ = last_.next();
  return last_;
}

void JobBook::leave_out_numbers(std::uint64_t count) {
  last_ = JobId(last_.value() + count);
}

Job& JobBook::add(Job job) {
  CHECK(job.life.state == JobState::kQueued);
  begin_queued(job);
  const JobId id = job.id;
  return jobs_[id] = std::move(job);
}

void JobBook::move(Job& job, JobEvent event) {
  const auto [rule, to] = job_step(job.life.state, job.order_in_force(), event);
  CHECK(rule == JobRule::kMove || is_mutant_planted());
  steps_.add(job.life.state, event);
  if (to == JobState::kQueued && job.life.state != JobState::kQueued) {
    begin_queued(job);
  } else if (to != JobState::kQueued && job.life.state == JobState::kQueued) {
    end_queued(job);
    forget_pause(job);
  }
  suspended_ -= job.life.state == JobState::kSuspended ? 1U : 0U;
  suspended_ += to == JobState::kSuspended ? 1U : 0U;
  job.life.state = to;
  if (job.has_ended()) {
    ended_.insert(ended_.end(), {job.life.ended_index, job.id});
  }
}

void JobBook::forget_first_ended() {
  CHECK(!ended_.empty());
  const JobId id = ended_.begin()->second;
  ended_.erase(ended_.begin());
  jobs_.erase(id);
}

void JobBook::leave_out(Job& job, const LeftOut& out) {
  std::erase_if(job.life.left_out, [&](const LeftOut& known) { return known.host == out.host; });
  job.life.left_out.push_back(out);
  if (job.life.left_out.size() > kLeftOutMax) {
    job.life.left_out.erase(job.life.left_out.begin());
  }
  picky_.insert(job.id);
}

void JobBook::allow_again(const HostId& host) {
  std::erase_if(picky_, [&](JobId id) {
    Job* job = find(id);
    if (job != nullptr) {
      std::erase_if(job->life.left_out, [&](const LeftOut& out) { return out.host == host; });
    }
    return job == nullptr || job->life.left_out.empty();
  });
}

bool JobBook::allow_again_until(Duration cluster_time) {
  bool has_allowed = false;
  std::erase_if(picky_, [&](JobId id) {
    Job* job = find(id);
    if (job != nullptr && job->life.state == JobState::kQueued) {
      has_allowed |= std::erase_if(job->life.left_out, [&](const LeftOut& out) {
                       return out.until <= cluster_time;
                     }) != 0;
    }
    return job == nullptr || job->life.left_out.empty();
  });
  return has_allowed;
}

void JobBook::check() const {
  CHECK(waiting() <= jobs_.size());
  CHECK(ended_.size() <= kJobsEndedKept);
}

void JobBook::check_everything() const {
  check();
  std::size_t pending = 0;
  std::size_t suspended = 0;
  std::size_t ended = 0;
  std::size_t packed = 0;
  std::size_t pausing = 0;
  std::size_t pausing_tasks = 0;
  std::size_t conditional = 0;
  for (const auto& [id, job] : jobs_) {
    const bool is_queued = job.life.state == JobState::kQueued;
    CHECK(pauses_.contains({job.life.failures.retry_at, id}) == job.pauses());
    pausing_tasks += job.pauses() && is_task(id) ? 1U : 0U;
    CHECK(ended_.contains({job.life.ended_index, id}) == job.has_ended());
    pending += job.is_pending() ? 1U : 0U;
    pausing += is_queued && job.pauses() ? 1U : 0U;
    conditional += is_queued && !job.pauses() && job.is_waiting() ? 1U : 0U;
    suspended += job.life.state == JobState::kSuspended ? 1U : 0U;
    CHECK(job.life.left_out.empty() || picky_.contains(id));
    packed += is_queued && relaxed_at(job).has_value() ? 1U : 0U;
    ended += job.has_ended() ? 1U : 0U;
  }
  CHECK(pending == pending_);
  CHECK(suspended == suspended_);
  CHECK(conditional == conditional_);
  CHECK(ended == ended_.size());
  CHECK(packed == packed_.size());
  CHECK(pausing == pauses_.size());
  for (const auto& [array, tasks] : pausing_tasks_) {
    CHECK(tasks != 0 && tasks <= pausing_tasks);
    pausing_tasks -= tasks;
  }
  CHECK(pausing_tasks == 0);
}

}  // namespace muster::scheduler
