#pragma once
// Membership: SWIM with fixed observers, as a pure machine. Owned by Node. It answers probes,
// watches its own subjects (Watch), keeps the claims of all observers (Evidence) and makes verdicts
// from their tally. It knows hosts from their rows only: the node feeds it the changes that
// HostStore reports, and publishes its claims and observers in the own row.
//
// Gossip says which hosts seem alive; only the quorum decides what follows from it.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "crdt/rows/host_state.h"
#include "crdt/rows/row.h"
#include "gossip/base/event.h"
#include "gossip/base/ids.h"
#include "gossip/base/recently_found.h"
#include "gossip/base/rng.h"
#include "gossip/base/time.h"
#include "gossip/spread/overlay.h"
#include "gossip/wire/transport.h"
#include "membership/codec.h"
#include "membership/evidence.h"
#include "membership/member.h"
#include "membership/observers_clock.h"
#include "membership/rings.h"
#include "membership/storm.h"
#include "membership/watch.h"

namespace muster::membership {

/// An observer that is unreachable for this long is replaced in the own list.
inline constexpr Duration kAbsentAfter = std::chrono::seconds(30);
/// Time between two tries at an unreachable member, chosen at random. There is no last try.
inline constexpr Duration kRetryPeriod = std::chrono::seconds(10);
/// The time that the observers left must agree before they judge alone (observers_left.h).
inline constexpr Duration kReducedHold = std::chrono::seconds(2);
/// H observers of a host must agree for so long while a cut is suspected, and so long after the own
/// start, beyond kWatchAllHostsMax hosts: after a cut the claims of its far side arrive before
/// their makers have heard the host and taken them back. Raised: a host that dies meanwhile is a
/// suspect for longer; lowered: a heal makes verdicts about hosts that run.
inline constexpr Duration kStormHold = std::chrono::seconds(3);
inline constexpr std::size_t kMembersMax = 16384;

// Inputs.

/// A host's row changed: its Identity, its Observers, or the version of the row. The own row is
/// ignored: this machine writes it.
struct MemberChanged {
  HostId host;
  AgentStart start;
  std::string rack;
  std::vector<HostId> observers;  ///< Empty while its row names none.
  bool left = false;
};
/// An observer's whole set of claims; empty if its row has no claims (any more).
struct EvidenceChanged {
  HostId observer;
  std::vector<crdt::Claim> claims;
};
struct MessageReceived {
  HostId from;
  Generation generation;
  Nonce nonce;
  Body body;
  Instant at = kNever;       ///< When it arrived; kNever, or later than the step: at the step.
  bool is_answered = false;  ///< A Probe that the reflex answered already.
};
struct LinkLost {
  HostId host;
  gossip::LinkLoss loss = gossip::LinkLoss::kTimeout;
};
/// The process stood still for `duration`. Fed after the waiting input, before tick().
struct Paused {
  Duration duration{0};
};
/// The newest sent sequence of the own row, for acks.
struct OwnVersion {
  Sequence sequence;
};

class Membership {
 public:
  using Input =
      std::variant<MemberChanged, EvidenceChanged, MessageReceived, LinkLost, Paused, OwnVersion>;
  struct Output {
    std::vector<Outgoing> messages;
    std::vector<HostId> drop_links;  ///< The next message to such a host dials again.
    /// Own evidence changed: publish it (FieldId::kEvidence), urgent unless it may wait.
    std::optional<std::vector<crdt::Claim>> evidence;
    bool evidence_may_wait = false;  ///< The change only takes back some of many claims.
    /// Own observers changed: publish the list (FieldId::kObservers, urgent).
    std::optional<std::vector<HostId>> observers;
    std::vector<std::pair<HostId, crdt::RowVersion>> heard;  ///< Row versions named by messages.
    std::vector<HostId> changed;  ///< Members whose state, start or observers changed.
    std::vector<Event> events;
  };

  Membership(HostId self, AgentStart start, std::string rack, Rng rng, Instant now);

  /// This host comes to its work late by `lag`: it waits longer for answers (LocalHealth).
  void be_late(Duration lag) { watch_.be_late(lag); }
  void step(Instant now, Input input);
  void tick(Instant now);
  Instant next_deadline() const { return next_deadline_; }
  Output take_output();
  void check_invariants() const;

  /// Null for a host without a row. The own member is always alive here.
  const Member* member(HostId host) const;
  const std::map<HostId, Member>& members() const { return members_; }
  /// Whether this host itself claims `host`: its own probes get no answer, whatever others see.
  bool is_claimed_by_self(HostId host) const;
  /// The claims about a host, in the order of its observer list: `why host`.
  std::vector<Accusation> accusations(HostId subject) const;
  /// The own observers and the hosts this one watches. Ascending.
  const std::vector<HostId>& observers() const;
  std::vector<HostId> subjects() const { return watch_.subjects(); }
  bool is_isolated() const { return watch_.is_isolated(); }
  /// The own observers that are alive to this host. Ascending.
  std::vector<HostId> trusted_observers() const { return ring_of(*member(self_)).trusted; }
  StormStatus storm() const { return storm_.status(); }
  /// The members and rings from which the overlay is built.
  gossip::OverlayView overlay() const;
  /// Changes whenever overlay() does: then neighbours must be chosen again.
  std::uint64_t overlay_epoch() const { return overlay_epoch_; }

 private:
  void on(Instant now, const MemberChanged& input);
  void on(Instant now, const EvidenceChanged& input);
  void on(Instant now, const MessageReceived& input);
  void on(Instant now, const LinkLost& input);
  void on(Instant now, const Paused& input);
  void on(Instant now, const OwnVersion& input);

  void on_probe(Instant now, const MessageReceived& input);
  void on_accuse(Instant now, const Accuse& accuse);
  void ask_if_newer(HostId host, Generation generation);
  void watch_member(Instant now, const Member& member);
  void take_evidence(Instant now, HostId observer, std::vector<crdt::Claim> claims);
  void evaluate(Instant now, Member& member);
  void judge(Instant now, Member& member, const Tally& tally);
  void consider_clearing(Instant now, Member& member, const Tally& tally);
  void set_state(Instant now, Member& member, MemberState state, const Tally& tally);
  void update_storm(Instant now);
  void propose_for_others(Instant now);
  bool is_judged_by_those_left(Instant now, Member& member);
  /// Hosts that may observe: all but those that left or are unreachable for kAbsentAfter.
  std::vector<Candidate> candidates(Instant now) const;
  void refresh_observers(Instant now);
  void retry_unreachable(Instant now);
  void check_cut_off(Instant now);
  void fire_timers(Instant now);
  void publish_claims(Instant now);
  gossip::Ring ring_of(const Member& subject) const;
  void finish(Instant now);
  void emit(Severity severity, std::string_view name, const Member& about, std::string detail);

  const HostId self_;
  Rng rng_;
  std::map<HostId, Member> members_;  ///< Self included. None is ever erased.
  mutable RecentlyFound<Member> recent_;
  Evidence evidence_;
  Watch watch_;
  std::vector<crdt::Claim> published_;  ///< Own evidence as last said.
  Sequence own_sequence_;

  std::set<std::pair<Instant, HostId>> timers_;  ///< When to evaluate a member again.
  ObserversClock observers_clock_;
  Instant retry_at_ = kNever;
  Instant last_probed_ = kLongAgo;  ///< By an own observer; min = not since it was reported.
  Instant last_accused_ = kLongAgo;
  Storm storm_;

  std::uint64_t overlay_epoch_ = 1;
  Instant next_deadline_ = kNever;
  Output output_;
};

}  // namespace muster::membership
