#pragma once
// What a host of the lease farm is, and the row that it publishes. The same in every run.

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

/// Of the last field of its row.
inline constexpr std::uint64_t kFarmRowSequence = 3;

struct FarmHost {
  std::shared_ptr<const agent::HostKey> key;
  gossip::LinkKeys link_keys{};
  HostId id;  ///< Of the key.
  AgentStart start;
  std::string name;
  gossip::Endpoint control;  ///< An address of its own in 127.0.0.0/8.
  std::vector<std::string> gpus;
};

agent::HostKey farm_key(std::size_t index);
std::string farm_name(std::size_t index);
FarmHost farm_host(std::size_t index, std::uint16_t port, std::size_t gpus);
/// Signed; `record`: what the roll says of it.
crdt::RowOf row_of(const FarmHost& host, const std::string& rack,
                   const std::vector<HostId>& observers, crdt::Field record);
/// That it is a member, which may not vote, as the authority says by its secret.
crdt::Field record_of(const FarmHost& host, std::uint64_t authority, std::uint64_t edition,
                      const gossip::Signer& secret);

}  // namespace muster::bench
