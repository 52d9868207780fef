#pragma once
// Going on where a quorum was lost: what its log held beyond ours is not known, and may have been
// carried out. Nothing that runs is ended for that; each host says what it runs, and attempts that
// this log does not know are adopted. Rules over the books; Epochs says what is in doubt.

#include <cstdint>

#include "scheduler/protocol/entry.h"
#include "scheduler/state/step.h"

namespace muster::scheduler {

enum class Adoption : std::uint8_t {
  kNow,    ///< An Adopt of it would count.
  kLater,  ///< Some host has to say first what it runs, or an older attempt to end.
  kNever,  ///< Its job went on without it, or it is none: it must end.
};

/// The log of an earlier epoch may have started this attempt, and this log does not know.
bool may_be_adopted(const Books& books, const Token& token);
/// Precondition: may_be_adopted(fact.token).
Adoption adoption(const Books& books, const entry::Adopt& fact);

/// The epoch of `counter` begins, after a log of which only `committed` (<= applied) is sure. Every
/// host has to register anew; what is not known to have started is aborted, and in doubt.
void begin_epoch(Books& books, std::uint64_t counter, LogIndex committed);
void on_adopt(Step& step, const entry::Adopt& fact);

}  // namespace muster::scheduler
