#pragma once
// What the leader says to agents by itself, and says again. Each message follows from an attempt's
// applied state (Assign while RESERVED, Start, Stop) and is repeated, more and more rarely, until
// the log or the agent shows that it was heard. Nothing here must survive a change of leader: the
// next one says it anew from its own state.
//
// Invariant: each attempt of which something is to be repeated has the earliest time of that among
// `due_`, which may hold times that are none any more, fewer than kStaleDuesMax beyond two for
// each.

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "gossip/base/indexed_map.h"
#include "gossip/base/time.h"
#include "scheduler/leader/turn.h"
#include "scheduler/protocol/agent_messages.h"
#include "scheduler/state/reservations.h"
#include "scheduler/state/state.h"

namespace muster::scheduler {

/// What the log wants this member of an attempt to do now; nothing = it did, or its share is over.
/// `members`: those of the attempt, or none; then they are put there for the next message of it.
std::optional<AgentMessage> wanted_message(const State& state, const Attempt& attempt,
                                           const MemberRecord& record, MemberList& members);

/// Times of what went or was put off meanwhile.
inline constexpr std::size_t kStaleDuesMax = 4096;

class Resends {
 public:
  /// Something happened to this attempt: each member is told at once what is new for it. That is
  /// nothing while its state is what it was, unless a host registered: `is_rekeyed`.
  /// `was_reserved`: it was RESERVED when this leader looked last.
  void on_touched(const Turn& turn, const Token& token, bool was_reserved, bool is_rekeyed);
  /// What a renewal says of the Start: whoever waits for it is told at once, whoever has it no
  /// more. Older agents do not say; they are told again from time to time.
  void on_renewed(const Turn& turn, const MemberKey& key, const Attempt& attempt,
                  const Renew& renew);
  /// The member showed that it has its Start.
  void on_running(const MemberKey& key) { running_.insert(key); }
  void say_due(const Turn& turn);
  /// Perhaps of a time that is none any more.
  Instant next_deadline() const { return due_.empty() ? kNever : due_.front().first; }
  void check_invariants() const;

 private:
  /// A message that is repeated until the log or the agent answers it.
  struct Resend {
    Instant at;
    Duration wait{0};
    AttemptState phase = AttemptState::kReserved;
    AgentStart start;  ///< The pair it was said to; a re-keyed grant is told anew.
  };

  void follow_member(const Turn& turn, const Attempt& attempt, const MemberRecord& record,
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
  void say_due(const Turn& turn, const Token& token);
  void await(const Token& token, OfAttempt& attempt, Instant due);
  /// Once there are too many of them.
  void forget_stale();

  IndexedMap<Token, OfAttempt> resends_;
  std::vector<std::pair<Instant, Token>> due_;  ///< A heap: the earliest is its front.
  std::set<MemberKey> running_;  ///< Members that answered a Start: by renewal, or by their end.
};

}  // namespace muster::scheduler
