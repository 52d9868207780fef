#pragma once
// A host that registers, and what is observed of one that did: what follows for its attempts. Rules
// over the books; HostBook says which registrations are refused.

#include "scheduler/protocol/entry.h"
#include "scheduler/state/step.h"

namespace muster::scheduler {

/// Under a new pair what the host held ends, but for what its agent lists.
void on_register(Step& step, const entry::Register& fact);
/// What was silent may be replaceable now, or a failure a lost host's.
void on_observe(Step& step, const entry::Observe& fact);

}  // namespace muster::scheduler
