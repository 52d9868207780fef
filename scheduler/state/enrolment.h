#pragma once
// The rules for entries about the roll: they make and end tickets, enrol hosts and replace keys.
// Rules over the books; a refused entry is rejected with a sentence for the person that asked.

#include "scheduler/protocol/roll_entries.h"
#include "scheduler/state/step.h"

namespace muster::scheduler {

void on_make_ticket(Step& step, const entry::MakeTicket& fact);
void on_end_ticket(Step& step, const entry::EndTicket& fact);
/// A host that the ticket has let in already gets the same answer again; that takes no use.
void on_enrol(Step& step, const entry::Enrol& fact);
/// Does nothing if the round was requested already.
void on_rotate_keys(Step& step, const entry::RotateKeys& fact);
/// If two entries follow the same authority, the first in the log counts.
void on_replace_authority(Step& step, const entry::ReplaceAuthority& fact);

}  // namespace muster::scheduler
