#pragma once
// Rules for the entries about one attempt. transition() says what a fact does to the attempt
// (reservations.h); these rules keep grants, jobs and the list of attempts in step with it.

#include "scheduler/protocol/entry.h"
#include "scheduler/state/step.h"

namespace muster::scheduler {

/// Feeds one fact to an attempt, frees the GPUs of members that are over by it, and settles what it
/// means for the job. Forgets an attempt that is ENDED and that its job does not list. Does nothing
/// for an unknown attempt: it ended long ago.
Outcome feed(Step& step, const Token& token, const Fact& fact);

void on_ready(Step& step, const entry::Ready& fact);
void on_start(Step& step, const entry::Start& fact);
void on_stop(Step& step, const entry::Stop& fact);
void on_finish(Step& step, const entry::Finish& fact);
void on_abort(Step& step, const entry::Abort& fact);
void on_condemn(Step& step, const entry::Condemn& fact);
void on_pardon(Step& step, const entry::Pardon& fact);
void on_expire(Step& step, const entry::Expire& fact);

}  // namespace muster::scheduler
