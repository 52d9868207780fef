// What of the state is forgotten, and when: by number, by time, and by bytes (kept_bytes.h).

#include "scheduler/state/state.h"

#include <algorithm>

namespace muster::scheduler {
namespace {

/// One in so many keys that are forgotten early is told of.
constexpr std::uint64_t kForgottenKeyTold = 4096;

}  // namespace

std::string State::why_not(const entry::Submit& fact) const {
  if (queue_.size() + suspended_ >= kJobsQueuedMax) {
    return "the queue is full: " + std::to_string(kJobsQueuedMax) + " jobs wait";
  }
  const std::size_t bytes = kept_bytes_of_job(fact.spec, fact.key, fact.submitted_by);
  if (kept_.unfinished_jobs + bytes > kept_max_.unfinished_jobs) {
    return "the commands of all jobs that have not ended take " +
           std::to_string(kept_max_.unfinished_jobs >> 20) +
           " MiB: wait until some end, or put what is long into a file";
  }
  return "";
}

void State::count_submitted(Step& step, const Job& job) {
  kept_.unfinished_jobs += kept_bytes(job);
  if (job.key.empty()) {
    return;
  }
  keys_.remember(job.key, job.id, cluster_time_);
  kept_.client_keys += kept_bytes_of_key(job.key);
  while (kept_.client_keys > kept_max_.client_keys && keys_.size() > 1) {
    const std::uint64_t of = keys_.oldest_job().value();
    if (of % kForgottenKeyTold == 0) {
      step.result.events.push_back({Severity::kWarn,
                                    "client_key_forgotten_early",
                                    {{"job", std::to_string(of)},
                                     {"index", std::to_string(step.index.value())}}});
    }
    kept_.client_keys -= kept_bytes_of_key(keys_.forget_oldest());
  }
}

void State::forget_old_keys() {
  while (keys_.has_outlived(cluster_time_)) {
    kept_.client_keys -= kept_bytes_of_key(keys_.forget_oldest());
  }
}

void State::note_in_history(Job& job, Transition step) {
  kept_.histories += kept_bytes(step);
  job.history.push_back(std::move(step));
  while (job.history.size() > kTransitionsKept ||
         (kept_.histories > kept_max_.histories && job.history.size() > kTransitionsLeast)) {
    kept_.histories -= kept_bytes(job.history.front());
    job.history.pop_front();
  }
}

void State::count_earlier_attempt(const Token& token) {
  const auto known = attempts_.find(token);
  if (known == attempts_.end()) {
    return;
  }
  const auto [place, is_new] = earlier_attempts_.try_emplace(token, 0);
  if (is_new) {
    place->second = kept_bytes(known->second);
    kept_.earlier_attempts += place->second;
  }
}

void State::uncount_earlier_attempt(const Token& token) {
  const auto counted = earlier_attempts_.find(token);
  if (counted != earlier_attempts_.end()) {
    kept_.earlier_attempts -= counted->second;
    earlier_attempts_.erase(counted);
  }
}

/// All of an unfinished job but its newest.
void State::count_earlier_attempts(const Job& job) {
  for (std::size_t i = 0; i + 1 < job.attempt_tokens.size(); ++i) {
    count_earlier_attempt(job.attempt_tokens[i]);
  }
}

void State::uncount_earlier_attempts(const Job& job) {
  for (const Token& token : job.attempt_tokens) {
    uncount_earlier_attempt(token);
  }
}

void State::note_attempt(Job& job, const Token& token) {
  if (!job.attempt_tokens.empty()) {
    count_earlier_attempt(job.attempt_tokens.back());
  }
  job.attempt_tokens.push_back(token);
  if (job.attempt_tokens.size() > kAttemptsKept) {
    const Token oldest = job.attempt_tokens.front();
    job.attempt_tokens.erase(job.attempt_tokens.begin());
    uncount_earlier_attempt(oldest);
    forget_attempt(oldest);
  }
  while (kept_.earlier_attempts > kept_max_.earlier_attempts && !earlier_attempts_.empty()) {
    const Token oldest = earlier_attempts_.begin()->first;
    std::erase(jobs_.at(attempts_.at(oldest).job).attempt_tokens, oldest);
    uncount_earlier_attempt(oldest);
    forget_attempt(oldest);
  }
}

void State::forget_attempt(const Token& token) {
  // A live one still holds GPUs on silent hosts; it goes when it ends (see follow()).
  if (live_.count(token) == 0) {
    attempts_.erase(token);
  }
}

std::size_t State::ended_bytes_of(const Job& job) const {
  std::size_t bytes = kept_bytes(job) + kept_bytes_of_history(job);
  for (const Token& token : job.attempt_tokens) {
    const Attempt* known = attempt(token);
    bytes += known == nullptr ? 0 : kept_bytes(*known);
  }
  return bytes;
}

void State::count_ended(const Job& job) {
  kept_.unfinished_jobs -= kept_bytes(job);
  kept_.histories -= kept_bytes_of_history(job);
  uncount_earlier_attempts(job);
  kept_.ended_jobs += ended_bytes_of(job);
  ended_jobs_.insert({job.ended_index, job.id});
  const auto is_too_much = [this] {
    return ended_jobs_.size() > kJobsEndedKept || kept_.ended_jobs > kept_max_.ended_jobs;
  };
  // Not the job itself: whoever ended it is not done with it.
  while (is_too_much() && ended_jobs_.begin()->second != job.id) {
    const auto oldest = jobs_.find(ended_jobs_.begin()->second);
    ended_jobs_.erase(ended_jobs_.begin());
    kept_.ended_jobs -= ended_bytes_of(oldest->second);
    for (const Token& token : oldest->second.attempt_tokens) {
      forget_attempt(token);
    }
    jobs_.erase(oldest);
  }
}

/// Anew, from the parts.
KeptBytes State::counted() const {
  KeptBytes bytes;
  for (const auto& [id, job] : jobs_) {
    if (job.has_ended()) {
      bytes.ended_jobs += ended_bytes_of(job);
    } else {
      bytes.unfinished_jobs += kept_bytes(job);
      bytes.histories += kept_bytes_of_history(job);
    }
  }
  for (const auto& [token, counted] : earlier_attempts_) {
    bytes.earlier_attempts += kept_bytes(attempts_.at(token));
  }
  for (const auto& [key, record] : keys_.all()) {
    bytes.client_keys += kept_bytes_of_key(key);
  }
  return bytes;
}

}  // namespace muster::scheduler
