#pragma once
// Rules for an operator's orders about a host and its GPUs: fence, drain, undrain, remove, mask.
// Rules over the books. An order that is done already changes nothing but its reason; a refused one
// is rejected with a sentence for the operator.

#include <chrono>
#include <cstddef>

#include "scheduler/protocol/entry.h"
#include "scheduler/state/step.h"

namespace muster::scheduler {

/// Longer reasons are refused.
inline constexpr std::size_t kDrainWhyBytesMax = 1024;
/// Maximum of Drain::after.
inline constexpr Duration kDrainAfterMax = std::chrono::hours(24 * 365);

/// The host is off, or its ranks are gone: the shares that the order names are lost. Refused while
/// the host, or its agent, answers.
void on_fence(Step& step, const entry::Fence& fact);
/// The leader places nothing new there, and attempts there go on. A repeated drain replaces the
/// reason.
void on_drain(Step& step, const entry::Drain& fact);
void on_undrain(Step& step, const entry::Undrain& fact);
/// Refused for a host that lives, or that may still run something.
void on_remove_host(Step& step, const entry::RemoveHost& fact);
/// Takes a GPU out of use until its unmask; attempts that hold it go on. Refused for a GPU that the
/// host neither registered nor has masked. A repeated mask replaces the reason.
void on_gpu_order(Step& step, const entry::GpuOrder& fact);

}  // namespace muster::scheduler
