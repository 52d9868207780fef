#pragma once
// What an operator says of a job: the table of job_life.h answers it, and the rules here do what it
// says. A word that is done already changes nothing; one that is refused is
// rejected with a sentence for the operator.

#include "scheduler/protocol/entry.h"
#include "scheduler/state/step.h"

namespace muster::scheduler {

void on_cancel(Step& step, const entry::Cancel& fact);
void on_suspend(Step& step, const entry::Suspend& fact);
void on_resume(Step& step, const entry::Resume& fact);
void on_requeue(Step& step, const entry::Requeue& fact);
/// The job's place in the queue. Refused of one that does not wait.
void on_edit(Step& step, const entry::Edit& fact);

}  // namespace muster::scheduler
