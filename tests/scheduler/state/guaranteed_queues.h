#pragma once
// Queues with guarantees, and tokens, in few words.

#include <cstdint>
#include <string>
#include <utility>

#include "gossip/base/ids.h"
#include "scheduler/protocol/queues.h"

namespace muster::scheduler::testing {

/// Amounts are in thousandths of this.
inline constexpr std::uint64_t kOne = 1000;

inline QueueNode queue_of(std::string path, QueueAmounts guaranteed = {}) {
  QueueNode node;
  node.path = std::move(path);
  node.guaranteed = std::move(guaranteed);
  return node;
}

inline Token token_of(std::uint64_t index) {
  return {1, index};
}

}  // namespace muster::scheduler::testing
