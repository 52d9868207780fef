#include "scheduler/state/attempt_book.h"

#include <utility>

#include "gossip/base/check.h"

namespace muster::scheduler {

AttemptBook::AttemptBook(std::map<Token, Attempt> attempts) : attempts_(std::move(attempts)) {
  for (const auto& [token, attempt] : attempts_) {
    if (attempt.state != AttemptState::kEnded) {
      live_.insert(token);
    }
  }
}

const Attempt* AttemptBook::find(const Token& token) const {
  const auto found = attempts_.find(token);
  return found == attempts_.end() ? nullptr : &found->second;
}

Attempt* AttemptBook::find(const Token& token) {
  const auto found = attempts_.find(token);
  return found == attempts_.end() ? nullptr : &found->second;
}

Attempt& AttemptBook::at(const Token& token) {
  const auto found = attempts_.find(token);
  CHECK(found != attempts_.end());
  return found->second;
}

void AttemptBook::add(Attempt attempt) {
  CHECK(attempt.state != AttemptState::kEnded);
  live_.insert(live_.end(), attempt.token);
  attempts_[attempt.token] = std::move(attempt);
}

Outcome AttemptBook::feed(Attempt& attempt, const Fact& fact) {
  Outcome outcome = transition(attempt, fact);
  edges_.add(outcome.edge);
  if (outcome.has_then) {
    edges_.add(outcome.then);
  }
  if (attempt.state == AttemptState::kEnded) {
    live_.erase(attempt.token);
  }
  return outcome;
}

void AttemptBook::forget(const Token& token) {
  if (!is_live(token)) {
    attempts_.erase(token);
  }
}

void AttemptBook::check() const {
  CHECK(live_.size() <= attempts_.size());
  for (const auto& [token, attempt] : attempts_) {
    CHECK(is_live(token) == (attempt.state != AttemptState::kEnded));
    CHECK(!unclassed_.contains(token) || attempt.state == AttemptState::kEnded);
  }
}

}  // namespace muster::scheduler
