#pragma once
// The rules for a Decide: a gang gets GPUs, all or nothing, and an attempt of its job holds them
// from then on. Rules over the books.

#include <string>

#include "scheduler/protocol/entry.h"
#include "scheduler/state/step.h"

namespace muster::scheduler {

/// Why the log would reject that decision; "" = it would not.
std::string why_not(const Books& books, const entry::Decide& fact);
/// Checks the decision again: the state may have changed between the leader's decision and this
/// entry. Moves the members out of `fact`.
void on_decide(Step& step, entry::Decide& fact);
/// Schedules the queued job `owner` as this attempt. The members of the attempt that are not over
/// hold their GPUs from here on. Precondition: no other attempt holds one of them.
void bind(Step& step, Job& owner, Attempt attempt);

}  // namespace muster::scheduler
