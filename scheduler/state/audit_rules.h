#pragma once
// The line of the audit that an entry leaves: every entry that a person ordered has one, whether it
// was done, refused or denied. And the rule for the batches of refusals that hosts report. Rules
// without fields.

#include <optional>

#include "scheduler/protocol/entry.h"
#include "scheduler/state/step.h"

namespace muster::scheduler {

/// The line without its outcome; nullopt if no person ordered the entry. `books`: before it is
/// applied.
std::optional<AuditLine> audited(const Books& books, const Entry& entry);
/// Adds the line, once the entry was applied.
void add_to_audit(Step& step, AuditLine line);
void on_note_requests(Step& step, const entry::NoteRequests& fact);

}  // namespace muster::scheduler
