#pragma once
// How long the scheduler waits for what. Each voter has the same, or leaders would differ in how
// patient they are; nothing in the log depends on it.

#include <chrono>
#include <cstdint>

#include "gossip/base/result.h"
#include "gossip/base/time.h"

namespace muster::scheduler {

struct SchedulerConfig {
  /// Of RESERVED, counted by each leader anew. Lower aborts slow starts, higher holds GPUs idle.
  Duration reserve_deadline = std::chrono::seconds(10);
  /// Times the deadline is counted anew by later leaders, in cluster time: a quorum that changes
  /// its leader again and again must not hold GPUs for ever.
  std::uint32_t deadline_counts = 3;
  Duration resend_first = std::chrono::seconds(1);
  Duration resend_last = std::chrono::seconds(10);
  /// Before the rest of a gang is stopped for a member's agent that is down: time to restart it.
  Duration agent_down_patience = std::chrono::seconds(60);
  /// No Condemn earlier than this after the verdict, nor within it of the own-term entry.
  Duration condemn_after = std::chrono::seconds(10);
  /// Above `hold + grace`, for the kill itself: a hold that ran out still has to end ranks.
  Duration expire_margin = std::chrono::seconds(5);
  Duration tick_every = std::chrono::seconds(1);
  /// The same while only tickets wait for time: an entry costs every voter a write. Higher: they
  /// may let hosts in for so much longer.
  Duration tick_for_tickets = std::chrono::seconds(30);
  /// A proposal not seen applied for so long is proposed again; all are idempotent.
  Duration propose_again = std::chrono::seconds(5);
  /// A round not answered for so long is asked for again.
  Duration round_again = std::chrono::seconds(1);
  Status validate() const;
};

}  // namespace muster::scheduler
