#include "agent/gang/fence.h"

#include <algorithm>

#include "gossip/wire/wire.h"
#include "scheduler/protocol/mutants.h"

namespace muster::agent {
namespace {

using scheduler::GpuSlot;

std::string key_of(const GpuSlot& place) {
  return crdt::key_of(std::string(kFenceTable) + place.uuid.text() + "/", place.slot);
}

std::string encode(const GpuSlot& place, Token token) {
  gossip::Encoder out;
  out.map(3).u64(1).text(place.uuid).u64(2).u64(place.slot);
  out.u64(3).raw(gossip::Encoder().array(2).token(token).take());
  return out.take();
}

struct Record {
  GpuSlot place;
  Token token;
};

std::optional<Record> decode(const std::string& bytes) {
  Result<gossip::Document> document = gossip::Document::parse(bytes);
  if (!document) {
    return std::nullopt;
  }
  gossip::Reader in = document->root();
  Record record;
  while (in.ok() && in.left() > 0) {
    const std::uint64_t key = in.u64();
    if (key == 1) {
      record.place.uuid = in.text(scheduler::kUuidBytesMax);
    } else if (key == 2) {
      record.place.slot = static_cast<std::uint32_t>(in.u64_at_most(UINT32_MAX));
    } else if (key == 3) {
      record.token = in.array().token();
    } else {
      in.raw();
    }
  }
  if (!in.ok() || record.place.uuid.empty()) {
    return std::nullopt;
  }
  return record;
}

}  // namespace

bool overlaps(const GpuSlot& a, const GpuSlot& b) {
  if (mutant(scheduler::SchedulerMutant::kFenceWithoutSlots)) {
    return a == b;
  }
  return a.uuid == b.uuid && (a.slot == b.slot || a.slot == 0 || b.slot == 0);
}

bool overlaps(const std::vector<GpuSlot>& a, const std::vector<GpuSlot>& b) {
  return std::any_of(a.begin(), a.end(), [&](const GpuSlot& one) {
    return std::any_of(b.begin(), b.end(),
                       [&](const GpuSlot& other) { return overlaps(one, other); });
  });
}

Fence::Fence(const crdt::Records& records) {
  for (auto it = records.lower_bound(std::string(kFenceTable));
       it != records.end() && it->first.starts_with(kFenceTable); ++it) {
    const std::optional<Record> record = decode(it->second);
    if (record.has_value()) {
      tokens_[record->place] = record->token;
    } else {
      ++damaged_;
    }
  }
}

Token Fence::highest(const GpuSlot& place) const {
  Token highest;
  for (auto it = tokens_.lower_bound({place.uuid, 0});
       it != tokens_.end() && it->first.uuid == place.uuid; ++it) {
    if (overlaps(it->first, place)) {
      highest = std::max(highest, it->second);
    }
  }
  return highest;
}

bool Fence::accepts(const std::vector<GpuSlot>& places, Token token) const {
  return std::all_of(places.begin(), places.end(),
                     [&](const GpuSlot& place) { return token > highest(place); });
}

bool Fence::knows(std::string_view uuid) const {
  const auto it = tokens_.lower_bound({uuid, 0});
  return it != tokens_.end() && it->first.uuid.view() == uuid;
}

void Fence::raise(const GpuSlot& place, Token token, crdt::WriteBatch& batch) {
  const auto [it, is_new] = tokens_.try_emplace(place, token);
  if (!is_new && token <= it->second) {
    return;
  }
  it->second = token;
  batch.push_back({key_of(place), encode(place, token)});
}

}  // namespace muster::agent
