#pragma once
// The lines that tell two trees of queues apart, as `muster queue import` prints them. Pure.

#include <string>
#include <string_view>
#include <vector>

#include "scheduler/protocol/queues.h"

namespace muster::agent {

/// "queue nlp: weight 4 (was 1); max 64 H100 (was none)". Empty if the trees are equal.
std::vector<std::string> queue_changes(const scheduler::QueueTree& now,
                                       const scheduler::QueueTree& next);
/// Is it `path`, or below it?
bool is_within_queue(std::string_view each, std::string_view path);

}  // namespace muster::agent
