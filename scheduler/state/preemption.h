#pragma once
// The rules for a Preempt: attempts give way to a job that waits, all of them or none. The log
// checks the whole set again: each victim is taken by rule (preemption_rules.h), its protection is
// over, all of its hosts are reachable, and without the victims the job fits where the leader said.
//
// From that entry on what the victims leave is kept for the job: a Decide of another job may not
// have it (decision.h). The victims claim no guarantee any more, and the job claims in their place,
// so that nobody else becomes guaranteed in between. A RESERVED victim is aborted at once; the
// leader logs Stop for the others. The preemption ends when the job is decided, there or elsewhere;
// when it is cancelled, suspended, edited or moved; when the tree of queues changes; with its time;
// and with the epoch. Victims that were not stopped by then go on. Rules over the books.

#include <string>

#include "scheduler/protocol/preempt.h"
#include "scheduler/state/step.h"

namespace muster::scheduler {

/// A preemption ends so long after its last victim should have been gone.
inline constexpr Duration kPreemptionMargin = std::chrono::seconds(10);

/// Why the log would reject it; "" = it would not.
std::string why_not(const Books& books, const entry::Preempt& fact);
void on_preempt(Step& step, entry::Preempt& fact);
/// Ends preemptions whose job moved, and forgets victims that are over: after the rule of an entry.
void settle_preemptions(Step& step);
/// Ends the preemptions that their job could not use in time.
void end_old_preemptions(Step& step);
/// Ends all of them.
void end_preemptions(Step& step);
/// The job is decided: its attempt claims in the place of its preemption. Precondition: it has one.
void claim_preempted(Step& step, const Attempt& attempt);

}  // namespace muster::scheduler
