#pragma once
// What an operator says of a host: that it is off, that it shall get nothing new, that it is gone
// for good. Rules over the books. A word that is done already changes nothing but its reason; one
// that is refused is rejected with a sentence for the operator.

#include <chrono>
#include <cstddef>

#include "scheduler/protocol/entry.h"
#include "scheduler/state/step.h"

namespace muster::scheduler {

/// Longer reasons are refused.
inline constexpr std::size_t kDrainWhyBytesMax = 1024;
/// A drain that queues again what is left does so within this time.
inline constexpr Duration kDrainAfterMax = std::chrono::hours(24 * 365);

/// The host is off, or its ranks are gone: what the word is about is lost. Refused while it
/// answers.
void on_fence(Step& step, const entry::Fence& fact);
/// Nothing new is placed there, and what runs there goes on. Said again: the newer reason counts.
void on_drain(Step& step, const entry::Drain& fact);
void on_undrain(Step& step, const entry::Undrain& fact);
/// Refused of a host that lives, or that may still run something.
void on_remove_host(Step& step, const entry::RemoveHost& fact);

}  // namespace muster::scheduler
