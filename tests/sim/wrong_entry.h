#pragma once
// A voter that applies something else than the others.

#include <optional>
#include <string_view>

#include "scheduler/raft/codec.h"
#include "tests/sim/disk.h"

namespace muster::sim {

/// What raft/ of that disk holds, but for one letter: where the last entry with this text has it.
/// Index and term of the entry are as they should be: only what it adds up to is wrong, as it would
/// be by a fault of memory or program. Nothing: no entry has it.
inline std::optional<crdt::WriteBatch> with_wrong_entry(const Disk& disk, std::string_view text) {
  crdt::WriteBatch records;
  std::optional<std::size_t> last;
  for (const auto& [key, value] : disk.read(crdt::Environment::kRaft)) {
    if (key.starts_with(scheduler::kLogTable) && value.find(text) != std::string::npos) {
      last = records.size();
    }
    records.push_back({key, value});
  }
  if (!last.has_value()) {
    return std::nullopt;
  }
  std::string& wrong = *records[*last].value;
  ++wrong[wrong.find(text)];
  return records;
}

}  // namespace muster::sim
