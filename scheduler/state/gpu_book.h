#pragma once
// The holders of all GPUs, and the CPUs and memory held of each host, as the log has them. Owned by
// Books; pure. Derived from the attempts: a GPU is held by each member whose share is not over, of
// an attempt that is not ENDED. GPUs have dense numbers here, so that a question about a host looks
// up no names; these numbers are never logged and never sent.
//
// Invariants: at most one member holds a (GPU uuid, slot), and no member one that overlaps it (slot
// 0 is the whole device), as long as each take() keeps to is_free_at(); a GPU has a number exactly
// while some host offers it or some member holds it.

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

/// The holder of one slot of one GPU.
struct SlotHolder {
  Token token;
  HostId host;
  bool operator==(const SlotHolder&) const = default;
};
using SlotHolders = std::map<std::uint32_t, SlotHolder>;

/// uuid -> slot -> holder.
using GpuHolders = std::map<std::string, SlotHolders>;

/// Live grants of a host. Its agent keeps more: those that ended, until the log knows it.
inline constexpr std::uint32_t kHostGrantsMax = 192;

/// CPUs and memory that attempts hold of a host, and the number of their members there.
struct HeldAmounts {
  std::uint32_t members = 0;
  std::uint64_t cpus = 0;  ///< Thousandths.
  std::uint64_t memory_mb = 0;
  bool operator==(const HeldAmounts&) const = default;
};

/// The GPUs that a host offers, and the parts of it that are held.
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
  /// nullopt if no host offers it and no member holds it.
  std::optional<GpuNumber> number_of(std::string_view uuid) const;
  /// Numbers are below it.
  std::size_t bound() const { return cells_.size(); }
  /// Whether an attempt that is not one of `tokens` holds it.
  bool is_held_beside(GpuNumber gpu, const std::set<Token>& tokens) const;
  /// Its holders by slot; empty = it is free.
  SlotHolders holders_of(std::string_view uuid) const;
  /// All of them, in O(GPUs): for tests.
  GpuHolders holders() const;
  /// GPUs of `host` that a new attempt may get now, in the agent's order.
  std::vector<std::string> free_on(const HostRecord& host) const;
  bool is_held(std::string_view uuid) const;
  /// Whether no member holds this slot, or one that overlaps it.
  bool is_free_at(const GpuSlot& gpu) const;
  /// Adds the numbers of the member's GPUs. False if its host does not offer one, or if an attempt
  /// that is not one of `leaving` holds one.
  bool add_if_free(const HostRecord& host, const Member& member, const std::set<Token>& leaving,
                   std::vector<GpuNumber>& numbers) const;

  /// From here on `token` holds the member's GPUs.
  void take(const Token& token, const Member& member);
  /// From here on they are free.
  void free(const Token& token, const Member& member);

  /// CHECKs that no whole device is shared. O(GPUs).
  void check() const;
  /// Whether the same members hold the same slots; offers do not count.
  bool operator==(const GpuBook& other) const;

 private:
  struct Cell {
    GpuUuid uuid;
    SlotHolder whole;  ///< Holder of slot 0; no token = it is free.
    SlotHolders slices;
    std::uint32_t offers = 0;  ///< Hosts that offer it.
    bool is_held() const { return !whole.token.is_none() || !slices.empty(); }
  };

  /// As number_of(), but searches the host's own GPUs first, from `next` on. Sets `next` behind the
  /// one found.
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
