#pragma once
// Who holds which GPUs, and how much else of each host, as the log has it. Owned by Books; pure. It
// follows from the attempts: of each that is not ENDED, the members whose share is not over, and
// nobody else, hold their GPUs. GPUs have dense numbers here, so that who asks about a host looks
// up no names; the numbers are this book's own: never logged, never sent.
//
// Invariants: a (GPU uuid, slot) is held by at most one member, and by none that overlaps it (slot
// 0 is the whole device), as long as nobody takes what is_free_at() denies; a GPU has a number
// exactly while some host offers it or somebody holds it.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gossip/base/indexed_map.h"
#include "scheduler/protocol/agent_messages.h"
#include "scheduler/state/job_record.h"

namespace muster::scheduler {

enum class GpuNumber : std::uint32_t {};
constexpr std::uint32_t index_of(GpuNumber number) {
  return static_cast<std::uint32_t>(number);
}

/// Who holds one slot of one GPU.
struct SlotHolder {
  Token token;
  HostId host;
  bool operator==(const SlotHolder&) const = default;
};
using SlotHolders = std::map<std::uint32_t, SlotHolder>;

/// uuid -> slot -> holder.
using GpuHolders = std::map<std::string, SlotHolders>;

/// An agent keeps some more: those that ended, until that is known.
inline constexpr std::uint32_t kHostGrantsMax = 192;

/// What attempts hold of a host beside GPUs.
struct HeldAmounts {
  std::uint32_t members = 0;
  std::uint64_t cpus = 0;  ///< Thousandths.
  std::uint64_t memory_mb = 0;
  bool operator==(const HeldAmounts&) const = default;
};

/// What of a host is offered, and what of it is held.
struct HostHoldings {
  std::vector<GpuNumber> gpus;  ///< Of the host, in its agent's order.
  std::vector<Token> tokens;    ///< Attempts that hold something of it, the lowest first.
  HeldAmounts amounts;
};

class GpuBook {
 public:
  /// The host offers these GPUs from here on, and no others.
  void offer(const HostId& host, const std::vector<std::string>& uuids);

  const HostHoldings& on(const HostId& host) const;
  bool is_held(GpuNumber gpu) const { return cells_[index_of(gpu)].is_held(); }
  /// Nothing: no host offers it, and nobody holds it.
  std::optional<GpuNumber> number_of(std::string_view uuid) const;
  /// Numbers are below it.
  std::size_t bound() const { return cells_.size(); }
  /// Somebody that is none of these holds it.
  bool is_held_beside(GpuNumber gpu, const std::set<Token>& tokens) const;
  /// Who holds it; empty = nobody.
  SlotHolders holders_of(std::string_view uuid) const;
  /// All of them, in O(GPUs): for tests.
  GpuHolders holders() const;
  /// GPUs of `host` that a new attempt may get now, in the agent's order.
  std::vector<std::string> free_on(const HostRecord& host) const;
  bool is_held(std::string_view uuid) const;
  /// No member holds it, and none that overlaps it.
  bool is_free_at(const GpuSlot& gpu) const;
  /// Adds the numbers of the member's GPUs. False: its host does not offer one, or somebody holds
  /// it.
  bool add_if_free(const HostRecord& host, const Member& member,
                   std::vector<GpuNumber>& numbers) const;

  /// The member's GPUs are held by `token` from here on.
  void take(const Token& token, const Member& member);
  /// They are held by nobody from here on.
  void free(const Token& token, const Member& member);

  /// No whole device is shared. In O(GPUs).
  void check() const;
  /// The same is held by the same, whatever is offered.
  bool operator==(const GpuBook& other) const;

 private:
  struct Cell {
    GpuUuid uuid;
    SlotHolder whole;  ///< Of slot 0; no token = it is free.
    SlotHolders slices;
    std::uint32_t offers = 0;  ///< Hosts that offer it.
    bool is_held() const { return !whole.token.is_none() || !slices.empty(); }
  };

  /// The same as number_of(), but that it looks among the host's own first, from `next` on; what is
  /// behind the one that it finds becomes `next`.
  std::optional<GpuNumber> number_on(const HostHoldings& there, std::string_view uuid,
                                     std::size_t& next) const;
  const Cell* find(std::string_view uuid) const;
  GpuNumber numbered(std::string_view uuid);
  void forget_if_unused(GpuNumber number);

  HashIndex<GpuNumber> numbers_;  ///< By uuid.
  std::vector<Cell> cells_;       ///< By number.
  std::vector<GpuNumber> unused_;
  IndexedMap<HostId, HostHoldings> hosts_;
};

}  // namespace muster::scheduler
