#pragma once
// Fence holds the highest token that this host has obeyed for each place of a GPU (rule 7). It
// gives tokens their force: the host refuses a message with a lower token, so that a replaced
// leader can do no harm. Owned by GangAgent.
//
// A place is (GPU uuid, slot). Slot 0 is the whole device and overlaps every slot of it. Two
// different slots above 0 do not overlap. Records lie in Environment::kId under "fence/".

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crdt/disk/write_batch.h"
#include "scheduler/protocol/agent_messages.h"

namespace muster::agent {

inline constexpr std::string_view kFenceTable = "fence/";
/// The place of grants without GPUs. No uuid looks like it.
inline constexpr std::string_view kNoGpu = "no gpu";

/// True if both cannot be granted at once.
bool overlaps(const scheduler::GpuSlot& a, const scheduler::GpuSlot& b);
bool overlaps(const std::vector<scheduler::GpuSlot>& a, const std::vector<scheduler::GpuSlot>& b);

class Fence {
 public:
  Fence() = default;
  /// Skips records of other tables. Counts records that do not decode in damaged().
  explicit Fence(const crdt::Records& records);

  /// The highest token stored for any place that overlaps `place`; the zero token if there is no
  /// record.
  Token highest(const scheduler::GpuSlot& place) const;
  /// True if `token` is above every stored token of a place that overlaps one of `places`.
  bool accepts(const std::vector<scheduler::GpuSlot>& places, Token token) const;
  /// False for a GPU without any record: the host does not offer it before the quorum has told the
  /// highest token granted on this host.
  bool knows(std::string_view uuid) const;

  /// Stores `token` for `place` and appends the write to `batch`. A lower token changes nothing.
  void raise(const scheduler::GpuSlot& place, Token token, crdt::WriteBatch& batch);

  std::size_t damaged() const { return damaged_; }
  std::size_t size() const { return tokens_.size(); }

 private:
  std::map<scheduler::GpuSlot, Token> tokens_;
  std::size_t damaged_ = 0;
};

}  // namespace muster::agent
