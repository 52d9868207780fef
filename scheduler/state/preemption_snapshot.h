#pragma once
// Preemptions in a snapshot, a document each.

#include <cstddef>
#include <vector>

#include "gossip/wire/wire.h"
#include "scheduler/state/books.h"

namespace muster::scheduler {

/// Number of elements behind the section.
inline constexpr std::size_t kPreemptionElements = 12;
/// `cover`: where the claim of its job is covered.
void write_preemption(gossip::Encoder& out, const Preemption& preemption, Cover cover);
Preemption read_preemption(gossip::Reader& in, Cover& cover);
/// Whether jobs and attempts of the books can have these preemptions.
bool are_sound(const Books& books, const std::vector<Preemption>& preemptions);

}  // namespace muster::scheduler
