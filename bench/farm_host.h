#pragma once
// A host of the lease farm, and the row that it publishes. The same in every run.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "agent/edge/disk/host_key.h"
#include "agent/gang/gang_agent.h"
#include "crdt/rows/codec.h"
#include "gossip/base/ids.h"
#include "gossip/edge/link_keys.h"
#include "gossip/wire/endpoint.h"

namespace muster::bench {

/// Sequence number of the last field of its row.
inline constexpr std::uint64_t kFarmRowSequence = 3;

struct FarmHost {
  std::shared_ptr<const agent::HostKey> key;
  gossip::LinkKeys link_keys{};
  HostId id;  ///< Hash of the key.
  AgentStart start;
  std::string name;
  gossip::Endpoint control;  ///< An address of its own in 127.0.0.0/8.
  std::vector<std::string> gpus;
};

agent::HostKey farm_key(std::size_t index);
std::string farm_name(std::size_t index);
FarmHost farm_host(std::size_t index, std::uint16_t port, std::size_t gpus);
/// The signed row of the host; `record`: its record of the roll.
crdt::RowOf row_of(const FarmHost& host, const std::string& rack,
                   const std::vector<HostId>& observers, crdt::Field record);
/// The record of the roll of a host that may not vote, signed with the authority's secret.
crdt::Field record_of(const FarmHost& host, std::uint64_t authority, std::uint64_t edition,
                      const gossip::Signer& secret);

}  // namespace muster::bench
