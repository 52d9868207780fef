#pragma once
// The durable counter of an agent's starts. The edge makes the new generation durable before it
// makes the Node. Therefore one disk never uses a generation twice.

#include <string_view>

#include "crdt/disk/write_batch.h"
#include "gossip/base/ids.h"

namespace muster::agent {

inline constexpr std::string_view kGenerationKey = "generation";

struct StartRecord {
  AgentStart start;
  crdt::WriteBatch writes;  ///< For Environment::kId; durable before the agent sends a message.
};

/// The start after the recorded one. `at_least` is the generation that peers ask of a restored
/// disk.
StartRecord next_start(const crdt::Records& id_records, StartId random,
                       Generation at_least = Generation());

}  // namespace muster::agent
