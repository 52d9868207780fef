#pragma once
// Makes a voter apply another entry than the others do.

#include <optional>
#include <string_view>

#include "scheduler/raft/codec.h"
#include "tests/sim/disk.h"

namespace muster::sim {

/// The records of raft/ on that disk, but for one letter: the first one of `text` in the last entry
/// with it. Index and term of the entry are as they should be: only the state that it leads to is
/// wrong, as by a fault of memory or program. nullopt if no entry has the text.
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
