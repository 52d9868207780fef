#pragma once
// HelloExchange registers this start of the host at the leader. It repeats hello until a reply
// to one with the present content registers the host. Replies to older content do not count. Owned
// by GangAgent, which sends the hello when it is due and allowed.
//
// Invariant: a start that was refused stays refused, and GangAgent is silent from then on.

#include <cstdint>
#include <string>

#include "agent/gang/gang_interface.h"
#include "agent/gang/gang_outbox.h"
#include "agent/gang/recent_nonces.h"
#include "gossip/base/ids.h"
#include "gossip/base/time.h"
#include "scheduler/protocol/agent_messages.h"

namespace muster::agent {

class HelloExchange {
 public:
  /// The effect of a reply to a hello.
  enum class Reply {
    kStray,       ///< It answers no hello of this start.
    kRefused,     ///< This start is over; the outbox has the reason, or the next generation.
    kNotYet,      ///< The leader does not register the host yet; hello goes on.
    kRegistered,  ///< The host is registered; GangAgent obeys the rest of the reply.
  };

  /// Hello is repeated after `retry`.
  HelloExchange(AgentStart start, Duration retry);

  /// True if this leader has registered the host in this epoch.
  bool is_registered() const { return registered_; }
  bool is_refused() const { return refused_; }
  /// The counter of the epoch that this host obeys.
  std::uint64_t epoch() const { return epoch_; }

  /// Another leader has to be greeted. If an earlier leader has registered the present content, the
  /// hello is sent at a time drawn from `spread`.
  void leader_changed(Instant now, Duration spread, GangOutbox& out);
  void epoch_obeyed(Instant now, ClusterEpoch epoch);
  /// The content of hello has changed: it is due at `at`.
  void want_hello(Instant at);
  /// The same at once if a hello without this change is under way; a later one has it anyway.
  void content_changed(Instant now) {
    if (!nonces_.is_empty()) {
      want_hello(now);
    }
  }
  bool is_due(Instant now) const { return now >= hello_at_; }
  /// A hello was sent under `nonce`.
  void hello_sent(Instant now, Nonce nonce);
  /// Returns the effect of a reply to `nonce`, and emits its events.
  Reply on_reply(Instant now, Nonce nonce, const scheduler::HelloReply& reply, GangOutbox& out);

  /// The time of the next hello.
  Instant next_deadline() const { return hello_at_; }

 private:
  void tell_refusal(const std::string& why, GangOutbox& out);

  AgentStart start_;
  Duration retry_;
  std::uint64_t epoch_ = 1;
  bool registered_ = false;
  bool was_registered_ = false;  ///< Some leader has registered this start.
  bool is_known_ = false;        ///< Some leader has registered the present content of hello.
  bool refused_ = false;
  std::string told_refusal_;  ///< The last told reason that a leader does not register this host.
  Instant hello_at_ = kNever;
  RecentNonces nonces_;  ///< Unanswered hellos to the present leader.
};

}  // namespace muster::agent
