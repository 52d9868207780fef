#pragma once
// Rules that forget parts of the state, by number, by time, and by bytes (kept_bytes.h). Rules over
// the books. All voters forget the same at the same entry, so the order is part of the state: the
// oldest always go first.

#include <cstddef>

#include "scheduler/state/books.h"
#include "scheduler/state/step.h"

namespace muster::scheduler {

/// Remembers the key of a job that was just added, and counts the job.
void keep_submitted(Step& step, const Job& job);
/// Remembers that the client's key was answered with this job; forgets the oldest keys for it.
void keep_key(Step& step, const std::string& key, JobId job);
/// Forgets keys older than kClientKeyLife.
void forget_old_keys(Books& books);

/// Makes `token` the newest attempt of the job; forgets the oldest attempts for it.
void note_attempt(Books& books, Job& job, const Token& token);
/// Forgets an attempt that is not live as if it had never been, also in the list of its job. Does
/// nothing if it is unknown.
void forget_unsure(Books& books, const Token& token);

/// The job has just ended. Forgets the jobs that ended first, but never this one: the caller still
/// uses it.
void keep_ended(Books& books, const Job& job);

}  // namespace muster::scheduler
