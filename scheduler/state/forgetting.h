#pragma once
// What of the state is forgotten, and when: by number, by time, and by bytes (kept_bytes.h). Rules
// over the books. All voters forget the same at the same entry, so the order is part of the state:
// the oldest always go first.

#include <cstddef>

#include "scheduler/state/books.h"
#include "scheduler/state/step.h"

namespace muster::scheduler {

/// The job was just added. Its key is remembered; the oldest keys make room for it.
void keep_submitted(Step& step, const Job& job);
/// The client's key was answered with this number.
void keep_key(Step& step, const std::string& key, JobId job);
/// Keys older than kClientKeyLife.
void forget_old_keys(Books& books);

/// `token` is the job's newest attempt from here on; the oldest attempts make room for it.
void note_attempt(Books& books, Job& job, const Token& token);
/// An attempt that is not live goes as if it had never been, from the list of its job, too. Nothing
/// if it is unknown.
void forget_unsure(Books& books, const Token& token);

/// The job has just ended. The first that ended make room for it, but never it itself: whoever
/// ended it is not done with it.
void keep_ended(Books& books, const Job& job);

}  // namespace muster::scheduler
