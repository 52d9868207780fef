#include "agent/step/self_description.h"

#include <string>
#include <utility>

#include "crdt/rows/codec.h"
#include "crdt/rows/host_state.h"
#include "crdt/rows/roll.h"
#include "gossip/base/version.h"

namespace muster::agent {

AgentIdentity identity_of(const NodeOptions& options) {
  return {options.self, options.start, options.boot_id, options.name};
}

Event start_event(const NodeOptions& options) {
  return {Severity::kInfo,
          "agent_started",
          {{"host", options.self.short_hex()},
           {"name", options.name},
           {"generation", std::to_string(options.start.generation.value())},
           {"listen", options.addresses.control.text()}}};
}

Inventory inventory_of(const NodeOptions& options) {
  const crdt::Capacity& capacity = options.hardware.capacity;
  Inventory inventory;
  inventory.has_namespaces = options.hardware.has_namespaces;
  inventory.are_watched = options.hardware.are_watched;
  inventory.traits = options.hardware.traits;
  inventory.gpu_type = capacity.gpu_type;
  inventory.cpus = capacity.cpus;
  inventory.memory_mb = capacity.memory_mb;
  // GPUs that are not healthy, too: the row tells that they take no new grants, and the grants that
  // they have stay valid.
  for (const crdt::Gpu& gpu : capacity.gpus) {
    inventory.gpus.push_back(gpu.uuid);
  }
  return inventory;
}

std::uint64_t founders_wanted(const NodeOptions& options) {
  for (const auto& [host, field] : options.credentials.records) {
    if (host == options.self) {
      return crdt::decode_roll(field.bytes).value_or(crdt::RollRecord()).founders;
    }
  }
  return 0;
}

scheduler::SeatOptions seat_options(const NodeOptions& options) {
  return {options.self, founders_wanted(options), options.tuning.compact_entries, options.unix_ms,
          options.credentials.verifier};
}

std::string own_row_question(HostId self) {
  crdt::RowsBody question;
  question.want.push_back(self);
  return crdt::encode(question);
}

std::set<std::string> unwell_gpus(const NodeOptions& options, const HostGpus& gpus) {
  std::set<std::string> uuids;
  for (const crdt::Gpu& gpu : options.hardware.capacity.gpus) {
    if (!gpus.is_well(gpu.uuid)) {
      uuids.insert(gpu.uuid);
    }
  }
  return uuids;
}

crdt::Publish capacity_field(const NodeOptions& options, const HostGpus& gpus,
                             const std::string& shortage) {
  crdt::Capacity capacity = options.hardware.capacity;
  for (crdt::Gpu& gpu : capacity.gpus) {
    gpu.healthy = gpu.healthy && gpus.is_well(gpu.uuid);
  }
  const HostHealthInfo host = gpus.host();
  capacity.cordoned = capacity.cordoned || host.is_cordoned;
  capacity.shortage = shortage.empty() ? host.why : shortage;
  return {crdt::FieldId::kCapacity, crdt::encode(capacity), false};
}

crdt::Publish identity_field(const NodeOptions& options, bool left) {
  crdt::Identity identity;
  identity.name = options.name;
  identity.control = options.addresses.control;
  identity.bulk = options.addresses.bulk;
  identity.start_id = options.start.start_id;
  identity.boot_id = options.boot_id;
  identity.rack = options.hardware.traits.rack;
  identity.version = kProductVersion;
  identity.left = left;
  identity.https = options.addresses.https;
  return {crdt::FieldId::kIdentity, crdt::encode(identity), true};
}

}  // namespace muster::agent
