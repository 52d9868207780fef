#pragma once
// The fence of one host: the highest token obeyed for each place of a GPU (rule 7). It is
// what makes a token mean something: a message with a lower one is refused here, at the host, so a
// leader that was replaced can do no harm.
//
// A place is (GPU uuid, slot). Slot 0 is the whole device and overlaps every slot of it; two
// different slots above 0 do not overlap. Records live in Environment::kId under "fence/".

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

/// True when both cannot be granted at once.
bool overlaps(const scheduler::GpuSlot& a, const scheduler::GpuSlot& b);
bool overlaps(const std::vector<scheduler::GpuSlot>& a, const std::vector<scheduler::GpuSlot>& b);

class Fence {
 public:
  Fence() = default;
  /// Records of other tables are skipped, records that do not decode are counted in damaged().
  explicit Fence(const crdt::Records& records);

  /// The highest token stored for any place that overlaps; none when there is no record.
  Token highest(const scheduler::GpuSlot& place) const;
  /// True when `token` is above every stored token that overlaps any of `places`.
  bool accepts(const std::vector<scheduler::GpuSlot>& places, Token token) const;
  /// False for a GPU without any record: it is offered to nobody before the quorum told the
  /// highest token granted on this host.
  bool knows(std::string_view uuid) const;

  /// Stores `token` for `place` and appends the write to `batch`; a lower one changes nothing.
  void raise(const scheduler::GpuSlot& place, Token token, crdt::WriteBatch& batch);

  std::size_t damaged() const { return damaged_; }
  std::size_t size() const { return tokens_.size(); }

 private:
  std::map<scheduler::GpuSlot, Token> tokens_;
  std::size_t damaged_ = 0;
};

}  // namespace muster::agent
