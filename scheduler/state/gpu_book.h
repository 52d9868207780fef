#pragma once
// Who holds which GPUs, and how much else of each host, as the log has it. Owned by Books; pure. It
// follows from the attempts: of each that is not ENDED, the members whose share is not over, and
// nobody else, hold their GPUs.
//
// Invariants: a (GPU uuid, slot) has at most one grant, and none that overlaps it (slot 0 is the
// whole device), as long as nobody is granted what is_free_at() denies; a GPU without a grant and
// a host without an attempt are not in the maps.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "scheduler/protocol/agent_messages.h"
#include "scheduler/state/job_record.h"

namespace muster::scheduler {

/// Who holds one slot of one GPU.
struct Grant {
  Token token;
  HostId host;
  bool operator==(const Grant&) const = default;
};

/// uuid -> slot -> grant.
using Grants = std::map<std::string, std::map<std::uint32_t, Grant>>;

/// An agent keeps some more: those that ended, until that is known.
inline constexpr std::uint32_t kHostGrantsMax = 192;

/// What attempts hold of a host beside GPUs.
struct HeldAmounts {
  std::uint32_t grants = 0;
  std::uint64_t cpus = 0;  ///< Thousandths.
  std::uint64_t memory_mb = 0;
  bool operator==(const HeldAmounts&) const = default;
};

class GpuBook {
 public:
  const Grants& grants() const { return grants_; }
  /// Attempts that hold GPUs of `host`, the lowest token first.
  std::vector<Token> tokens_on(const HostId& host) const;
  /// GPUs of `host` that a new attempt may get now, in the agent's order.
  std::vector<std::string> free_on(const HostRecord& host) const;
  HeldAmounts held_on(const HostId& host) const;
  bool is_held(const std::string& uuid) const { return grants_.contains(uuid); }
  /// No grant is there, and none that overlaps it.
  bool is_free_at(const GpuSlot& gpu) const;

  /// The member's GPUs are held by `token` from here on.
  void grant(const Token& token, const Member& member);
  /// They are held by nobody from here on.
  void free(const Token& token, const Member& member);

  /// No whole device is shared. In O(grants).
  void check() const;
  bool operator==(const GpuBook&) const = default;

 private:
  Grants grants_;
  struct OnHost {
    std::set<Token> tokens;
    HeldAmounts amounts;
    bool operator==(const OnHost&) const = default;
  };
  std::map<HostId, OnHost> live_on_;
};

}  // namespace muster::scheduler
