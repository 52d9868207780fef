#pragma once
// Renewals plans the renewal of this host's holds, and keeps those under way. A hold counts from
// our own send. Therefore each renewal is kept with the time of its send: a late or relayed
// acknowledgement can never lengthen a hold. Owned by GangAgent.
//
// Invariants
// - At most kRenewalsMax are under way; the oldest is dropped first.
// - While no renewal is planned, no renewal is under way.

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "agent/gang/gang_interface.h"
#include "agent/gang/gang_outbox.h"
#include "gossip/base/ids.h"
#include "gossip/base/time.h"
#include "scheduler/protocol/agent_messages.h"

namespace muster::agent {

struct Renewal {
  Instant sent;
  std::vector<Token> tokens;  ///< The tokens whose holds it asked to renew.
};

class Renewals {
 public:
  explicit Renewals(Duration interval) : interval_(interval) {}

  /// A hold began: plans renewals, if none is planned. The first comes at a drawn time, so that the
  /// hosts of a gang do not renew together.
  void begin(Instant now, GangOutbox& out);
  /// A hold was found that may not have been renewed for a while: the next renewal is due.
  void hasten(Instant now);
  /// Renews all holds at once, for another leader.
  void leader_changed(Instant now);
  bool is_due(Instant now) const { return now >= renew_at_; }
  /// Renews the holds in `renew`. If it names no token, no further renewal is planned.
  void send(Instant now, scheduler::Renew renew, GangOutbox& out);
  /// Takes the renewal with this nonce; nullopt if there is no such renewal under way.
  std::optional<Renewal> take(Nonce nonce);

  /// The nonces of renewals that are not answered yet.
  std::vector<Nonce> under_way() const;
  Instant next_deadline() const { return renew_at_; }
  void check_invariants() const;

 private:
  Duration interval_;
  std::map<Nonce, Renewal> under_way_;
  Instant renew_at_ = kNever;
};

}  // namespace muster::agent
