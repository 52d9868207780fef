#pragma once
// PendingWrites holds the owner and the time of each write that a part of the Node waits for and
// that is not yet durable. It does not hold writes of rows: no part waits for those.
//
// Invariant: numbers rise with time and are used once. Therefore the first one waits longest.

#include <cstdint>
#include <map>

#include "crdt/disk/write_batch.h"
#include "gossip/base/time.h"

namespace muster::agent {

/// If a write waits this long, the disk of this host is slow or hangs.
inline constexpr Duration kDiskLate = std::chrono::milliseconds(700);
/// Time between two looks of a leader at the waiting writes.
inline constexpr Duration kDiskLookPeriod = std::chrono::milliseconds(250);

enum class WriteOwner : std::uint8_t { kSeat, kGangAgent, kEpoch, kLink, kNobody };

/// The owner of a write, and the id that the owner gave it.
struct OwnedWrite {
  WriteOwner owner = WriteOwner::kNobody;
  std::uint64_t id = 0;
};

class PendingWrites {
 public:
  /// Returns the number of a write that is handed out now. Precondition: `now` is not before the
  /// last one.
  std::uint64_t hand_out(OwnedWrite whose, Instant now);
  /// The write with this number is durable; returns its owner. Precondition: it was handed out, and
  /// this is its first call.
  OwnedWrite on_persisted(std::uint64_t number);
  /// The time of a leader's next look for slow disks; kNever if no write waits. A look at that time
  /// finds that this host's disk is late.
  Instant next_look() const;
  void looked(Instant now) { looked_at_ = now; }

 private:
  struct Waiting {
    OwnedWrite whose;
    Instant since{};
  };
  std::map<std::uint64_t, Waiting> waiting_;  ///< By number, and so by time.
  std::uint64_t last_number_ = 0;
  Instant looked_at_{};
};

}  // namespace muster::agent
