#pragma once
// The writes that parts of the Node wait for and that are not known to be on disk yet: whose each
// is, and since when it waits. Writes of rows are none of them: nobody waits for those.
//
// Invariant: numbers rise with time and are never used twice, so the first one waits longest.

#include <cstdint>
#include <map>

#include "crdt/disk/write_batch.h"
#include "gossip/base/time.h"

namespace muster::agent {

/// A write that waits so long says that the disk of this host is slow or hangs.
inline constexpr Duration kDiskLate = std::chrono::milliseconds(700);
/// Between two looks of a leader at them.
inline constexpr Duration kDiskLookPeriod = std::chrono::milliseconds(250);

enum class WriteOwner : std::uint8_t { kSeat, kGangAgent, kEpoch, kLink, kNobody };

/// A write, as its owner names it.
struct OwnedWrite {
  WriteOwner owner = WriteOwner::kNobody;
  std::uint64_t id = 0;
};

class PendingWrites {
 public:
  /// The number under which a write goes out now, which is not before the last one.
  std::uint64_t hand_out(OwnedWrite whose, Instant now);
  /// The write of this number is durable: whose it was. Precondition: it was handed out, and this
  /// is said once.
  OwnedWrite on_persisted(std::uint64_t number);
  /// When a leader, who wants to know which disks are slow, looks at them next: kNever while none
  /// waits. A look at that moment finds this host's disk late.
  Instant next_look() const;
  void looked(Instant now) { looked_at_ = now; }

 private:
  struct Waiting {
    OwnedWrite whose;
    Instant since{};
  };
  std::map<std::uint64_t, Waiting> waiting_;  ///< Rising in time, too.
  std::uint64_t last_number_ = 0;
  Instant looked_at_{};
};

}  // namespace muster::agent
