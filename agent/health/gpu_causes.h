#pragma once
// GpuCauses is the health of one GPU: the causes that are open against it, and what was done about
// them. Pure. Owned by GpuHealth.
//
// Invariants
// - The state is that of the worst open cause; without a cause it is ok.
// - A cause ends only by its remedy, in order: the action is done, the fact is over, a check that
//   began later passes. An operator's unmask ends all of them.
// - A GPU that needs the reset for the second time within a day is failed. Several causes that need
//   the same reset are one need.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "agent/health/health_cause.h"
#include "gossip/base/time.h"

namespace muster::agent {

inline constexpr std::size_t kCauseTextBytesMax = 256;
/// Needs of a reset within kNeedsWindow that make a GPU failed.
inline constexpr std::size_t kNeedsMax = 2;
inline constexpr Duration kNeedsWindow = std::chrono::hours(24);

struct OpenCause {
  Instant since{};
  std::string why;          ///< One sentence without a full stop: what was seen.
  Instant check_from{};     ///< A check that began earlier does not count.
  bool is_done = false;     ///< The reset or the boot happened.
  bool is_present = false;  ///< The last look still shows the fact.
  std::uint64_t times = 1;  ///< How often it was seen.
  bool operator==(const OpenCause&) const = default;
};

class GpuCauses {
 public:
  using Open = std::map<HealthCause, OpenCause>;

  GpuCauses() = default;
  GpuCauses(Open open, std::vector<Instant> needs);

  /// Opens the cause, or notes that it was seen again: then its remedy is due again.
  void see(Instant now, HealthCause cause, std::string why);
  /// A look that began at `began` tells of a fact: `why` is "" if it is over. A fact that goes on
  /// is not seen again, unless a remedy was done since: then the remedy is due again. A look that
  /// began before the last remedy tells nothing.
  void tell_fact(Instant now, Instant began, HealthCause cause, std::string why);

  void reset_done(Instant now);
  void booted(Instant now);
  /// A check that began at `began` passed. Ends every cause that waits for nothing else.
  void check_passed(Instant began);
  /// The self-test found a fault: the reset is needed, again if it was done before.
  void check_failed(Instant now, const std::string& why);
  /// The word of an operator ends all causes and forgets the needs of a reset.
  void unmask();

  GpuState state() const;
  /// A sentence about the worst cause and what ends it; "" if the GPU is ok.
  std::string why() const;
  /// Since when it has its state; kLongAgo if it is ok.
  Instant since() const;
  bool wants_reset() const;
  bool wants_boot() const;
  /// True if a self-test that begins now and passes ends a cause.
  bool wants_check() const;
  bool is_open(HealthCause cause) const { return open_.contains(cause); }
  const Open& open() const { return open_; }
  const std::vector<Instant>& needs() const { return needs_; }
  void check_invariants() const;

 private:
  /// The open cause that is worst, and the oldest of those; nullptr if there is no cause.
  const Open::value_type* worst() const;
  void note_need(Instant now);

  Open open_;
  std::vector<Instant> needs_;  ///< When a reset became needed, oldest first.
};

}  // namespace muster::agent
