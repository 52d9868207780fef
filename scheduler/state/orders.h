#pragma once
// What an operator says of a job or of a host: the table of job_life.h answers it, and the rules
// here do what it says. A word that is done already changes nothing; one that is refused is
// rejected with a sentence for the operator.

#include "scheduler/protocol/entry.h"
#include "scheduler/state/step.h"

namespace muster::scheduler {

void on_cancel(Step& step, const entry::Cancel& fact);
void on_suspend(Step& step, const entry::Suspend& fact);
void on_resume(Step& step, const entry::Resume& fact);
void on_requeue(Step& step, const entry::Requeue& fact);
/// The host is off: whatever it held is lost. Refused while it answers.
void on_fence(Step& step, const entry::Fence& fact);

}  // namespace muster::scheduler
