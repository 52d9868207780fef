#pragma once
// HelloExchange: whether the leader knows this start of this host, and what it would take. A part
// of GangAgent, which says the hello itself when one is due and may be said. A hello is repeated
// until a reply to one with the present content registers the host; replies to older ones do not
// count.
//
// Invariant: a start that was refused stays refused, and the machine is silent from then on.

#include <cstdint>
#include <string>

#include "agent/gang/gang_outbox.h"
#include "agent/gang/recent_nonces.h"
#include "agent/gang/words.h"
#include "gossip/base/ids.h"
#include "gossip/base/time.h"
#include "scheduler/protocol/agent_messages.h"

namespace muster::agent {

class HelloExchange {
 public:
  /// What a reply to a hello came to.
  enum class Reply {
    kStray,       ///< It answers none of our hellos.
    kRefused,     ///< This start is over; the outbox says why, or which generation is next.
    kNotYet,      ///< Something stands against it; hello goes on.
    kRegistered,  ///< The rest of the reply has to be obeyed.
  };

  /// Hello is repeated after `retry`.
  HelloExchange(AgentStart start, Duration retry);

  /// By this leader, in this epoch.
  bool is_registered() const { return registered_; }
  bool is_refused() const { return refused_; }
  /// The counter of the epoch that is obeyed.
  std::uint64_t epoch() const { return epoch_; }

  /// Another leader, or none, has to be greeted: at a moment drawn from `spread` where another
  /// leader has registered what a hello would say now.
  void leader_changed(Instant now, Duration spread, GangOutbox& out);
  void epoch_obeyed(Instant now, ClusterEpoch epoch);
  /// What a hello says has changed: it is said at `at`.
  void want_hello(Instant at);
  bool is_due(Instant now) const { return now >= hello_at_; }
  /// A hello went under `nonce`.
  void hello_sent(Instant now, Nonce nonce);
  /// What follows here from a reply to `nonce`, with its events.
  Reply on_reply(Instant now, Nonce nonce, const scheduler::HelloReply& reply, GangOutbox& out);

  /// Of the next hello.
  Instant next_deadline() const { return hello_at_; }

 private:
  void tell_refusal(const std::string& why, GangOutbox& out);

  AgentStart start_;
  Duration retry_;
  std::uint64_t epoch_ = 1;
  bool registered_ = false;
  bool was_registered_ = false;  ///< By some leader.
  bool is_known_ = false;        ///< Some leader has registered what a hello would say now.
  bool refused_ = false;
  std::string told_refusal_;  ///< Why a leader does not register this host, as last told.
  Instant hello_at_ = kNever;
  RecentNonces nonces_;  ///< To the present leader, unanswered.
};

}  // namespace muster::agent
