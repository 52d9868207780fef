#pragma once
// The durable counter of an agent's starts. The edge makes the new generation durable before the
// Node exists, so that no generation is ever used twice by one disk.

#include <string_view>

#include "crdt/disk/write_batch.h"
#include "gossip/base/ids.h"

namespace muster::agent {

inline constexpr std::string_view kGenerationKey = "generation";

struct StartRecord {
  AgentStart start;
  crdt::WriteBatch writes;  ///< For Environment::kId, to be synced before anything is sent.
};

/// The start after the recorded one. `at_least` is what peers asked a restored disk to raise to.
StartRecord next_start(const crdt::Records& id_records, StartId random,
                       Generation at_least = Generation());

}  // namespace muster::agent
