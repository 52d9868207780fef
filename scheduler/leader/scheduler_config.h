#pragma once
// SchedulerConfig: the times and limits of the scheduler's patience. All voters have the same, or
// leaders would differ in patience; the log does not depend on it.

#include <chrono>
#include <cstdint>
#include <memory>

#include "gossip/base/result.h"
#include "gossip/base/signing.h"
#include "gossip/base/time.h"
#include "scheduler/access/change_pace.h"

namespace muster::scheduler {

struct SchedulerConfig {
  /// Limit of RESERVED; each leader counts it again. Lower: slow starts are aborted. Higher: GPUs
  /// are idle for longer.
  Duration reserve_deadline = std::chrono::seconds(10);
  /// The limit of RESERVED across leaders, as a multiple of the attempt's deadline in cluster time:
  /// a quorum that changes its leader again and again must not hold GPUs for ever.
  std::uint32_t deadline_counts = 3;
  Duration resend_first = std::chrono::seconds(1);
  Duration resend_last = std::chrono::seconds(10);
  /// Time to restart a member's agent that is down, before the rest of the gang is stopped.
  Duration agent_down_patience = std::chrono::seconds(60);
  /// No Condemn earlier than this after the verdict, nor within it of the own-term entry.
  Duration condemn_after = std::chrono::seconds(10);
  /// Added to `hold + grace`, for the kill itself: a hold that ran out still has to end ranks.
  Duration expire_margin = std::chrono::seconds(5);
  Duration tick_every = std::chrono::seconds(1);
  /// The same while only tickets wait for time: an entry costs every voter a write. Higher: a
  /// ticket may let hosts in for longer, by up to this.
  Duration tick_for_tickets = std::chrono::seconds(30);
  /// A proposal that is not applied after this long is proposed again; all are idempotent.
  Duration propose_again = std::chrono::seconds(5);
  /// A round that is not answered after this long is asked for again.
  Duration round_again = std::chrono::seconds(1);
  /// False: a pool waits for its first job, and no job passes it.
  bool backfill = true;
  ChangeLimits changes{};
  /// Verifies the signatures of persons. Null: no signature counts.
  std::shared_ptr<const gossip::Verifier> verifier{};
  Status validate() const;
};

}  // namespace muster::scheduler
