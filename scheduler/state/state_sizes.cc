#include "scheduler/state/state_sizes.h"

#include <utility>

namespace muster::scheduler {

std::size_t ended_bytes_of(const AttemptBook& attempts, const Job& job) {
  std::size_t bytes = kept_bytes(job) + kept_bytes_of_history(job);
  for (const Token& token : job.life.attempt_tokens) {
    const Attempt* known = attempts.find(token);
    bytes += known == nullptr ? 0 : kept_bytes(*known);
  }
  return bytes;
}

bool StateSizes::has_room_for_job(std::size_t bytes) const {
  return bytes_.unfinished_jobs + bytes <= max_.unfinished_jobs;
}

bool StateSizes::has_too_many_attempts() const {
  return bytes_.earlier_attempts > max_.earlier_attempts && !earlier_attempts_.empty();
}

void StateSizes::add_job(const Job& job) {
  bytes_.unfinished_jobs += kept_bytes(job);
}

void StateSizes::end_job(const Job& job, std::size_t bytes) {
  bytes_.unfinished_jobs -= kept_bytes(job);
  bytes_.histories -= kept_bytes_of_history(job);
  for (const Token& token : job.life.attempt_tokens) {
    remove_earlier(token);
  }
  add_ended(bytes);
}

void StateSizes::add_earlier(const Attempt& attempt) {
  const auto [place, is_new] = earlier_attempts_.try_emplace(attempt.token, 0);
  if (is_new) {
    place->second = kept_bytes(attempt);
    bytes_.earlier_attempts += place->second;
  }
}

void StateSizes::add_earlier(const AttemptBook& attempts, const Job& job) {
  for (std::size_t i = 0; i + 1 < job.life.attempt_tokens.size(); ++i) {
    if (const Attempt* known = attempts.find(job.life.attempt_tokens[i]); known != nullptr) {
      add_earlier(*known);
    }
  }
}

void StateSizes::remove_earlier(const Token& token) {
  const auto counted = earlier_attempts_.find(token);
  if (counted != earlier_attempts_.end()) {
    bytes_.earlier_attempts -= counted->second;
    earlier_attempts_.erase(counted);
  }
}

void StateSizes::note(Job& job, Transition step) {
  bytes_.histories += kept_bytes(step);
  job.history.transitions.push_back(std::move(step));
  while (
      job.history.transitions.size() > kTransitionsKept ||
      (bytes_.histories > max_.histories && job.history.transitions.size() > kTransitionsLeast)) {
    bytes_.histories -= kept_bytes(job.history.transitions.front());
    job.history.transitions.erase(job.history.transitions.begin());
  }
}

}  // namespace muster::scheduler
