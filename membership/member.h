#pragma once
// Member: one host as membership knows it: the contents of its row and the state that the tally of
// its observers' claims gives it. Owned by Membership.

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "crdt/rows/host_state.h"
#include "gossip/base/ids.h"
#include "gossip/base/time.h"
#include "gossip/spread/overlay.h"

namespace muster::membership {

enum class MemberState : std::uint8_t {
  kAlive,
  kSuspect,      ///< L..H-1 claims: no reason to act, a reason to look.
  kUnreachable,  ///< H claims: no new work. This state frees and removes nothing.
  kLeft,         ///< The host said goodbye. Lasts until a newer generation.
};

std::string_view name_of(MemberState state);
/// "silent" or "agent_down".
std::string_view name_of(crdt::ClaimKind kind);

/// The times since which a SUSPECT has enough claims for a verdict that must last first. kNever if
/// it has not.
struct Claimed {
  Instant by_those_left = kNever;  ///< The observers that are left agree (observers_left.h).
  Instant by_all_needed = kNever;  ///< H of its whole list, while verdicts are held.
};

struct Member {
  HostId host;
  AgentStart start;
  std::string rack;               ///< "" = unknown.
  std::vector<HostId> observers;  ///< From its own row: the fixed denominator of the tally.
  /// Its own row has named observers. Until then `observers` are those that this host would name.
  bool has_named = false;
  bool left = false;
  bool doubled = false;  ///< Two starts of this generation were seen: two agents under one id.

  MemberState state = MemberState::kAlive;
  crdt::ClaimKind kind = crdt::ClaimKind::kSilent;  ///< Of a suspicion or verdict.
  Instant since;                                    ///< When `state` began, here.
  Instant below_since = kNever;  ///< Unreachable, and the tally has been below L since then.
  Claimed claimed;
  /// How its verdict came about: 0 = by its whole list, else one more than the most of any observer
  /// that had to be left out.
  int reduced_steps = 0;
  int verdicts = 0;  ///< In a row, each within kFlapWindow of the one before.
  Instant verdict_at = kLongAgo;
};

/// A verdict ends when the tally stayed below L for kClearHold; "agent down" ends faster, because
/// the answer of a restarted agent is no accident of the network. From the second verdict within
/// kFlapWindow on it ends after kFlapHold instead, twice as long each time, at most kFlapHoldMax.
inline constexpr Duration kClearHold = std::chrono::seconds(3);
inline constexpr Duration kClearHoldRefused = std::chrono::milliseconds(500);
/// While a cut is suspected nothing follows from a verdict, so there is no flapping to be damped.
inline constexpr Duration kClearHoldStorm = std::chrono::seconds(1);
inline constexpr Duration kFlapWindow = std::chrono::minutes(10);
inline constexpr Duration kFlapHold = std::chrono::seconds(5);
inline constexpr Duration kFlapHoldMax = std::chrono::minutes(5);
Duration clear_hold(const Member& member, bool is_storm);
/// Counts a verdict for that. In a storm it is not the host that comes and goes.
void note_verdict(Instant now, Member& member, bool is_storm);

/// Rows are not exchanged with such a host.
inline bool is_out(MemberState state) {
  return state == MemberState::kUnreachable || state == MemberState::kLeft;
}

/// `host` is one of the observers of `subject`.
bool is_observed_by(const Member& subject, HostId host);

/// One of the observers of any of these.
bool observes_any(HostId host, const std::vector<HostId>& subjects,
                  const std::map<HostId, Member>& members);

/// `find` yields null for a host without a row; `is_claimed`: this host's own claims.
gossip::Ring ring_of(const Member& subject, const std::function<const Member*(HostId)>& find,
                     const std::function<bool(HostId)>& is_claimed);

/// Of `self`, one of `members`: all that did not leave, its own ring, and those that it is in.
gossip::OverlayView overlay_of(HostId self, const std::map<HostId, Member>& members,
                               const std::function<gossip::Ring(const Member&)>& ring_of);

}  // namespace muster::membership
