#include "scheduler/state/job_book.h"

#include <algorithm>
#include <optional>

#include "gossip/base/check.h"
#include "scheduler/protocol/mutants.h"

namespace muster::scheduler {
namespace {

/// When the job's pack is relaxed; nothing = never, or it is already.
std::optional<Duration> relaxed_at(const Job& job) {
  const Request& request = job.spec.request;
  const bool is_bound =
      request.pack != Pack::kAny && request.pack_wait > Duration::zero() && !job.is_relaxed;
  return is_bound ? std::optional(job.submitted_at + request.pack_wait) : std::nullopt;
}

}  // namespace

JobBook::JobBook(std::map<JobId, Job> jobs, JobId last) : last_(last), jobs_(std::move(jobs)) {
  for (const auto& [id, job] : jobs_) {
    if (job.state == JobState::kQueued) {
      enter_queue(job);
    }
    suspended_ += job.state == JobState::kSuspended ? 1U : 0U;
    if (!job.left_out.empty()) {
      picky_.insert(id);
    }
    if (job.has_ended()) {
      ended_.insert({job.ended_index, id});
    }
  }
}

void JobBook::enter_queue(const Job& job) {
  queue_.insert(queue_.end(), {job.priority, job.id});
  if (const auto when = relaxed_at(job)) {
    packed_.insert({*when, job.id});
  }
}

void JobBook::leave_queue(const Job& job) {
  queue_.erase({job.priority, job.id});
  if (const auto when = relaxed_at(job)) {
    packed_.erase({*when, job.id});
  }
}

std::vector<JobId> JobBook::relax_until(Duration cluster_time) {
  std::vector<JobId> relaxed;
  while (!packed_.empty() && packed_.begin()->first <= cluster_time) {
    relaxed.push_back(packed_.begin()->second);
    packed_.erase(packed_.begin());
    at(relaxed.back()).is_relaxed = true;
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
  CHECK(job.state == JobState::kQueued);
  enter_queue(job);
  const JobId id = job.id;
  return jobs_[id] = std::move(job);
}

void JobBook::move(Job& job, JobEvent event) {
  const auto [rule, to] = job_step(job.state, job.order_in_force(), event);
  CHECK(rule == JobRule::kMove || is_mutant_planted());
  steps_.add(job.state, event);
  if (to == JobState::kQueued && job.state != JobState::kQueued) {
    enter_queue(job);
  } else if (to != JobState::kQueued && job.state == JobState::kQueued) {
    leave_queue(job);
  }
  suspended_ -= job.state == JobState::kSuspended ? 1U : 0U;
  suspended_ += to == JobState::kSuspended ? 1U : 0U;
  job.state = to;
  if (job.has_ended()) {
    ended_.insert(ended_.end(), {job.ended_index, job.id});
  }
}

void JobBook::set_priority(Job& job, std::int32_t priority) {
  const bool is_queued = queue_.erase({job.priority, job.id}) != 0;
  job.priority = priority;
  if (is_queued) {
    queue_.insert({job.priority, job.id});
  }
}

void JobBook::forget_first_ended() {
  CHECK(!ended_.empty());
  const JobId id = ended_.begin()->second;
  ended_.erase(ended_.begin());
  jobs_.erase(id);
}

void JobBook::leave_out(Job& job, const LeftOut& out) {
  std::erase_if(job.left_out, [&](const LeftOut& known) { return known.host == out.host; });
  job.left_out.push_back(out);
  if (job.left_out.size() > kLeftOutMax) {
    job.left_out.erase(job.left_out.begin());
  }
  picky_.insert(job.id);
}

void JobBook::let_in(const HostId& host) {
  std::erase_if(picky_, [&](JobId id) {
    Job* job = find(id);
    if (job != nullptr) {
      std::erase_if(job->left_out, [&](const LeftOut& out) { return out.host == host; });
    }
    return job == nullptr || job->left_out.empty();
  });
}

bool JobBook::let_in_until(Duration cluster_time) {
  bool has_let_in = false;
  std::erase_if(picky_, [&](JobId id) {
    Job* job = find(id);
    if (job != nullptr && job->state == JobState::kQueued) {
      has_let_in |= std::erase_if(job->left_out, [&](const LeftOut& out) {
                      return out.until <= cluster_time;
                    }) != 0;
    }
    return job == nullptr || job->left_out.empty();
  });
  return has_let_in;
}

void JobBook::check() const {
  CHECK(waiting() <= jobs_.size());
  CHECK(ended_.size() <= kJobsEndedKept);
}

void JobBook::check_everything() const {
  check();
  std::size_t queued = 0;
  std::size_t suspended = 0;
  std::size_t ended = 0;
  std::size_t packed = 0;
  for (const auto& [id, job] : jobs_) {
    CHECK(queue_.contains({job.priority, id}) == (job.state == JobState::kQueued));
    CHECK(ended_.contains({job.ended_index, id}) == job.has_ended());
    queued += job.state == JobState::kQueued ? 1U : 0U;
    suspended += job.state == JobState::kSuspended ? 1U : 0U;
    CHECK(job.left_out.empty() || picky_.contains(id));
    packed += job.state == JobState::kQueued && relaxed_at(job).has_value() ? 1U : 0U;
    ended += job.has_ended() ? 1U : 0U;
  }
  CHECK(queued == queue_.size());
  CHECK(suspended == suspended_);
  CHECK(ended == ended_.size());
  CHECK(packed == packed_.size());
}

}  // namespace muster::scheduler
