#pragma once
// A Decide of the log: a gang gets GPUs, all or nothing, and an attempt of its job holds them from
// then on. Rules over the books.

#include <string>

#include "scheduler/protocol/entry.h"
#include "scheduler/state/step.h"

namespace muster::scheduler {

/// Why the log would reject that decision; "" = it would not.
std::string why_not(const Books& books, const entry::Decide& fact);
/// Checked anew: what the leader saw when it decided may have changed before this entry.
/// Takes its members.
void on_decide(Step& step, entry::Decide& fact);
/// The job, which is queued, is scheduled as this attempt, whose members that are not over hold
/// their GPUs from here on; nobody else does.
void bind(Step& step, Job& owner, Attempt attempt);

}  // namespace muster::scheduler
