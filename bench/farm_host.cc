#include "bench/farm_host.h"

#include <cstdio>
#include <utility>

#include "crdt/rows/proof.h"
#include "crdt/rows/roll.h"
#include "gossip/base/version.h"

namespace muster::bench {
namespace {

constexpr Generation kGeneration{1};

gossip::Endpoint address_of(std::size_t index, std::uint16_t port) {
  return gossip::Endpoint::ipv4(127, static_cast<std::uint8_t>(64 + (index >> 16)),
                                static_cast<std::uint8_t>(index >> 8 & 0xff),
                                static_cast<std::uint8_t>(index & 0xff), port);
}

static_assert(gossip::kLinkSeedBytes == agent::HostKey::kSeedBytes);

std::string seed_of(std::size_t index, char purpose) {
  std::string seed(gossip::kLinkSeedBytes, purpose);
  for (std::size_t i = 0; i < sizeof index; ++i) {
    seed[i] = static_cast<char>(index >> (8 * i));
  }
  return seed;
}

}  // namespace

agent::HostKey farm_key(std::size_t index) {
  return agent::HostKey::from_seed(seed_of(index, 's'));
}

std::string farm_name(std::size_t index) {
  char text[64];
  std::snprintf(text, sizeof text, "sim-%05zu", index);
  return text;
}

FarmHost farm_host(std::size_t index, std::uint16_t port, std::size_t gpus) {
  FarmHost host;
  char text[64];
  host.name = farm_name(index);
  host.key = std::make_shared<agent::HostKey>(farm_key(index));
  host.link_keys = gossip::LinkKeys::from_seed(seed_of(index, 'l'));
  host.id = host.key->host_id();
  host.start = {kGeneration, StartId(index + 1)};
  host.control = address_of(index, port);
  for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
    std::snprintf(text, sizeof text, "GPU-%024zx%08zx", index, gpu);
    host.gpus.emplace_back(text);
  }
  return host;
}

crdt::RowOf row_of(const FarmHost& host, const std::string& rack,
                   const std::vector<HostId>& observers, crdt::Field record) {
  crdt::Identity identity;
  identity.name = host.name;
  identity.control = host.control;
  identity.bulk = host.control;
  identity.start_id = host.start.start_id;
  identity.boot_id = "boot-" + host.name;
  identity.rack = rack;
  identity.version = kProductVersion;
  crdt::Capacity capacity;
  capacity.gpu_type = "H100";
  capacity.cpus = 64;
  capacity.memory_mb = 1U << 20U;
  for (const std::string& uuid : host.gpus) {
    capacity.gpus.push_back({uuid, true});
  }
  crdt::RowOf row{host.id, {kGeneration, {}}};
  const auto put = [&](crdt::FieldId field, std::uint64_t sequence, std::string bytes) {
    row.row.fields[static_cast<std::uint32_t>(field)] = {{kGeneration, Sequence(sequence)},
                                                         std::move(bytes)};
  };
  put(crdt::FieldId::kCapacity, 1, crdt::encode(capacity));
  put(crdt::FieldId::kIdentity, 2, crdt::encode(identity));
  put(crdt::FieldId::kObservers, kFarmRowSequence, crdt::encode_observers(observers));
  std::vector<std::uint32_t> fields;
  for (const auto& [id, field] : row.row.fields) {
    fields.push_back(id);
  }
  crdt::sign_together(host.id, fields, row.row, *host.key);
  row.row.fields[static_cast<std::uint32_t>(crdt::FieldId::kRoll)] = std::move(record);
  return row;
}

crdt::Field record_of(const FarmHost& host, std::uint64_t authority, std::uint64_t edition,
                      const gossip::Signer& secret) {
  crdt::RollRecord record;
  record.identity_key = std::string(host.key->public_key());
  record.link_key = host.link_keys.public_key;
  return crdt::signed_roll(host.id, {Generation(authority), Sequence(edition)}, record, secret);
}

}  // namespace muster::bench
