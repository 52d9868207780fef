#pragma once
// Tickets are made and ended, hosts enrolled, and keys replaced. Rules over the books; what is
// refused is rejected with a sentence for whoever asked.

#include "scheduler/protocol/roll_entries.h"
#include "scheduler/state/step.h"

namespace muster::scheduler {

void on_make_ticket(Step& step, const entry::MakeTicket& fact);
void on_end_ticket(Step& step, const entry::EndTicket& fact);
/// A host that the ticket has let in already is answered as the first time, for nothing.
void on_enrol(Step& step, const entry::Enrol& fact);
/// A round that was wished for already is wished for no more.
void on_rotate_keys(Step& step, const entry::RotateKeys& fact);
/// Of two that follow one authority the first in the log counts.
void on_replace_authority(Step& step, const entry::ReplaceAuthority& fact);

}  // namespace muster::scheduler
