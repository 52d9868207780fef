#include "scheduler/state/books.h"

#include "gossip/base/check.h"
#include "scheduler/protocol/mutants.h"

namespace muster::scheduler {
namespace {

/// The GPUs that the hosts offer, and the slots that the attempts hold of them.
GpuBook held_by(const HostBook& hosts, const AttemptBook& attempts) {
  GpuBook held;
  for (const auto& [id, host] : hosts.all()) {
    held.offer(id, host.gpus);
  }
  for (const Token& token : attempts.live()) {
    for (const MemberRecord& record : attempts.find(token)->members) {
      if (record.end == MemberEnd::kNone) {
        held.take(token, record.member);
      }
    }
  }
  return held;
}

/// The means of `books`, and what its attempts hold.
ShareBook shared_by(const Books& books) {
  ShareBook shares(books.shares.pools(), books.shares.sampled_at());
  for (const Token& token : books.attempts.live()) {
    const Attempt& attempt = *books.attempts.find(token);
    for (const MemberRecord& record : attempt.members) {
      if (record.end == MemberEnd::kNone) {
        shares.add(books.queues, attempt.share, record.charge);
      }
    }
  }
  return shares;
}

/// Where the attempts are guaranteed now.
std::map<Token, Cover> covers_of(const GuaranteeBook& guarantees) {
  std::map<Token, Cover> covers;
  for (const auto& [token, claim] : guarantees.claims()) {
    covers[token] = claim.cover;
  }
  return covers;
}

/// Precondition: the counts of each array were derived.
WaitingBook waiting_of(const Books& books) {
  WaitingBook waiting;
  for (const auto& [id, job] : books.jobs.all()) {
    // As if it had just come from a state in which it does not wait.
    waiting.on_moved(job, JobState::kRunning);
  }
  for (const auto& [id, array] : books.arrays.all()) {
    waiting.recount(array);
  }
  return waiting;
}

/// The open conditions of jobs and arrays that have not ended.
EligibilityBook conditions_of(const Books& books) {
  EligibilityBook conditions;
  conditions.set_over(books.eligibility.over());
  for (const auto& [id, job] : books.jobs.all()) {
    if (!job.has_ended()) {
      conditions.add(id, job.life.wait);
    }
  }
  for (const auto& [id, array] : books.arrays.all()) {
    if (!array.has_ended()) {
      conditions.add(id, array.wait);
    }
  }
  return conditions;
}

/// Bytes counted from the other books; for earlier attempts, from those that `kept` lists.
KeptBytes kept_of(const Books& books) {
  KeptBytes bytes;
  for (const auto& [id, job] : books.jobs.all()) {
    if (job.has_ended()) {
      bytes.ended_jobs += ended_bytes_of(books.attempts, job);
    } else {
      bytes.unfinished_jobs += kept_bytes(job);
      bytes.histories += kept_bytes_of_history(job);
    }
  }
  for (const auto& [id, array] : books.arrays.all()) {
    bytes.unfinished_jobs +=
        array.has_ended() ? 0 : kept_bytes_of_job(array.spec, array.key, array.submitted_by);
  }
  for (const auto& [token, counted] : books.sizes.earlier_attempts()) {
    bytes.earlier_attempts += kept_bytes(books.attempts.all().at(token));
  }
  for (const auto& [job, record] : books.keys.all()) {
    bytes.client_keys += kept_bytes_of_key(record.key);
  }
  return bytes;
}

/// Whether the newest attempt of the job is over and its failure is not classed yet.
bool awaits_class(const AttemptBook& attempts, const Job& job) {
  return attempts.find(job.life.current) != nullptr && !attempts.is_live(job.life.current);
}

void check_job(const Books& books, const Job& job) {
  CHECK(job.life.state != JobState::kSuspended || job.life.current.is_none());
  CHECK(job.orders.order == JobOrder::kNone || !job.life.current.is_none());
  CHECK(!job.has_ended() || job.life.current.is_none());
  CHECK(job.life.current.is_none() || !job.life.wait.is_open());
  CHECK(job.spec.eligibility.is_none());
  CHECK(job.life.current.is_none() || books.attempts.find(job.life.current) != nullptr);
  CHECK(awaits_class(books.attempts, job) == books.attempts.unclassed().contains(job.life.current));
}

/// Mutants may break it: an attempt with the token of the one before counts once.
void check_kept(const Books& books) {
  std::size_t earlier = 0;
  for (const auto& [id, job] : books.jobs.all()) {
    for (std::size_t i = 0; i + 1 < job.life.attempt_tokens.size() && !job.has_ended(); ++i) {
      const bool is_counted = books.sizes.earlier_attempts().contains(job.life.attempt_tokens[i]);
      CHECK(is_counted || is_mutant_planted());
      earlier += is_counted ? 1 : 0;
    }
  }
  CHECK(earlier == books.sizes.earlier_attempts().size() || is_mutant_planted());
  CHECK(kept_of(books) == books.sizes.bytes() || is_mutant_planted());
}

/// Each victim lives, and each job waits.
void check_preemptions(const Books& books) {
  for (const auto& [id, preemption] : books.preemptions.all()) {
    const Job* const job = books.jobs.find(id);
    CHECK(job != nullptr);
    CHECK(job->is_pending());
    for (const Token& token : preemption.victims) {
      CHECK(books.attempts.is_live(token));
      CHECK(books.preemptions.of_victim(token) == &preemption);
    }
  }
}

}  // namespace

std::optional<GuaranteeBook> guaranteed_by(const Books& books,
                                           const std::map<Token, Cover>& covers) {
  GuaranteeBook::Claims claims;
  const auto claim = [&](const Token& token, const AttemptShare& share, std::uint64_t charge) {
    const auto cover = covers.find(token);
    if (charge != 0) {
      claims[token] = {books.queues.number_of(share.queue), share.pool, charge,
                       cover == covers.end() ? Cover() : cover->second};
    }
  };
  for (const Token& token : books.attempts.live()) {
    const Attempt& attempt = *books.attempts.find(token);
    for (const MemberRecord& record : attempt.members) {
      if (record.end == MemberEnd::kNone && record.charge == 0) {
        return std::nullopt;
      }
    }
    if (books.preemptions.of_victim(token) == nullptr) {
      claim(token, attempt.share, attempt.charge());
    }
  }
  for (const auto& [job, preemption] : books.preemptions.all()) {
    claim(preemption.token, preemption.share, preemption.charge);
  }
  return GuaranteeBook::of(books.queues, std::move(claims));
}

void derive(Books& books) {
  books.gpus = held_by(books.hosts, books.attempts);
  books.shares = shared_by(books);
  for (const auto& [id, job] : books.jobs.all()) {
    if (!job.has_ended()) {
      books.sizes.add_earlier(books.attempts, job);
    }
    if (awaits_class(books.attempts, job)) {
      books.attempts.await_class(job.life.current);
    }
  }
  for (auto job = books.jobs.all().lower_bound(kFirstTask); job != books.jobs.all().end(); ++job) {
    books.arrays.count(job->first, job->second.life.state);
  }
  books.waiting = waiting_of(books);
  books.eligibility = conditions_of(books);
  books.sizes.reset(kept_of(books));
}

void check_invariants(const Books& books) {
  books.jobs.check();
  books.keys.check();
  books.usage.check();
  books.audit.check();
  books.popularity.check();
  CHECK(books.attempts.live().size() <= books.attempts.all().size());
}

void check_everything(const Books& books) {
  check_invariants(books);
  books.jobs.check_everything();
  books.attempts.check();
  books.gpus.check();
  books.hosts.check();
  books.arrays.check(books.jobs.all());
  books.roll.check_invariants();
  CHECK(held_by(books.hosts, books.attempts) == books.gpus);
  CHECK(shared_by(books) == books.shares);
  check_preemptions(books);
  CHECK(guaranteed_by(books, covers_of(books.guarantees)) == books.guarantees);
  CHECK(waiting_of(books) == books.waiting || is_mutant_planted());
  CHECK(conditions_of(books) == books.eligibility);
  for (const auto& [id, job] : books.jobs.all()) {
    check_job(books, job);
  }
  check_kept(books);
}

}  // namespace muster::scheduler
