#pragma once
// Resends: the messages that the leader sends to agents by itself, and repeats. Owned by Leader.
// Each follows from an attempt's applied state (Assign while RESERVED, Start, Stop) and is
// repeated, more and more rarely, until the log or the agent shows that it was heard. No data here
// must survive a change of leader: the next leader sends the messages from its own state.
//
// Invariant: each attempt with a message to repeat has the earliest time of that among `due_`. It
// may also hold stale times, fewer than kStaleDuesMax beyond two for each attempt.

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "gossip/base/indexed_map.h"
#include "gossip/base/time.h"
#include "scheduler/leader/step_context.h"
#include "scheduler/protocol/agent_messages.h"
#include "scheduler/state/reservations.h"
#include "scheduler/state/state.h"

namespace muster::scheduler {

/// The message that the log wants this member to get now. nullopt if it did what that asks, or if
/// its share is over. `members`: those of the attempt; filled here if they are empty.
std::optional<AgentMessage> wanted_message(const State& state, const Attempt& attempt,
                                           const MemberRecord& record, MemberList& members);

/// Stale times: of messages that are gone or were put off.
inline constexpr std::size_t kStaleDuesMax = 4096;

class Resends {
 public:
  /// An entry touched this attempt: tells each member at once what is new for it. If its state is
  /// as before, no member is told, unless a host registered: `is_rekeyed`. `was_reserved`: it was
  /// RESERVED when this leader looked last.
  void on_touched(const StepContext& step, const Token& token, bool was_reserved, bool is_rekeyed);
  /// A renewal says whether the agent has the Start: an agent that waits for it is told at once,
  /// one that has it no more. Older agents do not say; they are told again from time to time.
  void on_renewed(const StepContext& step, const MemberKey& key, const Attempt& attempt,
                  const Renew& renew);
  /// The member showed that it has its Start.
  void on_running(const MemberKey& key) { running_.insert(key); }
  void say_due(const StepContext& step);
  /// May be a stale time.
  Instant next_deadline() const { return due_.empty() ? kNever : due_.front().first; }
  void check_invariants() const;

 private:
  /// A message that is repeated until the log or the agent answers it.
  struct Resend {
    Instant at;
    Duration wait{0};
    AttemptState phase = AttemptState::kReserved;
    AgentStart start;  ///< The pair it was sent to; a re-keyed grant is told again.
  };

  void follow_member(const StepContext& step, const Attempt& attempt, const MemberRecord& record,
                     MemberList& members);
  struct OfAttempt {
    Instant due = kNever;                            ///< The earliest of its messages, or earlier.
    AttemptState phase = AttemptState::kReserved;    ///< As of the last look at all of its members.
    std::vector<std::pair<HostId, Resend>> members;  ///< By host.
  };

  Resend* find(const MemberKey& key);
  void schedule(const MemberKey& key, const Resend& resend);
  void drop(const MemberKey& key);
  void drop_attempt(const Token& token);
  void say_due(const StepContext& step, const Token& token);
  void await(const Token& token, OfAttempt& attempt, Instant due);
  /// Drops stale times once there are too many of them.
  void forget_stale();

  IndexedMap<Token, OfAttempt> resends_;
  std::vector<std::pair<Instant, Token>> due_;  ///< A heap: the earliest is its front.
  std::set<MemberKey> running_;  ///< Members that answered a Start, by renewal or by their end.
};

}  // namespace muster::scheduler
