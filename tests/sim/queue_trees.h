#pragma once
// The trees of queues that a swarm with floods is under: up to ten queues on three levels, with
// weights, guarantees, limits, tiers and members, at random or as the last one.

#include <array>
#include <string_view>

#include "gossip/base/rng.h"
#include "scheduler/protocol/queues.h"

namespace muster::sim {

/// Leaves of last_wide_tree(); some random trees have no such queue, or queues below it.
inline constexpr std::array<std::string_view, 7> kWideLeaves = {
    "batch", "lab/one", "lab/two", "org/a", "org/b/x", "org/b/y", "prod"};
/// The leaf of gangs: each tree has it, and the last one no limit there.
inline constexpr std::string_view kGangQueue = "prod";
/// GPUs of the largest job elsewhere that the last tree lets start, however it counts.
inline constexpr std::uint32_t kWideGpusMax = 16;

/// It is valid.
scheduler::QueueTree some_wide_tree(Rng& rng);
/// Everybody may use all of its leaves for all tiers.
scheduler::QueueTree last_wide_tree();

}  // namespace muster::sim
