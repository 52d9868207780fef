#pragma once
// Rounds: the messages that a leader may answer only after a majority round. Owned by AgentDesk. A
// round that a majority answered shows that no other host led when it began, so messages received
// before may be acknowledged. One round is under way at a time; later messages wait for the next.
//
// Invariants: nobody waits for a round that was not asked for; a context is never used twice, by
// this leader or by an earlier one on the same voter, or the answer to an old round would count for
// what came after it.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "gossip/base/time.h"
#include "scheduler/leader/step_context.h"
#include "scheduler/protocol/agent_messages.h"

namespace muster::scheduler {

inline constexpr std::size_t kRoundWaitersMax = 65'536;  ///< Later ones are dropped, agents repeat.

/// The host that sent a message, and where the answer goes.
struct Caller {
  HostId host;
  Nonce nonce;
  HostId relay = {};  ///< The host that brought it and takes the answer; zero: `host` itself.
};

struct Waiter {
  Caller caller;
  std::variant<Renew, Hello> message;
};

class Rounds {
 public:
  /// `last_context`: the last one of the voter's earlier leaderships.
  explicit Rounds(std::uint64_t last_context) : context_(last_context) {}

  /// False if too many wait: the message is dropped.
  bool wait(Waiter waiter);
  /// Begins a round for all that wait, unless one is under way or nobody waits.
  void ask(const StepContext& step);
  /// The waiters of the round of this context, which a majority answered. nullopt if it is not the
  /// round under way. ask() begins the next.
  std::optional<std::vector<Waiter>> take_answered(std::uint64_t context);
  /// Asks again when the round under way was not answered in time.
  void tick(const StepContext& step);
  Instant next_deadline(const SchedulerConfig& config) const;
  std::uint64_t last_context() const { return context_; }
  void check_invariants() const;

 private:
  std::vector<Waiter> waiting_;   ///< For the next round.
  std::vector<Waiter> in_round_;  ///< For the round asked for.
  std::uint64_t context_;
  std::optional<Instant> asked_at_;  ///< nullopt if no round is under way.
};

}  // namespace muster::scheduler
