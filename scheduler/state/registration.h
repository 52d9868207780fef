#pragma once
// Rules for the registration of a host and for observations of it: they decide what follows for its
// attempts. Rules over the books; HostBook says which registrations are refused.

#include "scheduler/protocol/entry.h"
#include "scheduler/state/step.h"

namespace muster::scheduler {

/// Under a new pair, the shares on the host end, except those that its agent lists.
void on_register(Step& step, const entry::Register& fact);
/// An attempt with a silent host may be replaceable now, or a failure may be due to a lost host.
void on_observe(Step& step, const entry::Observe& fact);

}  // namespace muster::scheduler
