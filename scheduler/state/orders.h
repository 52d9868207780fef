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
/// Changes the place of a job that waits, and the time limit of a job that has not ended. Queue and
/// tier are checked as those of a Submit, but operators put a job also where its user is no member.
/// kConflict: the job has an attempt, and more than its time limit would change; or it has ended.
/// kInvalid, too: the new limit is over already. Of an array it changes the tasks to come, those
/// that wait, and the time limit of those that run; if one of them refuses, all stay as they are.
void on_edit(Step& step, const entry::Edit& fact);

}  // namespace muster::scheduler
