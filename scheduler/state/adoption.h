#pragma once
// Adoption: recovery after a quorum was lost. Its log may have held entries beyond ours, and agents
// may have carried them out. No running attempt is ended for that: each host reports its attempts,
// and the log adopts those that it does not know. Rules over the books; Epochs lists the doubts.

#include <cstdint>

#include "scheduler/protocol/entry.h"
#include "scheduler/state/step.h"

namespace muster::scheduler {

enum class Adoption : std::uint8_t {
  kNow,    ///< The log would accept an Adopt of it.
  kLater,  ///< First some host must report what it runs, or an older attempt must end.
  kNever,  ///< It must end: its job went on without it, or it is not a valid attempt.
};

/// Whether the log of an earlier epoch may have started this attempt, unknown to this log.
bool may_be_adopted(const Books& books, const Token& token);
/// Precondition: may_be_adopted(fact.token).
Adoption adoption(const Books& books, const entry::Adopt& fact);

/// The epoch `counter` begins, after a log that is sure up to `committed` (<= applied) only. Every
/// host has to register again. Attempts not known to have started are aborted, and in doubt.
void begin_epoch(Books& books, std::uint64_t counter, LogIndex committed);
void on_adopt(Step& step, const entry::Adopt& fact);

}  // namespace muster::scheduler
