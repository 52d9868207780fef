#pragma once
// Rules for an operator's orders about a job. The table of job_life.h answers an order, and these
// rules carry out the answer. An order that is done already changes nothing; a refused one is
// rejected with a sentence for the operator.

#include "scheduler/protocol/entry.h"
#include "scheduler/state/step.h"

namespace muster::scheduler {

void on_cancel(Step& step, const entry::Cancel& fact);
void on_suspend(Step& step, const entry::Suspend& fact);
void on_resume(Step& step, const entry::Resume& fact);
void on_requeue(Step& step, const entry::Requeue& fact);
/// Changes the job's place in the queue. Refused if the job does not wait.
void on_edit(Step& step, const entry::Edit& fact);

}  // namespace muster::scheduler
