#pragma once
// SubjectProbe: the probe rounds of one observer about one subject. Owned by Watch. A round is a
// sequence of short attempts; the first Ack of any of them answers it. Watch judges a silent round.

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "crdt/rows/host_state.h"
#include "gossip/base/ids.h"
#include "gossip/base/rng.h"
#include "gossip/base/time.h"
#include "membership/local_health.h"

namespace muster::membership {

inline constexpr Duration kAttemptTimeout = std::chrono::milliseconds(250);
/// A subject that was never heard must be dialled, and lets this host in only once it knows it.
/// Where many meet at once both take time. Until the subject answers, at most for this long, an
/// attempt has longer and the ring is not called: calls would make dials, and those more silence.
inline constexpr Duration kFirstContact = std::chrono::seconds(3);
inline constexpr Duration kFirstAttemptTimeout = std::chrono::seconds(1);
/// After a refusal or a reset the next attempt follows this fast; also the least distance of two
/// attempts that events trigger.
inline constexpr Duration kRedialDelay = std::chrono::milliseconds(100);
/// A round counts as unanswered in the window when its ack took longer.
inline constexpr Duration kWindowAnswer = std::chrono::seconds(1);
inline constexpr int kWindowRounds = 10;
/// A late Ack counts for this many attempts back.
inline constexpr std::size_t kNoncesMax = 12;
/// Observers that wait for this host's word on a subject.
inline constexpr std::size_t kCallersMax = 16;
/// After a call that was refuted the next one waits, doubling.
inline constexpr Duration kCallBackOffMin = std::chrono::seconds(2);
inline constexpr Duration kCallBackOffMax = std::chrono::seconds(30);
/// The least time between two calls for a subject.
inline constexpr Duration kCallPeriod = std::chrono::seconds(1);

struct SubjectProbe {
  HostId subject;
  Generation generation;
  std::vector<HostId> observers;     ///< Of the subject, self included.
  Duration period{0};                ///< T.
  int silent_max = 0;                ///< n: the silent attempts that make a claim.
  bool is_absent = false;            ///< Unreachable for long: no evidence about the own links.
  Instant patient_until = kLongAgo;  ///< The end of first contact: its first Ack, or kFirstContact.

  // The running round.
  Instant round_at;             ///< When the next round begins; kNever while one runs.
  Instant attempt_at = kNever;  ///< When the running attempt is over; kNever between rounds.
  Instant began;
  Instant last_sent = kLongAgo;
  int silent = 0;           ///< Attempts of this round that nobody answered.
  int refused = 0;          ///< Attempts of this round that a living kernel refused.
  bool is_pausing = false;  ///< The attempt already failed; attempt_at only spaces the next.
  bool is_vetoed = false;   ///< Another observer has a fresh ack: no claim from this silence.
  bool is_sampled = false;  ///< This round is in the window already.
  bool is_dropped = false;  ///< The link was given up in this round.
  std::array<Nonce, kNoncesMax> nonces{};
  std::size_t sent = 0;

  // The window of the last rounds: 1 = unanswered.
  std::uint32_t window = 0;
  int window_misses() const { return std::popcount(window); }

  // The claim.
  std::optional<crdt::ClaimKind> claim;  ///< From a silent or refused round; any ack ends it.
  bool window_claim = false;             ///< From the window; only the window ends it.
  bool weak = false;
  Instant claimed_at;

  // Calls.
  Nonce call_nonce;  ///< Of the call made in this round; 0 if there was no call.
  Instant call_from = kLongAgo;
  Duration call_back_off{0};
  Instant refuted_at = kLongAgo;
  std::vector<std::pair<HostId, Nonce>> callers;

  bool is_idle() const { return attempt_at == kNever; }
  bool is_claimed() const { return claim.has_value() || window_claim; }
  /// Two attempts unanswered, or known to be silent.
  bool is_missing() const { return silent >= 2 || claim == crdt::ClaimKind::kSilent; }
  Instant deadline() const { return is_idle() ? round_at : attempt_at; }

  void begin_round(Instant now);
  /// Registers an attempt sent now.
  Nonce attempt(Instant now, Duration timeout, Rng& rng);
  bool knows(Nonce nonce) const;
  void sample(bool unanswered);
  void end_round(Instant next);
  /// A call of this host was refuted: its next call waits longer.
  void back_off(Instant now);
};

}  // namespace muster::membership
