#pragma once
// Renewals: when the holds of this host are renewed next, and which renewals are under way. A part
// of GangAgent. A hold counts from our own send, so each renewal is remembered with the time at
// which it went: an acknowledgement that is late or was relayed can never lengthen a hold.
//
// Invariants
// - At most kRenewalsMax are under way; the oldest goes first.
// - While no renewal is planned none is under way.

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "agent/gang/gang_outbox.h"
#include "agent/gang/words.h"
#include "gossip/base/ids.h"
#include "gossip/base/time.h"
#include "scheduler/protocol/agent_messages.h"

namespace muster::agent {

struct Renewal {
  Instant sent;
  std::vector<Token> tokens;  ///< Those it asked for.
};

class Renewals {
 public:
  explicit Renewals(Duration interval) : interval_(interval) {}

  /// A hold began: renewals are planned, unless they are already. The first one comes at a drawn
  /// moment, so that the hosts of a gang do not renew together.
  void begin(Instant now, GangOutbox& out);
  /// A hold is known of that nobody renewed for a while: the next one is due.
  void hasten(Instant now);
  /// Another leader has to hear of all holds at once.
  void leader_changed(Instant now);
  bool is_due(Instant now) const { return now >= renew_at_; }
  /// Renews what `renew` names; without any no more is planned.
  void send(Instant now, scheduler::Renew renew, GangOutbox& out);
  /// The renewal that went under this nonce, which is over with it; nothing when none is under way.
  std::optional<Renewal> take(Nonce nonce);

  /// The nonces of those that are not answered yet.
  std::vector<Nonce> under_way() const;
  Instant next_deadline() const { return renew_at_; }
  void check_invariants() const;

 private:
  Duration interval_;
  std::map<Nonce, Renewal> under_way_;
  Instant renew_at_ = kNever;
};

}  // namespace muster::agent
