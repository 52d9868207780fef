#pragma once
// GpuOrderSender: tells hosts the orders about their GPUs that stand in their records, and repeats
// them until the host acknowledges them. Owned by Leader. A new leader, and one that registers a
// new start of a host, knows of no acknowledgement and tells all of them again; an agent ignores
// those that it has heard.
//
// Invariant: `next_` is at most the earliest time at which a host is told again.

#include <chrono>
#include <map>

#include "gossip/base/time.h"
#include "scheduler/leader/step_context.h"
#include "scheduler/protocol/entry.h"
#include "scheduler/protocol/gpu_orders.h"

namespace muster::scheduler {

/// Time to the next message to a host that has not acknowledged its orders; it doubles with each.
/// Lower: more messages to a host that is slow; higher: a lost message keeps an unmasked GPU out of
/// use for longer.
inline constexpr Duration kGpuOrdersAgain = std::chrono::seconds(3);
inline constexpr Duration kGpuOrdersAgainMax = std::chrono::seconds(24);

class GpuOrderSender {
 public:
  /// Tells all hosts. O(hosts).
  explicit GpuOrderSender(const StepContext& step);

  /// Tells the host that the entry is about, if it has orders to hear. The entry is applied.
  void on_applied(const StepContext& step, const Entry& entry);
  /// False if the host is not registered with that start.
  bool on_ack(const StepContext& step, const HostId& from, const GpuOrdersAck& ack);
  void say_due(const StepContext& step);
  Instant next_deadline() const { return next_; }
  void check_invariants() const;

 private:
  /// A host of which the log has orders.
  struct Listener {
    AgentStart start;
    Token heard;             ///< As this start acknowledged; no token = it acknowledged nothing.
    Instant again = kNever;  ///< kNever: it has heard all, or cannot be reached now.
    Duration wait{};         ///< From the last message to `again`.
  };

  /// `is_news`: it has something to hear that it was not sent yet.
  void follow(const StepContext& step, const HostRecord& host, bool is_news);
  void say(const StepContext& step, const HostRecord& host, Listener& listener, bool is_again);

  std::map<HostId, Listener> listeners_;
  Instant next_ = kNever;
};

}  // namespace muster::scheduler
