#include "scheduler/state/forgetting.h"

#include <string>
#include <vector>

namespace muster::scheduler {
namespace {

/// One of this many keys that are forgotten early makes an event.
constexpr std::uint64_t kForgottenKeyTold = 4096;

void forget_attempt(Books& books, const Token& token) {
  books.sizes.remove_earlier(token);
  books.attempts.forget(token);
}

void unlist_attempt(Books& books, Job& job, const Token& token) {
  if (job.has_ended()) {
    books.sizes.remove_ended(ended_bytes_of(books.attempts, job));
    std::erase(job.life.attempt_tokens, token);
    books.sizes.add_ended(ended_bytes_of(books.attempts, job));
    return;
  }
  for (const Token& listed : job.life.attempt_tokens) {
    books.sizes.remove_earlier(listed);
  }
  std::erase(job.life.attempt_tokens, token);
  books.sizes.add_earlier(books.attempts, job);
}

}  // namespace

void keep_submitted(Step& step, const Job& job) {
  Books& books = step.books;
  books.sizes.add_job(job);
  if (!job.key.empty()) {
    keep_key(step, job.key, job.id);
  }
}

void keep_key(Step& step, const std::string& key, JobId job) {
  Books& books = step.books;
  books.keys.remember(key, job, books.cluster_time);
  books.sizes.add_key(key);
  while (books.sizes.has_too_many_keys() && books.keys.size() > 1) {
    const std::uint64_t of = books.keys.oldest_job().value();
    if (of % kForgottenKeyTold == 0) {
      step.result.events.push_back(
          {Severity::kWarn,
           "client_key_forgotten_early",
           {{"job", std::to_string(of)}, {"index", std::to_string(step.index.value())}}});
    }
    books.sizes.remove_key(books.keys.forget_oldest());
  }
}

void forget_old_keys(Books& books) {
  while (books.keys.has_outlived(books.cluster_time)) {
    books.sizes.remove_key(books.keys.forget_oldest());
  }
}

void note_attempt(Books& books, Job& job, const Token& token) {
  const Attempt* before = job.life.attempt_tokens.empty()
                              ? nullptr
                              : books.attempts.find(job.life.attempt_tokens.back());
  if (before != nullptr) {
    books.sizes.add_earlier(*before);
  }
  job.life.attempt_tokens.push_back(token);
  if (job.life.attempt_tokens.size() > kAttemptsKept) {
    const Token oldest = job.life.attempt_tokens.front();
    job.life.attempt_tokens.erase(job.life.attempt_tokens.begin());
    forget_attempt(books, oldest);
  }
  while (books.sizes.has_too_many_attempts()) {
    const Token oldest = books.sizes.earlier_attempts().begin()->first;
    Job& owner = books.jobs.at(books.attempts.at(oldest).job);
    std::erase(owner.life.attempt_tokens, oldest);
    forget_attempt(books, oldest);
  }
}

void forget_unsure(Books& books, const Token& token) {
  const Attempt* known = books.attempts.find(token);
  if (known == nullptr) {
    return;
  }
  if (Job* const owner = books.jobs.find(known->job); owner != nullptr) {
    unlist_attempt(books, *owner, token);
  }
  books.attempts.forget(token);
}

void keep_ended(Books& books, const Job& job) {
  books.sizes.end_job(job, ended_bytes_of(books.attempts, job));
  while ((books.jobs.ended() > kJobsEndedKept || books.sizes.has_too_much_ended()) &&
         books.jobs.first_ended().id != job.id) {
    const Job& oldest = books.jobs.first_ended();
    books.sizes.remove_ended(ended_bytes_of(books.attempts, oldest));
    for (const Token& token : oldest.life.attempt_tokens) {
      books.attempts.forget(token);
    }
    books.jobs.forget_first_ended();
  }
}

}  // namespace muster::scheduler
